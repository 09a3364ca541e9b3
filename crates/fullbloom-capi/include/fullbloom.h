/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * fullbloom: the Bloom filters of storage engines, bit for bit.
 *
 *     fullbloom_sizing sizing = FULLBLOOM_SIZING_INIT;
 *     fullbloom_filter *filter = NULL;
 *     bool answer;
 *
 *     sizing.expected_keys = 1000000;
 *     sizing.fpr = 0.01;
 *     if (fullbloom_filter_create(FULLBLOOM_CASSANDRA, &sizing, &filter) != FULLBLOOM_OK)
 *         fprintf(stderr, "%s\n", fullbloom_message());
 *     fullbloom_filter_insert(filter, "alice", 5, NULL);
 *     fullbloom_filter_may_contain(filter, "alice", 5, &answer);
 *     fullbloom_filter_save(filter, "nb-1-big-Filter.db");
 *     fullbloom_filter_free(&filter);
 *
 * Every call returns a status. If it is not FULLBLOOM_OK, fullbloom_message() gives the reason to the same
 * thread. If a required pointer is NULL, the call returns FULLBLOOM_NULL. A pointer that is not NULL must be
 * valid for its function.
 *
 * Threads: calls that take a `const fullbloom_filter *` may run concurrently on one filter. A call that takes
 * it without `const` must be the only one on that filter. Different filters are independent.
 */
#ifndef FULLBLOOM_H
#define FULLBLOOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The result of a call. The meaning of a number never changes; new numbers may be added. */
typedef enum fullbloom_status {
    FULLBLOOM_OK = 0,
    FULLBLOOM_NULL = 1,         /* a required pointer is NULL */
    FULLBLOOM_ARGUMENT = 2,     /* an argument is invalid */
    FULLBLOOM_SIZE = 3,         /* the requested size is invalid for this dialect */
    FULLBLOOM_DECODE = 4,       /* the bytes are not a complete, valid filter */
    FULLBLOOM_FILE = 5,         /* a file could not be read or written */
    FULLBLOOM_MERGE = 6,        /* the two filters cannot be merged */
    FULLBLOOM_MEMORY = 7,       /* out of memory */
    FULLBLOOM_READ_ONLY = 8,    /* the filter accepts no keys: it is finished, or is a view of bytes */
    FULLBLOOM_NOT_FINISHED = 9, /* fullbloom_filter_finish has not been called */
    FULLBLOOM_HANDLE = 10,      /* the pointer is not a live handle of this type */
    FULLBLOOM_BUFFER = 11,      /* the buffer is too small */
    FULLBLOOM_LOCKED = 12,      /* the filter is keyed and its secret was not given */
    FULLBLOOM_INTERNAL = 13     /* a bug in this library; the call had no other effect */
} fullbloom_status;

/* One system's sizing rule, hash, probes and bytes, exactly. The meaning of a number never changes. */
typedef enum fullbloom_dialect {
    FULLBLOOM_UNKNOWN = 0,        /* for decode, view, load, open: detect from the bytes and the file name */
    FULLBLOOM_NATIVE = 1,         /* fullbloom's own, .bloom file */
    FULLBLOOM_CASSANDRA = 2,      /* Cassandra 4.0 - 5.x, Filter.db */
    FULLBLOOM_CASSANDRA_3 = 3,    /* Cassandra 3.0 - 3.11 */
    FULLBLOOM_CASSANDRA_2 = 4,    /* Cassandra 1.2 - 2.2 */
    FULLBLOOM_CASSANDRA_1 = 5,    /* Cassandra 0.7.1 - 1.1 */
    FULLBLOOM_CASSANDRA_0_7 = 6,  /* Cassandra 0.7.0 */
    FULLBLOOM_CASSANDRA_0 = 7,    /* Cassandra 0.3 - 0.7 beta; keys are UTF-8 text */
    FULLBLOOM_LIBBLOOM = 8,       /* libbloom 2.0, save file */
    FULLBLOOM_LIBBLOOM_1 = 9,     /* libbloom 1.6, raw bits */
    FULLBLOOM_LEVELDB = 10,       /* LevelDB's policy filter */
    FULLBLOOM_ROCKSDB_BLOCK = 11, /* RocksDB's per-block policy filter */
    FULLBLOOM_ROCKSDB_LEGACY = 12, /* RocksDB's full filter below format_version 5 */
    FULLBLOOM_ROCKSDB = 13,       /* RocksDB's full filter from format_version 5 on (FastLocalBloom) */
    FULLBLOOM_ROCKSDB_RIBBON = 14, /* RocksDB's Ribbon filter */
    FULLBLOOM_JAVA_LSM = 15,      /* java-lsm-tree, raw bits; keys are UTF-8 text */
    FULLBLOOM_PARQUET = 16,       /* Parquet's split block filter, with or without its header */
    FULLBLOOM_GUAVA = 17,         /* Guava's BloomFilter, strategy MURMUR128_MITZ_64 (its default) */
    FULLBLOOM_GUAVA_32 = 18,      /* Guava's BloomFilter, strategy MURMUR128_MITZ_32 */
    FULLBLOOM_SPARK = 19,         /* Spark's sketch BloomFilter, version 1 */
    FULLBLOOM_SPARK_2 = 20,       /* Spark's sketch BloomFilter, version 2 (Spark 4 and later) */
    FULLBLOOM_ORC = 21,           /* ORC's BloomFilter and BloomFilterUtf8 messages */
    FULLBLOOM_DCSO = 22,          /* DCSO's bloom, version 1 (.bloom files of hashlookup, Plaso) */
    FULLBLOOM_POPPY = 23          /* poppy, version 2 (.pop files) */
} fullbloom_dialect;

