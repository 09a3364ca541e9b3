/*
 * Calls every function of libbloom with invalid arguments: NULL, a struct of zeros, a struct whose init
 * failed, a freed struct, numbers that reach outside the bits, hostile save files. Each call must return its
 * error code. Run it under valgrind or AddressSanitizer to detect accesses out of bounds and memory leaks.
 * Compile with -DVERSION=1 or 2 and the bloom.h of that version.
 */
#include <bloom.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

unsigned murmurhash2(const void *key, int len, unsigned seed); /* exported, but not in the header */

static int checks, wrong;

#define IS(call, expected)                                                                            \
    do {                                                                                              \
        long got_ = (long)(call);                                                                     \
        checks++;                                                                                     \
        if (got_ != (long)(expected)) {                                                               \
            wrong++;                                                                                  \
            fprintf(stderr, "%s:%d: %s is %ld, not %ld\n", __FILE__, __LINE__, #call, got_, (long)(expected)); \
        }                                                                                             \
    } while (0)

/* Calls every function on a struct that holds no filter. */
static void no_filter(struct bloom *bloom)
{
    IS(bloom_check(bloom, "key", 3), -1);
    IS(bloom_add(bloom, "key", 3), -1);
    IS(bloom_check(bloom, NULL, 3), -1);
    IS(bloom_reset(bloom), 1);
    bloom_print(bloom);
    bloom_free(bloom);
    bloom_free(bloom);
#if VERSION == 2
    {
        struct bloom good;
        IS(bloom_init2(&good, 1000, 0.1), 0);
        IS(bloom_merge(bloom, &good), -1);
        IS(bloom_merge(&good, bloom), -1);
        IS(bloom_merge(bloom, bloom), -1);
        bloom_free(&good);
    }
#endif
}

static void structs(void)
{
    struct bloom bloom;

    no_filter(NULL);
    memset(&bloom, 0, sizeof bloom);
    no_filter(&bloom);
    IS(bloom_init(&bloom, 999, 0.1), 1);
    no_filter(&bloom);
    IS(bloom_init(&bloom, 1000, 0.0), 1);
    no_filter(&bloom);
    IS(bloom_init(&bloom, 1000, NAN), 1);
    no_filter(&bloom);
    IS(bloom_init(&bloom, 1000, 0.1), 0);
    bloom_free(&bloom);
    no_filter(&bloom);
    IS(bloom_init(NULL, 1000, 0.1), 1);

    IS(bloom_init(&bloom, 1000, 0.1), 0);
    IS(bloom_check(&bloom, NULL, 3), -1);
    IS(bloom_add(&bloom, NULL, 3), -1);
    IS(bloom_check(&bloom, NULL, 0), 0);
    IS(bloom_add(&bloom, NULL, 0), 0);
    IS(bloom_check(&bloom, NULL, -1), 0);
    IS(bloom_add(&bloom, "key", 3), 0);
    IS(bloom_add(&bloom, "key", 3), 1);
    IS(bloom_reset(&bloom), 0);
    IS(bloom_check(&bloom, "key", 3), 0);
    bloom_free(&bloom);
    IS(murmurhash2(NULL, 3, 1), 0);
    IS(bloom_version() != NULL, 1);

    /* The original divides by zero. */
    IS(bloom_init(&bloom, 1000, 0.99999), 0);
    IS(bloom_add(&bloom, "key", 3), -1);
    IS(bloom_check(&bloom, "key", 3), -1);
    bloom_free(&bloom);

    /* The original reads and writes out of bounds. */
    IS(bloom_init(&bloom, 1000, 0.1), 0);
    bloom.bits = 100000000;
    IS(bloom_add(&bloom, "key", 3), -1);
    IS(bloom_check(&bloom, "key", 3), -1);
    bloom_free(&bloom);
    IS(bloom_init(&bloom, 1000, 0.1), 0);
    bloom.bytes = 1;
    IS(bloom_add(&bloom, "key", 3), -1);
    bloom_free(&bloom);
}

/* Keys that end exactly where their memory ends: no byte after them may be read. */
static void keys(void)
{
    struct bloom bloom;

    IS(bloom_init(&bloom, 10000, 0.001), 0);
    for (int len = 0; len < 100; len++) {
        char *key = malloc((size_t)len + 1), *exact = malloc(len ? (size_t)len : 1);
        memset(key, 'a' + len % 26, (size_t)len);
        memcpy(exact, key, (size_t)len);
        IS(bloom_add(&bloom, exact, len), 0);
        IS(bloom_check(&bloom, key, len), 1);
        free(key);
        free(exact);
    }
    bloom_free(&bloom);
}

#if VERSION == 2
static char file[4096];

static void put(const unsigned char *bytes, size_t len)
{
    FILE *out = fopen(file, "wb");
    if (out == NULL || fwrite(bytes, 1, len, out) != len || fclose(out) != 0)
        abort();
}

static void hostile_files(const char *directory)
{
    struct bloom bloom, copy;
    unsigned char bytes[1000];
    size_t len;
    FILE *in;

    snprintf(file, sizeof file, "%s/saved.bloom", directory);
    IS(bloom_save(NULL, file), 1);
    IS(bloom_load(NULL, file), 2);
    IS(bloom_load(&bloom, NULL), 1);
    IS(bloom_load(&bloom, ""), 1);
    IS(bloom_init2(&bloom, 1000, 0.1), 0);
    IS(bloom_save(&bloom, NULL), 1);
    IS(bloom_save(&bloom, ""), 1);
    IS(bloom_add(&bloom, "key", 3), 0);
    IS(bloom_save(&bloom, file), 0);
    IS(bloom_load(&copy, file), 0);
    IS(bloom_check(&copy, "key", 3), 1);
    IS(bloom_merge(&copy, &bloom), 0);
    bloom_free(&copy);
    bloom_free(&bloom);
    IS(bloom_save(&bloom, file), 1); /* its bits are freed */

    in = fopen(file, "rb");
    len = in ? fread(bytes, 1, sizeof bytes, in) : 0;
    if (len < 75 || fclose(in) != 0)
        abort();
    for (size_t cut = 0; cut < len; cut += cut < 80 ? 1 : 100) {
        put(bytes, cut);
        IS(bloom_load(&bloom, file) != 0, 1);
        no_filter(&bloom);
    }
    for (size_t at = 0; at < 75; at++) {
        static const unsigned char values[] = { 0, 1, 0x7f, 0x80, 0xff };
        for (size_t v = 0; v < sizeof values; v++) {
            unsigned char changed[1000];
            int code;
            memcpy(changed, bytes, len);
            changed[at] = values[v];
            put(changed, len);
            code = bloom_load(&bloom, file);
            IS(code >= 0 && code <= 11, 1);
            if (code == 0 && bloom.ready) {
                IS(bloom_check(&bloom, "key", 3) >= 0, 1);
                IS(bloom_add(&bloom, "other", 5) >= 0, 1);
                IS(bloom_reset(&bloom), 0);
                IS(bloom_save(&bloom, file), 0);
            }
            bloom_free(&bloom);
        }
    }
    IS(bloom_load(&bloom, "/dev/null"), 4);
    IS(bloom_load(&bloom, "/dev/zero"), 5);
    IS(bloom_load(&bloom, (char *)directory), 4);
    no_filter(&bloom);
    unlink(file);
}
#endif

int main(int argc, char **argv)
{
    structs();
    keys();
#if VERSION == 2
    hostile_files(argc > 1 ? argv[1] : ".");
#else
    (void)argc, (void)argv;
    {
        struct bloom bloom;
        IS(bloom_init_size(NULL, 1000, 0.1, 0), 1);
        IS(bloom_init_size(&bloom, 1000, 0.1, 0), 0);
        bloom_free(&bloom);
    }
#endif
    fprintf(stderr, "libbloom %s: %d checks, %d wrong\n", bloom_version(), checks, wrong);
    return wrong != 0;
}
