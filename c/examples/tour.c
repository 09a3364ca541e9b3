/*
 * Creates, saves, loads, queries and merges filters. Prints the results; exit code 0 if all of them are
 * correct.
 */
#include <fullbloom.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(fullbloom_status status, const char *what)
{
    if (status == FULLBLOOM_OK)
        return;
    fprintf(stderr, "%s: %s: %s\n", what, fullbloom_status_words(status), fullbloom_message());
    exit(1);
}

static fullbloom_filter *make(fullbloom_dialect dialect, int from, int to)
{
    fullbloom_sizing sizing = FULLBLOOM_SIZING_INIT;
    fullbloom_filter *filter = NULL;
    char key[32];

    sizing.expected_keys = 10000;
    sizing.bits_per_key = 10;
    must(fullbloom_filter_create(dialect, &sizing, &filter), "create");
    for (int i = from; i < to; i++) {
        snprintf(key, sizeof key, "%08x", (unsigned)i * 2654435761u);
        must(fullbloom_filter_insert(filter, key, strlen(key), NULL), "insert");
    }
    must(fullbloom_filter_finish(filter), "finish");
    return filter;
}

static int count(const fullbloom_filter *filter, int from, int to)
{
    char key[32];
    bool answer;
    int found = 0;

    for (int i = from; i < to; i++) {
        snprintf(key, sizeof key, "%08x", (unsigned)i * 2654435761u);
        must(fullbloom_filter_may_contain(filter, key, strlen(key), &answer), "may_contain");
        found += answer;
    }
    return found;
}

int main(int argc, char **argv)
{
    const char *directory = argc > 1 ? argv[1] : ".";
    char path[4096];
    int wrong = 0;

    printf("fullbloom %s\n%-16s %10s %7s %8s %10s %10s %8s\n", fullbloom_version(), "dialect", "bits", "probes", "fill",
           "expected", "measured", "bytes");
    for (int number = 1; fullbloom_dialect_name((fullbloom_dialect)number) != NULL; number++) {
        fullbloom_dialect dialect = (fullbloom_dialect)number;
        fullbloom_filter *filter = make(dialect, 0, 10000), *again = NULL, *other;
        fullbloom_facts facts = FULLBLOOM_FACTS_INIT;
        int raw = dialect == FULLBLOOM_LIBBLOOM_1 || dialect == FULLBLOOM_JAVA_LSM;
        fullbloom_status status;

        must(fullbloom_filter_facts(filter, &facts), "facts");
        snprintf(path, sizeof path, "%s/%s.filter", directory, fullbloom_dialect_name(dialect));
        must(fullbloom_filter_save(filter, path), "save");
        must(fullbloom_filter_load(dialect, path, raw ? facts.bits : 0, raw ? facts.probes : 0, &again), "load");
        wrong += count(again, 0, 10000) != 10000;
        printf("%-16s %10llu %7u %7.1f%% %9.3f%% %9.3f%% %8llu\n", fullbloom_dialect_name(dialect),
               (unsigned long long)facts.bits, facts.probes, 100 * facts.fill, 100 * facts.expected_fpr,
               count(again, 10000, 60000) / 500.0, (unsigned long long)facts.encoded_len);

        other = make(dialect, 10000, 20000);
        status = fullbloom_filter_merge(filter, other);
        wrong += status != (dialect == FULLBLOOM_ROCKSDB_RIBBON ? FULLBLOOM_MERGE : FULLBLOOM_OK);
        wrong += status == FULLBLOOM_OK && count(filter, 0, 20000) != 20000;
        must(fullbloom_filter_free(&filter), "free");
        must(fullbloom_filter_free(&again), "free");
        must(fullbloom_filter_free(&other), "free");
    }
    printf("%d wrong\n", wrong);
    return wrong != 0;
}
