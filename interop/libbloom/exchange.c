/*
 * Compares two libraries of libbloom 1.6 on random filters: the same numbers, return codes and bits. A struct
 * of either library is used, reset and freed by the other.
 *
 *     exchange THEIRS.so OURS.so [FILTERS [SEED]]
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct bloom {
    int entries;
    double error;
    int bits, bytes, hashes;
    double bpe;
    unsigned char *bf;
    int ready;
};

struct library {
    int (*init)(struct bloom *, int, double);
    int (*add)(struct bloom *, const void *, int);
    int (*check)(struct bloom *, const void *, int);
    int (*reset)(struct bloom *);
    void (*release)(struct bloom *);
    unsigned (*hash)(const void *, int, unsigned);
};

static void *symbol(void *handle, const char *name)
{
    void *found = dlsym(handle, name);
    if (found == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(2);
    }
    return found;
}

static struct library open_library(const char *path)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    struct library library;
    void *found[6];
    static const char *names[] = { "bloom_init", "bloom_add", "bloom_check", "bloom_reset", "bloom_free", "murmurhash2" };

    if (handle == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(2);
    }
    for (int i = 0; i < 6; i++)
        found[i] = symbol(handle, names[i]);
    memcpy(&library, found, sizeof library); /* ISO C has no cast from an object to a function */
    return library;
}

static uint64_t state;

static uint64_t next(void)
{
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static long wrong;

static void same(const char *what, long theirs, long ours, int filter)
{
    if (theirs == ours)
        return;
    if (wrong++ < 20)
        fprintf(stderr, "filter %d: %s: %ld there, %ld here\n", filter, what, theirs, ours);
}

static int same_struct(const struct bloom *a, const struct bloom *b)
{
    return a->entries == b->entries && a->error == b->error && a->bits == b->bits && a->bytes == b->bytes &&
           a->hashes == b->hashes && a->bpe == b->bpe && a->ready == b->ready;
}

int main(int argc, char **argv)
{
    struct library both[2];
    int filters = argc > 3 ? atoi(argv[3]) : 1000;
    long keys = 0, answers = 0;
    unsigned char key[80];

    if (argc < 3) {
        fprintf(stderr, "usage: %s THEIRS.so OURS.so [FILTERS [SEED]]\n", argv[0]);
        return 2;
    }
    both[0] = open_library(argv[1]);
    both[1] = open_library(argv[2]);
    if (both[0].add == both[1].add) {
        fprintf(stderr, "the two are one library\n");
        return 2;
    }
    state = argc > 4 ? strtoull(argv[4], NULL, 0) : 1;
    for (int f = 0; f < filters; f++) {
        /* [0] is theirs, [1] is ours; [2] and [3] alternate between the two libraries every few keys. */
        struct bloom bloom[4];
        int entries = 1000 + (int)(next() % 20000);
        double error = (double)(next() >> 11) / 9007199254740992.0;
        uint64_t first;
        int count = (int)(next() % (uint64_t)entries);

        error = f % 3 == 0 ? error : f % 3 == 1 ? error * 0.01 : error * error * error * 1e-6;
        for (int i = 0; i < 4; i++) {
            memset(&bloom[i], 0, sizeof bloom[i]);
            same("init", 0, both[i % 2].init(&bloom[i], entries, error), f);
        }
        for (int i = 1; i < 4; i++)
            same("struct", 1, same_struct(&bloom[0], &bloom[i]), f);
        if (bloom[0].bits == 0) { /* the original would divide by zero */
            for (int i = 0; i < 4; i++)
                both[i % 2].release(&bloom[i]);
            continue;
        }
        first = state;
        for (int k = 0; k < count; k++, keys++) {
            uint64_t random = next();
            int len = k % 16 ? (int)(random % 17) : (int)(random % (sizeof key + 1));
            int code;
            for (int i = 0; i < len; i += 8) {
                uint64_t word = next();
                memcpy(key + i, &word, 8);
            }
            if (k % 8 == 0)
                same("hash", (long)both[0].hash(key, len, (unsigned)random), (long)both[1].hash(key, len, (unsigned)random), f);
            code = both[0].add(&bloom[0], key, len);
            same("add", code, both[1].add(&bloom[1], key, len), f);
            same("add", code, both[k / 4 % 2].add(&bloom[2], key, len), f);
            same("add", code, both[k / 4 % 2 ^ 1].add(&bloom[3], key, len), f);
        }
        for (int i = 1; i < 4; i++)
            same("bits", 0, memcmp(bloom[0].bf, bloom[i].bf, (size_t)bloom[0].bytes), f);
        state = first ^ (uint64_t)(f % 2); /* the same keys again, or others */
        for (int k = 0; k < 500; k++, answers++) {
            uint64_t random = next();
            int len = k % 16 ? (int)(random % 17) : (int)(random % (sizeof key + 1));
            int code;
            for (int i = 0; i < len; i += 8) {
                uint64_t word = next();
                memcpy(key + i, &word, 8);
            }
            code = both[0].check(&bloom[1], key, len);
            same("check", code, both[1].check(&bloom[0], key, len), f);
            same("check", code, both[1].check(&bloom[2], key, len), f);
            same("check", code, both[0].check(&bloom[3], key, len), f);
        }
        state = first + (uint64_t)f;
        same("reset", both[0].reset(&bloom[3]), both[1].reset(&bloom[2]), f);
        same("bits after reset", 0, memcmp(bloom[2].bf, bloom[3].bf, (size_t)bloom[2].bytes), f);
        for (int i = 0; i < 4; i++)
            both[(i + 1) % 2].release(&bloom[i]);
    }
    printf("%d filters, %ld keys added four times, %ld asked four times: %ld differences\n", filters, keys, answers, wrong);
    return wrong != 0;
}
