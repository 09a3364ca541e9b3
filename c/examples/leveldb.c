/*
 * Writes a LevelDB database with our filters, closes it, opens it again and reads it. The writing and the
 * reading policy are each `leveldb` (ours, with LevelDB's bytes), `native` (ours, with native filters) or
 * `builtin` (LevelDB's own).
 *
 *     cc leveldb.c -lfullbloom -lleveldb -o leveldb && ./leveldb /tmp/example-db native
 */
#include <fullbloom.h>
#include <leveldb/c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEYS 20000

static size_t key_of(char *key, size_t room, int i)
{
    return (size_t)snprintf(key, room, "user-%08x", (unsigned)i * 2654435761u);
}

static void must(char *error)
{
    if (error == NULL)
        return;
    fprintf(stderr, "leveldb: %s\n", error);
    exit(1);
}

static leveldb_filterpolicy_t *policy_of(const char *word)
{
    fullbloom_policy *policy;

    if (strcmp(word, "builtin") == 0)
        return leveldb_filterpolicy_create_bloom(10);
    if (fullbloom_policy_create(strcmp(word, "native") == 0 ? FULLBLOOM_NATIVE : FULLBLOOM_LEVELDB, 10, &policy) != FULLBLOOM_OK) {
        fprintf(stderr, "fullbloom: %s\n", fullbloom_message());
        exit(1);
    }
    return leveldb_filterpolicy_create(policy, fullbloom_policy_destroy, fullbloom_policy_create_filter,
                                       fullbloom_policy_key_may_match, fullbloom_policy_name);
}

int main(int argc, char **argv)
{
    const char *write_policy = argc > 2 ? argv[2] : "leveldb";
    const char *read_policy = argc > 3 ? argv[3] : write_policy;
    leveldb_options_t *options = leveldb_options_create();
    leveldb_writeoptions_t *writing = leveldb_writeoptions_create();
    leveldb_readoptions_t *reading = leveldb_readoptions_create();
    leveldb_filterpolicy_t *policy = policy_of(write_policy);
    leveldb_t *db;
    char key[64], *error = NULL;
    int found = 0, strangers = 0;

    if (argc < 2) {
        fprintf(stderr, "usage: %s DIRECTORY [leveldb|native|builtin [READING POLICY]]\n", argv[0]);
        return 2;
    }
    leveldb_options_set_create_if_missing(options, 1);
    leveldb_options_set_filter_policy(options, policy);
    db = leveldb_open(options, argv[1], &error);
    must(error);
    for (int i = 0; i < KEYS; i++) {
        size_t len = key_of(key, sizeof key, i);
        leveldb_put(db, writing, key, len, key, len, &error);
        must(error);
    }
    leveldb_compact_range(db, NULL, 0, NULL, 0); /* writes a table with its filters */
    leveldb_close(db);
    leveldb_filterpolicy_destroy(policy);

    policy = policy_of(read_policy);
    leveldb_options_set_filter_policy(options, policy);
    db = leveldb_open(options, argv[1], &error);
    must(error);
    for (int i = 0; i < 2 * KEYS; i++) {
        size_t value_len, len = key_of(key, sizeof key, i);
        char *value = leveldb_get(db, reading, key, len, &value_len, &error);
        must(error);
        if (value != NULL) {
            found += i < KEYS && value_len == len && memcmp(value, key, len) == 0;
            strangers += i >= KEYS;
            leveldb_free(value);
        }
    }
    printf("%d of %d keys found, %d strangers\n", found, KEYS, strangers);
    leveldb_close(db);
    leveldb_filterpolicy_destroy(policy);
    leveldb_options_destroy(options);
    leveldb_writeoptions_destroy(writing);
    leveldb_readoptions_destroy(reading);
    return found != KEYS || strangers != 0;
}
