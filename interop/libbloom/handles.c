/*
 * Calls every function of fullbloom.h with invalid arguments: NULL, zeroed memory, a handle of another type,
 * a freed handle, structs of another size, invalid dialects, truncated and changed bytes of every dialect in
 * memory of exactly their length, hostile files. Each call must return a status. Run it under valgrind or
 * AddressSanitizer to detect accesses out of bounds and memory leaks.
 */
#include <fullbloom.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int checks, wrong;

#define IS(call, expected)                                                                                     \
    do {                                                                                                       \
        long got_ = (long)(call);                                                                              \
        checks++;                                                                                              \
        if (got_ != (long)(expected)) {                                                                        \
            wrong++;                                                                                           \
            fprintf(stderr, "%s:%d: %s is %ld, not %ld\n", __FILE__, __LINE__, #call, got_, (long)(expected)); \
        }                                                                                                      \
    } while (0)

static const char *const one_key[] = { "key" };
static const size_t one_len[] = { 3 };
static char path[4096];

static fullbloom_sizing sized(uint64_t keys, double bits_per_key)
{
    fullbloom_sizing sizing = FULLBLOOM_SIZING_INIT;
    sizing.expected_keys = keys;
    sizing.bits_per_key = bits_per_key;
    return sizing;
}

/* Calls every function that takes a filter with something that is not a filter. */
static void no_filter(fullbloom_filter *it, fullbloom_status expected)
{
    fullbloom_facts facts = FULLBLOOM_FACTS_INIT;
    fullbloom_sizing sizing = sized(100, 10);
    fullbloom_filter *good = NULL;
    unsigned char secret[16] = { 0 };
    uint64_t written;
    bool answer = false;

    IS(fullbloom_filter_unlock(it, secret), expected);
    IS(fullbloom_filter_insert(it, "key", 3, NULL), expected);
    IS(fullbloom_filter_insert_batch(it, (const void *const *)one_key, one_len, 1), expected);
    IS(fullbloom_filter_may_contain(it, "key", 3, &answer), expected);
    IS(answer, true);
    answer = false;
    IS(fullbloom_filter_may_contain_batch(it, (const void *const *)one_key, one_len, 1, &answer), expected);
    IS(answer, true);
    IS(fullbloom_filter_finish(it), expected);
    IS(fullbloom_filter_clear(it), expected);
    IS(fullbloom_filter_facts(it, &facts), expected);
    IS(fullbloom_filter_encode(it, NULL, 0, &written), expected);
    IS(fullbloom_filter_save(it, path), expected);
    IS(fullbloom_filter_create(FULLBLOOM_LEVELDB, &sizing, &good), FULLBLOOM_OK);
    IS(fullbloom_filter_merge(it, good), expected);
    IS(fullbloom_filter_merge(good, it), expected);
    IS(fullbloom_filter_merge(it, it), expected);
    IS(fullbloom_filter_free(&good), FULLBLOOM_OK);
    if (expected != FULLBLOOM_NULL) {
        fullbloom_filter *given = it;
        IS(fullbloom_filter_free(&given), expected);
    }
    IS(strlen(fullbloom_message()) > 0, true);
}

static void handles(void)
{
    void *zeroed = calloc(1, 4096);
    fullbloom_policy *policy = NULL;
    fullbloom_filter *filter = NULL;
    fullbloom_sizing sizing = sized(100, 10);
    size_t len = 0;

    no_filter(NULL, FULLBLOOM_NULL);
    no_filter(zeroed, FULLBLOOM_HANDLE);
    IS(fullbloom_policy_create(FULLBLOOM_LEVELDB, 10, &policy), FULLBLOOM_OK);
    no_filter((fullbloom_filter *)policy, FULLBLOOM_HANDLE);
    IS(fullbloom_filter_create(FULLBLOOM_LEVELDB, &sizing, &filter), FULLBLOOM_OK);
    IS(fullbloom_filter_free(&filter), FULLBLOOM_OK);
    IS(filter == NULL, true);
    no_filter(filter, FULLBLOOM_NULL); /* free has set the pointer to NULL */
    IS(fullbloom_filter_free(&filter), FULLBLOOM_OK);
    IS(fullbloom_filter_free(NULL), FULLBLOOM_OK);

    /* The callbacks return no status, but "maybe", a filter that matches every key, or a name. */
    for (int i = 0; i < 3; i++) {
        void *it = i == 0 ? NULL : i == 1 ? zeroed : NULL;
        char *made;
        IS(fullbloom_filter_create(FULLBLOOM_LEVELDB, &sizing, &filter), FULLBLOOM_OK);
        if (i == 2)
            it = filter; /* a handle of another type */
        made = fullbloom_policy_create_filter(it, one_key, one_len, 1, &len);
        IS(made != NULL && len > 0, true);
        IS(fullbloom_policy_key_may_match(policy, "other", 5, made, len), 1);
        free(made);
        IS(fullbloom_policy_key_may_match(it, "key", 3, "x", 1), 1);
        IS(fullbloom_policy_name(it) != NULL, true);
        fullbloom_policy_destroy(it);
        IS(fullbloom_filter_free(&filter), FULLBLOOM_OK);
    }
    IS(fullbloom_policy_key_may_match(policy, NULL, 3, "x", 1), 1);
    IS(fullbloom_policy_key_may_match(policy, "key", 3, NULL, 1), 1);
    IS(fullbloom_policy_create(FULLBLOOM_LEVELDB, 10, NULL), FULLBLOOM_NULL);
    fullbloom_policy_destroy(policy);
    free(zeroed);
}

static void arguments(void)
{
    fullbloom_sizing sizing = sized(1000, 10), other;
    fullbloom_facts facts = FULLBLOOM_FACTS_INIT;
    fullbloom_filter *filter = NULL;
    fullbloom_dialect dialect;
    uint64_t written;
    bool answer;
    static const int sizes[] = { -8, -1, 1, 8 };
    static const double rates[] = { -1, 2, NAN, INFINITY, -INFINITY };

    IS(fullbloom_dialect_by_name(NULL, &dialect), FULLBLOOM_NULL);
    IS(fullbloom_dialect_by_name("native", NULL), FULLBLOOM_NULL);
    IS(fullbloom_dialect_by_name("", &dialect), FULLBLOOM_ARGUMENT);
    IS(fullbloom_dialect_by_name("\xff\xfe", &dialect), FULLBLOOM_ARGUMENT);
    IS(fullbloom_plan(FULLBLOOM_NATIVE, NULL, &facts), FULLBLOOM_NULL);
    IS(fullbloom_plan(FULLBLOOM_NATIVE, &sizing, NULL), FULLBLOOM_NULL);
    IS(fullbloom_filter_create(FULLBLOOM_NATIVE, NULL, &filter), FULLBLOOM_NULL);
    IS(fullbloom_filter_create(FULLBLOOM_NATIVE, &sizing, NULL), FULLBLOOM_NULL);
    IS(fullbloom_dialect_name((fullbloom_dialect)-1) == NULL, true);
    IS(fullbloom_dialect_name((fullbloom_dialect)99) == NULL, true);
    IS(fullbloom_status_words((fullbloom_status)99) != NULL, true);
    IS(fullbloom_version() != NULL, true);
    for (int d = -1; d < 100; d++) {
        if (fullbloom_dialect_name((fullbloom_dialect)d) == NULL)
            IS(fullbloom_filter_create((fullbloom_dialect)d, &sizing, &filter), FULLBLOOM_ARGUMENT);
    }
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        other = sizing;
        other.struct_size = (size_t)((long)sizeof other + sizes[i]);
        IS(fullbloom_filter_create(FULLBLOOM_NATIVE, &other, &filter), FULLBLOOM_ARGUMENT);
        IS(filter == NULL, true);
        IS(fullbloom_plan(FULLBLOOM_NATIVE, &other, &facts), FULLBLOOM_ARGUMENT);
        facts.struct_size = (size_t)((long)sizeof facts + sizes[i]);
        IS(fullbloom_plan(FULLBLOOM_NATIVE, &sizing, &facts), FULLBLOOM_ARGUMENT);
        facts.struct_size = sizeof facts;
    }
    for (int d = 1; fullbloom_dialect_name((fullbloom_dialect)d) != NULL; d++) {
        for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
            other = sized(1000, 0);
            other.fpr = rates[i];
            IS(fullbloom_filter_create((fullbloom_dialect)d, &other, &filter), FULLBLOOM_SIZE);
        }
    }
    IS(fullbloom_filter_create(FULLBLOOM_LEVELDB, &sizing, &filter), FULLBLOOM_OK);
    IS(fullbloom_filter_insert(filter, NULL, 3, NULL), FULLBLOOM_NULL);
    IS(fullbloom_filter_insert_batch(filter, NULL, one_len, 1), FULLBLOOM_NULL);
    IS(fullbloom_filter_insert_batch(filter, (const void *const *)one_key, NULL, 1), FULLBLOOM_NULL);
    IS(fullbloom_filter_may_contain(filter, "key", 3, NULL), FULLBLOOM_NULL);
    IS(fullbloom_filter_may_contain(filter, NULL, 3, &answer), FULLBLOOM_NULL);
    IS(fullbloom_filter_may_contain_batch(filter, (const void *const *)one_key, one_len, 1, NULL), FULLBLOOM_NULL);
    IS(fullbloom_filter_facts(filter, NULL), FULLBLOOM_NULL);
    IS(fullbloom_filter_encode(filter, NULL, 0, NULL), FULLBLOOM_NULL);
    IS(fullbloom_filter_encode(filter, NULL, 1 << 20, &written), FULLBLOOM_BUFFER); /* returns the length */
    IS(fullbloom_filter_save(filter, NULL), FULLBLOOM_NULL);
    IS(fullbloom_filter_save(filter, ""), FULLBLOOM_FILE);
    IS(fullbloom_filter_save(filter, "/dev/null"), FULLBLOOM_FILE);
    IS(fullbloom_filter_save(filter, "/no/such/directory"), FULLBLOOM_FILE);
    IS(fullbloom_filter_free(&filter), FULLBLOOM_OK);
    IS(fullbloom_filter_view(FULLBLOOM_NATIVE, NULL, 3, 0, 0, &filter), FULLBLOOM_NULL);
    IS(fullbloom_filter_decode(FULLBLOOM_NATIVE, NULL, 3, 0, 0, &filter), FULLBLOOM_NULL);
    IS(fullbloom_filter_load(FULLBLOOM_NATIVE, NULL, 0, 0, &filter), FULLBLOOM_NULL);
    IS(fullbloom_filter_open(FULLBLOOM_NATIVE, NULL, 0, 0, &filter), FULLBLOOM_NULL);
    IS(fullbloom_filter_load(FULLBLOOM_NATIVE, "/dev/zero", 0, 0, &filter), FULLBLOOM_FILE);
    IS(fullbloom_filter_open(FULLBLOOM_NATIVE, "/dev/zero", 0, 0, &filter), FULLBLOOM_FILE);
    IS(fullbloom_filter_load(FULLBLOOM_NATIVE, "/", 0, 0, &filter), FULLBLOOM_FILE);
}