/* A filter. create, view, decode, load and open make one; free releases it. */
typedef struct fullbloom_filter fullbloom_filter;

/*
 * The requested size of a filter. Start with FULLBLOOM_SIZING_INIT. Then set expected_keys and exactly one
 * of: fpr; bits_per_key; bits with probes. RocksDB's full filters are sized by the keys that are inserted,
 * not by expected_keys.
 */
typedef struct fullbloom_sizing {
    size_t struct_size;     /* sizeof(fullbloom_sizing) */
    uint64_t expected_keys;
    double fpr;             /* requested false-positive rate, or 0 */
    double bits_per_key;    /* or 0 */
    uint64_t bits;          /* length of the array in bits, or 0 */
    uint32_t probes;        /* with bits */
    const uint8_t *secret;  /* native only: a secret of 16 bytes, for keys from untrusted sources; or NULL */
} fullbloom_sizing;

#define FULLBLOOM_SIZING_INIT { sizeof(fullbloom_sizing), 0, 0.0, 0.0, 0, 0, NULL }

/* The properties of a filter, or of a plan for one. Start with FULLBLOOM_FACTS_INIT. */
typedef struct fullbloom_facts {
    size_t struct_size;     /* sizeof(fullbloom_facts) */
    fullbloom_dialect dialect;
    uint32_t probes;        /* positions tested for each key; if 0, every key may be present */
    uint64_t bits;          /* length of the array in bits */
    uint64_t block_bits;    /* bits of the block that holds all probes of one key; `bits` if there are no blocks */
    uint64_t encoded_len;   /* bytes of the encoded filter; an upper bound if it depends on the bits */
    uint64_t set_bits;
    double fill;            /* share of bits set */
    double expected_fpr;    /* of the filter as it is now; for a plan, with all expected keys inserted */
    double estimated_keys;  /* distinct keys, estimated from the bits; negative if there is no estimate */
    uint8_t takes_keys;     /* 1 or 0 */
    uint8_t locked;         /* 1: keyed, and its secret was not given */
    uint8_t reserved[6];
} fullbloom_facts;

#define FULLBLOOM_FACTS_INIT \
    { sizeof(fullbloom_facts), FULLBLOOM_UNKNOWN, 0, 0, 0, 0, 0, 0.0, 0.0, 0.0, 0, 0, { 0, 0, 0, 0, 0, 0 } }

/* The version of this library; static. */
const char *fullbloom_version(void);

/* A short description of a status; static. */
const char *fullbloom_status_words(fullbloom_status status);

/* The reason of the last failed call of this thread; valid until the next call fails. Never NULL. */
const char *fullbloom_message(void);

/* The name of a dialect, as in the command ("cassandra-3"); static. NULL for an invalid number. */
const char *fullbloom_dialect_name(fullbloom_dialect dialect);

/* The dialect with this name. */
fullbloom_status fullbloom_dialect_by_name(const char *name, fullbloom_dialect *dialect);

/* Plans a filter without making it: bits, probes, length and expected false-positive rate. */
fullbloom_status fullbloom_plan(fullbloom_dialect dialect, const fullbloom_sizing *sizing, fullbloom_facts *facts);

/* Creates an empty filter. *filter is NULL if the call fails. */
fullbloom_status fullbloom_filter_create(fullbloom_dialect dialect, const fullbloom_sizing *sizing, fullbloom_filter **filter);

/*
 * A filter that uses the caller's bytes. They must not change until the filter is freed. Decoding is strict:
 * bytes that are truncated, damaged or followed by other bytes are refused. FULLBLOOM_LIBBLOOM_1 and
 * FULLBLOOM_JAVA_LSM need bits and probes, because their bytes do not contain them. For other dialects pass
 * 0, or the values in the bytes.
 */
fullbloom_status fullbloom_filter_view(fullbloom_dialect dialect, const void *bytes, size_t len, uint64_t bits, uint32_t probes,
                                       fullbloom_filter **filter);

/*
 * Like view, but copies the bytes. The filter accepts more keys, unless it is a full filter of RocksDB or has
 * exceptions.
 */
fullbloom_status fullbloom_filter_decode(fullbloom_dialect dialect, const void *bytes, size_t len, uint64_t bits, uint32_t probes,
                                         fullbloom_filter **filter);