/* Bytes in memory of exactly their length: an error, or a filter that works. */
static void try_bytes(fullbloom_dialect dialect, const unsigned char *bytes, size_t len, uint64_t bits, uint32_t probes)
{
    unsigned char *exact = malloc(len ? len : 1);

    memcpy(exact, bytes, len);
    for (int copy = 0; copy < 2; copy++) {
        fullbloom_filter *filter = NULL;
        fullbloom_status status = copy ? fullbloom_filter_decode(dialect, exact, len, bits, probes, &filter)
                                       : fullbloom_filter_view(dialect, exact, len, bits, probes, &filter);
        bool answer;
        uint64_t written;
        IS((status == FULLBLOOM_OK) == (filter != NULL), true);
        if (status != FULLBLOOM_OK) {
            IS(status == FULLBLOOM_DECODE || status == FULLBLOOM_SIZE || status == FULLBLOOM_MEMORY, true);
            continue;
        }
        status = fullbloom_filter_may_contain(filter, "key", 3, &answer);
        IS(status == FULLBLOOM_OK || (status == FULLBLOOM_LOCKED && answer), true);
        status = fullbloom_filter_insert(filter, "other", 5, NULL);
        IS(status == FULLBLOOM_OK || status == FULLBLOOM_READ_ONLY || status == FULLBLOOM_LOCKED, true);
        IS(fullbloom_filter_encode(filter, NULL, 0, &written) == FULLBLOOM_BUFFER || written == 0, true);
        IS(fullbloom_filter_free(&filter), FULLBLOOM_OK);
    }
    free(exact);
}