/* Like decode, from a file. The file may change or be removed afterwards. */
fullbloom_status fullbloom_filter_load(fullbloom_dialect dialect, const char *path, uint64_t bits, uint32_t probes,
                                       fullbloom_filter **filter);

/*
 * Like view, from a mapped file. The file must not be truncated while the filter exists: the system would
 * kill the process. Replacing the file by a rename, as save does, is safe.
 */
fullbloom_status fullbloom_filter_open(fullbloom_dialect dialect, const char *path, uint64_t bits, uint32_t probes,
                                       fullbloom_filter **filter);

/* Gives a keyed filter its secret of 16 bytes. A filter that needs no secret is not changed. */
fullbloom_status fullbloom_filter_unlock(fullbloom_filter *filter, const uint8_t *secret);

/*
 * Inserts a key; NULL with len 0 is the empty key. *changed (may be NULL) is true if a bit changed; the key
 * was then surely absent before. It is always true for a filter that is not finished.
 */
fullbloom_status fullbloom_filter_insert(fullbloom_filter *filter, const void *key, size_t len, bool *changed);

/*
 * Inserts many keys, or none of them if one is NULL. Faster than single inserts if the filter is larger than
 * the caches.
 */
fullbloom_status fullbloom_filter_insert_batch(fullbloom_filter *filter, const void *const *keys, const size_t *lens, size_t count);

/* Whether a key may be present. If the call fails, *answer is true ("maybe"), so that no key is lost. */
fullbloom_status fullbloom_filter_may_contain(const fullbloom_filter *filter, const void *key, size_t len, bool *answer);

/* The same for many keys; `answers` has `count` elements. */
fullbloom_status fullbloom_filter_may_contain_batch(const fullbloom_filter *filter, const void *const *keys, const size_t *lens,
                                                    size_t count, bool *answers);

/*
 * Builds a full filter of RocksDB from the inserted keys. Before this call the filter cannot be queried or
 * saved; after it the filter accepts no keys. Filters of other dialects need no finishing and are not
 * changed.
 */
fullbloom_status fullbloom_filter_finish(fullbloom_filter *filter);

/* Removes all keys. */
fullbloom_status fullbloom_filter_clear(fullbloom_filter *filter);

/* Inserts all keys of `other` into `filter`. Both must have the same dialect and geometry. */
fullbloom_status fullbloom_filter_merge(fullbloom_filter *filter, const fullbloom_filter *other);

/* The properties of a filter. Reads the whole array. */
fullbloom_status fullbloom_filter_facts(const fullbloom_filter *filter, fullbloom_facts *facts);

/*
 * Writes the encoded filter, with the bytes that its system writes, into a buffer. *written is the length of
 * the encoded filter. If it is greater than `len`, the status is FULLBLOOM_BUFFER. To get the length, pass
 * NULL and 0.
 */
fullbloom_status fullbloom_filter_encode(const fullbloom_filter *filter, void *buffer, size_t len, uint64_t *written);

/* Saves the encoded filter. The file is replaced completely and durably, or not at all. */
fullbloom_status fullbloom_filter_save(const fullbloom_filter *filter, const char *path);

/* Frees the filter and sets *filter to NULL. Does nothing if filter or *filter is NULL. */
fullbloom_status fullbloom_filter_free(fullbloom_filter **filter);

/*
 * A filter policy for LevelDB, through its C interface:
 *
 *     fullbloom_policy *policy;
 *     fullbloom_policy_create(FULLBLOOM_LEVELDB, 10, &policy);
 *     leveldb_filterpolicy_t *filter_policy = leveldb_filterpolicy_create(
 *         policy, fullbloom_policy_destroy, fullbloom_policy_create_filter, fullbloom_policy_key_may_match, fullbloom_policy_name);
 *     leveldb_options_set_filter_policy(options, filter_policy);
 *
 * FULLBLOOM_LEVELDB writes the bytes of LevelDB's own policy and has its name, so databases can be opened
 * with either. FULLBLOOM_NATIVE makes native filters and has the name "fullbloom.native". LevelDB ignores the
 * filters of tables that were written with a policy of another name. If a filter cannot be made or read,
 * every key may match, so that no key is lost. The callbacks may run on any thread.
 * leveldb_filterpolicy_destroy also destroys this policy.
 */
typedef struct fullbloom_policy fullbloom_policy;

/* Creates a policy with this many bits per key. *policy is NULL if the call fails. */
fullbloom_status fullbloom_policy_create(fullbloom_dialect dialect, double bits_per_key, fullbloom_policy **policy);

/*
 * The four callbacks; `state` is a fullbloom_policy. create_filter returns memory from malloc, which LevelDB
 * frees.
 */
void fullbloom_policy_destroy(void *state);
char *fullbloom_policy_create_filter(void *state, const char *const *keys, const size_t *lens, int count, size_t *filter_len);
uint8_t fullbloom_policy_key_may_match(void *state, const char *key, size_t len, const char *filter, size_t filter_len);
const char *fullbloom_policy_name(void *state);

#ifdef __cplusplus
}
#endif

#endif