static void hostile_bytes(void)
{
    for (int d = 1; fullbloom_dialect_name((fullbloom_dialect)d) != NULL; d++) {
        fullbloom_dialect dialect = (fullbloom_dialect)d;
        fullbloom_sizing sizing = sized(1000, 10);
        fullbloom_facts facts = FULLBLOOM_FACTS_INIT;
        fullbloom_filter *filter = NULL;
        unsigned char *bytes, *small;
        uint64_t len = 0, room;
        bool raw = dialect == FULLBLOOM_LIBBLOOM_1 || dialect == FULLBLOOM_JAVA_LSM;

        IS(fullbloom_filter_create(dialect, &sizing, &filter), FULLBLOOM_OK);
        IS(fullbloom_filter_insert(filter, "key", 3, NULL), FULLBLOOM_OK);
        IS(fullbloom_filter_finish(filter), FULLBLOOM_OK);
        IS(fullbloom_filter_facts(filter, &facts), FULLBLOOM_OK);
        IS(fullbloom_filter_encode(filter, NULL, 0, &len), FULLBLOOM_BUFFER);
        bytes = malloc(len);
        IS(fullbloom_filter_encode(filter, bytes, len, &room), FULLBLOOM_OK);
        small = malloc(len - 1);
        IS(fullbloom_filter_encode(filter, small, len - 1, &room), FULLBLOOM_BUFFER);
        IS(room, len);
        IS(memcmp(small, bytes, len - 1), 0);
        free(small);
        for (uint64_t cut = 0; cut <= len; cut += cut < 100 ? 1 : 97)
            try_bytes(dialect, bytes, cut, raw ? facts.bits : 0, raw ? facts.probes : 0);
        for (uint64_t at = 0; at < len; at += at < 100 || at + 10 > len ? 1 : 61) {
            static const unsigned char values[] = { 0, 1, 0x7f, 0x80, 0xff };
            unsigned char was = bytes[at];
            for (size_t v = 0; v < sizeof values; v++) {
                bytes[at] = values[v];
                try_bytes(dialect, bytes, len, raw ? facts.bits : 0, raw ? facts.probes : 0);
            }
            bytes[at] = was;
        }
        try_bytes(dialect, bytes, len, UINT64_MAX, UINT32_MAX);
        IS(fullbloom_filter_save(filter, path), FULLBLOOM_OK);
        IS(truncate(path, (off_t)len / 2), 0);
        for (int map = 0; map < 2; map++) {
            fullbloom_filter *again = NULL;
            fullbloom_status status = map ? fullbloom_filter_open(dialect, path, 0, 0, &again) : fullbloom_filter_load(dialect, path, 0, 0, &again);
            IS((status == FULLBLOOM_OK) == (again != NULL), true);
            IS(fullbloom_filter_free(&again), FULLBLOOM_OK);
        }
        IS(fullbloom_filter_free(&filter), FULLBLOOM_OK);
        free(bytes);
    }
    unlink(path);
}

int main(int argc, char **argv)
{
    snprintf(path, sizeof path, "%s/saved.filter", argc > 1 ? argv[1] : ".");
    handles();
    arguments();
    hostile_bytes();
    fprintf(stderr, "libfullbloom %s: %d checks, %d wrong\n", fullbloom_version(), checks, wrong);
    return wrong != 0;
}
