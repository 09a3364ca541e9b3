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
 * A program that looks a key up in many filters hashes it once: see fullbloom_hash.
 *
 * Every call returns a status. If it is not FULLBLOOM_OK, fullbloom_message() returns the reason to the same
 * thread. A NULL pointer where one is required gives FULLBLOOM_NULL; any other pointer must point to what the
 * function's description says.
 *
 * Threads: calls that take a `const fullbloom_filter *` may run at the same time on one filter. A call that
 * takes it without `const` must be the only one on that filter. Different filters are independent.
 */
#ifndef FULLBLOOM_H
#define FULLBLOOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The result of a call. Numbers keep their meaning for ever; new ones may be added. */
typedef enum fullbloom_status {
    FULLBLOOM_OK = 0,
    FULLBLOOM_NULL = 1,         /* a required pointer is NULL */
    FULLBLOOM_ARGUMENT = 2,     /* an argument has a value that is not allowed */
    FULLBLOOM_SIZE = 3,         /* the requested size is not possible in this dialect */
    FULLBLOOM_DECODE = 4,       /* the bytes are not a complete, undamaged filter */
    FULLBLOOM_FILE = 5,         /* a file could not be read or written */
    FULLBLOOM_MERGE = 6,        /* the two filters cannot be merged */
    FULLBLOOM_MEMORY = 7,       /* there is not enough memory */
    FULLBLOOM_READ_ONLY = 8,    /* the filter takes no keys: see fullbloom_message() */
    FULLBLOOM_NOT_FINISHED = 9, /* fullbloom_filter_finish has not been called */
    FULLBLOOM_HANDLE = 10,      /* the pointer does not point to a live handle of this kind */
    FULLBLOOM_BUFFER = 11,      /* the buffer is too small */
    FULLBLOOM_LOCKED = 12,      /* the filter is keyed, and its secret has not been given */
    FULLBLOOM_INTERNAL = 13,    /* a bug in this library; please report it */
    FULLBLOOM_KEY_TYPE = 14,    /* the filter was built from keys of another type */
    FULLBLOOM_HASH = 15         /* the hash is for filters of another dialect, seed or secret */
} fullbloom_status;

/*
 * The filter of one system: its sizing rule, hash, probes and bytes, exactly. Numbers keep their meaning for
 * ever.
 */
typedef enum fullbloom_dialect {
    /* for reading: detect the dialect by the bytes and the file's name */
    FULLBLOOM_UNKNOWN = 0,
    /* fullbloom's own, .bloom file */
    FULLBLOOM_NATIVE = 1,
    /* Cassandra 4.0 - 6.0 (sstable versions na - pa, da, ea), DSE 6.8, HCD */
    FULLBLOOM_CASSANDRA = 2,
    /* Cassandra 3.0 - 3.11 (ma - me), ScyllaDB (mc - mt), DSE 6.0 - 6.7 */
    FULLBLOOM_CASSANDRA_3 = 3,
    /* Cassandra 1.2 - 2.2 (ia - lb) */
    FULLBLOOM_CASSANDRA_2 = 4,
    /* Cassandra 0.7.1 - 1.1 (f - hf) */
    FULLBLOOM_CASSANDRA_1 = 5,
    /* Cassandra 0.7.0 (c - e) */
    FULLBLOOM_CASSANDRA_0_7 = 6,
    /* Cassandra 0.3 - 0.7 beta (a, b); keys are text */
    FULLBLOOM_CASSANDRA_0 = 7,
    /* libbloom 2.0, save file */
    FULLBLOOM_LIBBLOOM = 8,
    /* libbloom 1.6, raw bits */
    FULLBLOOM_LIBBLOOM_1 = 9,
    /* LevelDB's policy filter (leveldb.BuiltinBloomFilter2) */
    FULLBLOOM_LEVELDB = 10,
    /* RocksDB's per-block policy filter (6.x and older) */
    FULLBLOOM_ROCKSDB_BLOCK = 11,
    /* RocksDB's legacy full filter (format_version below 5) */
    FULLBLOOM_ROCKSDB_LEGACY = 12,
    /* RocksDB's full filter, FastLocalBloom (format_version 5 and later) */
    FULLBLOOM_ROCKSDB = 13,
    /* RocksDB's Ribbon filter (Standard128) */
    FULLBLOOM_ROCKSDB_RIBBON = 14,
    /* java-lsm-tree, raw bits; keys are text */
    FULLBLOOM_JAVA_LSM = 15,
    /* Parquet's split block filter, with or without its header */
    FULLBLOOM_PARQUET = 16,
    /* Guava's BloomFilter, strategy MURMUR128_MITZ_64 (its default) */
    FULLBLOOM_GUAVA = 17,
    /* Guava's BloomFilter, strategy MURMUR128_MITZ_32 */
    FULLBLOOM_GUAVA_32 = 18,
    /* Spark's sketch BloomFilter, version 1 */
    FULLBLOOM_SPARK = 19,
    /* Spark's sketch BloomFilter, version 2 (Spark 4 and later) */
    FULLBLOOM_SPARK_2 = 20,
    /* ORC's BloomFilter and BloomFilterUtf8 messages */
    FULLBLOOM_ORC = 21,
    /* DCSO's bloom, version 1 (.bloom files of hashlookup, Plaso) */
    FULLBLOOM_DCSO = 22,
    /* poppy, version 2 (.pop files) */
    FULLBLOOM_POPPY = 23
} fullbloom_dialect;

/*
 * The type of a native filter's keys, which its file records. This library takes keys as bytes: an integer as
 * the eight bytes of its two's complement, the lowest first; text in UTF-8. Numbers keep their meaning for
 * ever.
 */
typedef enum fullbloom_key_type {
    FULLBLOOM_KEYS_NOT_RECORDED = 0,
    FULLBLOOM_KEYS_BYTES = 1,
    FULLBLOOM_KEYS_TEXT = 2,    /* the same bytes as FULLBLOOM_KEYS_BYTES */
    FULLBLOOM_KEYS_INT = 3,     /* integers of 32 bits; the same bytes as FULLBLOOM_KEYS_LONG */
    FULLBLOOM_KEYS_LONG = 4     /* integers of 64 bits */
} fullbloom_key_type;

/* A filter. Made by create, view, decode, load and open; freed by free. */
typedef struct fullbloom_filter fullbloom_filter;

/*
 * The size of a filter. Begin with FULLBLOOM_SIZING_INIT, then set expected_keys and exactly one of: fpr;
 * bits_per_key; bits with probes. RocksDB's full filters are sized by the keys that are inserted, whatever
 * expected_keys says. For a dynamic filter, 0 expected keys mean that their number is unknown.
 */
typedef struct fullbloom_sizing {
    size_t struct_size;     /* sizeof(fullbloom_sizing) */
    uint64_t expected_keys;
    double fpr;             /* false-positive rate, or 0 */
    double bits_per_key;    /* or 0 */
    uint64_t bits;          /* length of the array in bits, or 0 */
    uint32_t probes;        /* positions tested for each key; with bits */
    const uint8_t *secret;  /* native only: 16 secret bytes, for keys from untrusted people; or NULL */
} fullbloom_sizing;

#define FULLBLOOM_SIZING_INIT { sizeof(fullbloom_sizing), 0, 0.0, 0.0, 0, 0, NULL }

/*
 * What a dynamic filter can do besides growing. Begin with FULLBLOOM_DYNAMIC_INIT: a set that keeps its rate
 * up to the expected keys, or up to 10^9 keys if their number is unknown. A filter is either deletable, or
 * its keys expire after a time, or after a number of other keys.
 */
typedef struct fullbloom_dynamic {
    size_t struct_size;     /* sizeof(fullbloom_dynamic) */
    uint64_t up_to;         /* the number of keys up to which it keeps its rate; 0: the expected ones, or 10^9 */
    uint64_t expire_ms;     /* keys are remembered for this many milliseconds at least, or 0 */
    uint64_t expire_keys;   /* keys are remembered while fewer than this many new ones have come, or 0 */
    uint32_t generations;   /* in how many steps keys expire, 1 to 200; 0: 7. Keys stay for at most one step longer */
    uint8_t refresh;        /* 1: inserting a known key again restarts its time */
    uint8_t deletable;      /* 1: it counts its keys, and fullbloom_filter_remove removes them */
    uint8_t reserved[2];
} fullbloom_dynamic;

#define FULLBLOOM_DYNAMIC_INIT { sizeof(fullbloom_dynamic), 0, 0, 0, 0, 0, 0, { 0, 0 } }

/* The facts of a filter, or of a plan for one. Begin with FULLBLOOM_FACTS_INIT. */
typedef struct fullbloom_facts {
    size_t struct_size;     /* sizeof(fullbloom_facts) */
    fullbloom_dialect dialect;
    uint32_t probes;        /* positions tested for each key; if 0, every key may be present */
    uint64_t bits;          /* length of the array in bits */
    uint64_t block_bits;    /* bits of the block that one key's probes stay in; `bits` if anywhere */
    uint64_t encoded_len;   /* bytes of the encoded filter; an upper bound if it depends on the bits */
    uint64_t set_bits;      /* number of bits that are set */
    double fill;            /* share of bits set */
    double expected_fpr;    /* of the filter as it is now; of a plan, with all expected keys inserted */
    double estimated_keys;  /* number of distinct keys, from the bits; negative if it cannot be known */
    uint8_t takes_keys;     /* 1: keys can be inserted; 0: they cannot */
    uint8_t locked;         /* 1: keyed, and its secret has not been given; 0 otherwise */
    uint8_t key_type;       /* a fullbloom_key_type: what a native filter records */
    uint8_t reserved[5];
} fullbloom_facts;

#define FULLBLOOM_FACTS_INIT \
    { sizeof(fullbloom_facts), FULLBLOOM_UNKNOWN, 0, 0, 0, 0, 0, 0.0, 0.0, 0.0, 0, 0, 0, { 0, 0, 0, 0, 0 } }

/*
 * A key hashed once, for many filters: 32 bytes in every version of this library. It belongs to all filters of
 * the dialect, seed and secret of the filter that made it (fullbloom_filter_hash), whatever their sizes; those
 * of FULLBLOOM_ROCKSDB and FULLBLOOM_ROCKSDB_RIBBON take each other's hashes, and so do dynamic, fast and
 * compact native filters, except those converted from a dynamic one. All others refuse it with FULLBLOOM_HASH,
 * because they could answer "no" for a key that they contain.
 *
 * It is plain data: copy it, keep it in arrays, read its fields, but do not change them. A struct of zeros
 * belongs to no filter.
 */
typedef struct fullbloom_hash {
    uint64_t words[2];      /* the hash; words[1] is 0 if the dialect's hash has 64 bits or fewer */
    uint64_t seed;          /* the seed, or a number by which two secrets are distinguished, or 0 */
    uint32_t dialect;       /* a fullbloom_dialect; FULLBLOOM_ROCKSDB for FULLBLOOM_ROCKSDB_RIBBON */
    uint32_t variant;       /* which of the dialect's hash functions */
} fullbloom_hash;

/* The version of this library; a static string. */
const char *fullbloom_version(void);

/* A few words that describe a status; a static string. */
const char *fullbloom_status_words(fullbloom_status status);

/*
 * Why the last failed call of this thread failed; empty if none has. Never NULL. It is the same memory for all
 * calls of a thread, valid until the thread ends: the next call that fails writes its message there, and a
 * pointer kept until then shows that one. Messages have at most 1023 bytes of UTF-8; longer ones are cut
 * between two characters.
 */
const char *fullbloom_message(void);

/*
 * The name of a dialect, as the command spells it ("cassandra-3"); a static string. NULL if no dialect has
 * this number.
 */
const char *fullbloom_dialect_name(fullbloom_dialect dialect);

/* The dialect with this name. */
fullbloom_status fullbloom_dialect_by_name(const char *name, fullbloom_dialect *dialect);

/* What a filter would be, without making it: bits, probes, encoded length and expected rate. */
fullbloom_status fullbloom_plan(fullbloom_dialect dialect, const fullbloom_sizing *sizing,
                                fullbloom_facts *facts);

/* An empty filter. If the call fails, *filter is NULL; so in all functions that make a filter. */
fullbloom_status fullbloom_filter_create(fullbloom_dialect dialect, const fullbloom_sizing *sizing,
                                         fullbloom_filter **filter);

/*
 * An empty native filter of kind dynamic. It has memory for sizing->expected_keys keys, grows beyond, and
 * keeps the rate sizing->fpr up to dynamic->up_to keys. `dynamic` may be NULL: FULLBLOOM_DYNAMIC_INIT.
 */
fullbloom_status fullbloom_filter_create_dynamic(const fullbloom_sizing *sizing, const fullbloom_dynamic *dynamic,
                                                 fullbloom_filter **filter);

/*
 * A filter that answers from the caller's bytes. They must not change or be freed before the filter is freed.
 * Reading is strict: truncated or damaged bytes, and bytes after the end of the filter, are refused. bits and
 * probes are required for FULLBLOOM_LIBBLOOM_1 and FULLBLOOM_JAVA_LSM, whose bytes do not contain them; for
 * other dialects they are 0, or agree with the bytes.
 */
fullbloom_status fullbloom_filter_view(fullbloom_dialect dialect, const void *bytes, size_t len,
                                       uint64_t bits, uint32_t probes, fullbloom_filter **filter);

/*
 * As view, with a copy of the bytes. The filter takes more keys, unless it is a RocksDB full filter or has
 * exceptions.
 */
fullbloom_status fullbloom_filter_decode(fullbloom_dialect dialect, const void *bytes, size_t len,
                                         uint64_t bits, uint32_t probes, fullbloom_filter **filter);

/*
 * As decode, from a file, which may change or be removed afterwards. The keys in the journal of a dynamic
 * filter's file ("FILE.journal") belong to it.
 */
fullbloom_status fullbloom_filter_load(fullbloom_dialect dialect, const char *path, uint64_t bits,
                                       uint32_t probes, fullbloom_filter **filter);

/*
 * As view, from a mapped file. Nobody may truncate the file before the filter is freed (the system would end
 * the process). It is safe to replace the file by renaming another one over it, as save does.
 */
fullbloom_status fullbloom_filter_open(fullbloom_dialect dialect, const char *path, uint64_t bits,
                                       uint32_t probes, fullbloom_filter **filter);

/* Gives a keyed filter its secret of 16 bytes. A filter that needs none stays as it is. */
fullbloom_status fullbloom_filter_unlock(fullbloom_filter *filter, const uint8_t *secret);

/* Records the type of the keys of a native filter. Filters of other dialects cannot record it. */
fullbloom_status fullbloom_filter_set_key_type(fullbloom_filter *filter, fullbloom_key_type key_type);

/*
 * FULLBLOOM_KEY_TYPE if the filter records that its keys are of a type with other bytes: it then answers "no"
 * to all keys of this type. FULLBLOOM_OK if keys of this type may be in it, or if it does not record a type.
 */
fullbloom_status fullbloom_filter_require_key_type(const fullbloom_filter *filter,
                                                   fullbloom_key_type key_type);

/*
 * Adds a key; NULL with len 0 is the empty key. *changed (may be NULL) becomes true if a bit changed: then
 * the key was certainly not in the filter before. It is always true for a filter that is not finished.
 */
fullbloom_status fullbloom_filter_insert(fullbloom_filter *filter, const void *key, size_t len,
                                         bool *changed);

/*
 * Adds many keys, or none of them if one is NULL. Faster than one by one if the filter is larger than the
 * caches.
 */
fullbloom_status fullbloom_filter_insert_batch(fullbloom_filter *filter, const void *const *keys,
                                               const size_t *lens, size_t count);

/*
 * Removes a key from a deletable filter. *removed (may be NULL) becomes false if the key was certainly
 * absent; nothing changes then. Remove only keys that were inserted, each as often as it was inserted: a key
 * that was not can look present, and removing it removes a key with the same fingerprint.
 */
fullbloom_status fullbloom_filter_remove(fullbloom_filter *filter, const void *key, size_t len, bool *removed);

/*
 * Sets the clock of a filter whose keys expire by time, in milliseconds since 1970-01-01 00:00 UTC. The
 * library never reads a clock. Keys that have expired by then are no longer found; keys inserted from now on
 * begin at this time. A clock that goes back a little stands still until it has caught up. Other filters stay
 * as they are.
 */
fullbloom_status fullbloom_filter_advance(fullbloom_filter *filter, uint64_t now_ms);

/* Whether a key may be present. If the call fails, *answer is true: "maybe" is always a safe answer. */
fullbloom_status fullbloom_filter_may_contain(const fullbloom_filter *filter, const void *key, size_t len,
                                              bool *answer);

/* The same for many keys; `answers` has room for `count` answers. */
fullbloom_status fullbloom_filter_may_contain_batch(const fullbloom_filter *filter, const void *const *keys,
                                                    const size_t *lens, size_t count, bool *answers);

/*
 * Hashes a key for this filter and for all others that hash keys alike; see fullbloom_hash. The filter need not
 * be finished. If the call fails, *hash is a struct of zeros.
 */
fullbloom_status fullbloom_filter_hash(const fullbloom_filter *filter, const void *key, size_t len,
                                       fullbloom_hash *hash);

/*
 * As insert and insert_batch, for keys that were hashed before. If one of the hashes belongs to other filters,
 * the status is FULLBLOOM_HASH, and no key is added.
 */
fullbloom_status fullbloom_filter_insert_hash(fullbloom_filter *filter, const fullbloom_hash *hash,
                                              bool *changed);
fullbloom_status fullbloom_filter_insert_hash_batch(fullbloom_filter *filter, const fullbloom_hash *hashes,
                                                    size_t count);

/*
 * As may_contain and may_contain_batch, for keys that were hashed before. If one of the hashes belongs to other
 * filters, the status is FULLBLOOM_HASH, and all answers are true.
 */
fullbloom_status fullbloom_filter_may_contain_hash(const fullbloom_filter *filter, const fullbloom_hash *hash,
                                                   bool *answer);
fullbloom_status fullbloom_filter_may_contain_hash_batch(const fullbloom_filter *filter,
                                                         const fullbloom_hash *hashes, size_t count,
                                                         bool *answers);

/*
 * Builds a RocksDB full filter from the keys that were inserted. Before this call it can neither answer nor
 * be saved; afterwards it takes no keys. Filters of other dialects need not be finished and stay as they are.
 */
fullbloom_status fullbloom_filter_finish(fullbloom_filter *filter);

/* Removes all keys. */
fullbloom_status fullbloom_filter_clear(fullbloom_filter *filter);

/* Inserts all keys of `other` into `filter`. Both must have the same dialect and geometry. */
fullbloom_status fullbloom_filter_merge(fullbloom_filter *filter, const fullbloom_filter *other);

/* The facts of a filter. Reads the whole array. */
fullbloom_status fullbloom_filter_facts(const fullbloom_filter *filter, fullbloom_facts *facts);

/*
 * Writes the encoded filter, as its system writes it, into a buffer. *written becomes its length, even if the
 * buffer is too small: then the status is FULLBLOOM_BUFFER. To get the length alone, pass NULL and 0.
 */
fullbloom_status fullbloom_filter_encode(const fullbloom_filter *filter, void *buffer, size_t len,
                                         uint64_t *written);

/* Saves the encoded filter: the file is replaced durably as a whole, or not at all. */
fullbloom_status fullbloom_filter_save(const fullbloom_filter *filter, const char *path);

/* Frees the filter and sets *filter to NULL. Does nothing if `filter` or *filter is NULL. */
fullbloom_status fullbloom_filter_free(fullbloom_filter **filter);

/*
 * fullbloom's filters in LevelDB, through its C interface:
 *
 *     fullbloom_policy *policy;
 *     fullbloom_policy_create(FULLBLOOM_LEVELDB, 10, &policy);
 *     leveldb_filterpolicy_t *filter_policy = leveldb_filterpolicy_create(
 *         policy, fullbloom_policy_destroy, fullbloom_policy_create_filter,
 *         fullbloom_policy_key_may_match, fullbloom_policy_name);
 *     leveldb_options_set_filter_policy(options, filter_policy);
 *
 * FULLBLOOM_LEVELDB writes the same bytes under the same name as LevelDB's own policy, so a database can be
 * opened with either. FULLBLOOM_NATIVE writes native filters under the name "fullbloom.native"; LevelDB
 * ignores filters with the name of another policy. If a filter cannot be made or read, every key may match,
 * so no key is lost. The callbacks may run on any thread. LevelDB destroys the policy with
 * leveldb_filterpolicy_destroy.
 */
typedef struct fullbloom_policy fullbloom_policy;

/* A policy that spends this many bits on each key. If the call fails, *policy is NULL. */
fullbloom_status fullbloom_policy_create(fullbloom_dialect dialect, double bits_per_key,
                                         fullbloom_policy **policy);

/*
 * The four callbacks; `state` is a fullbloom_policy. create_filter returns memory from malloc, which LevelDB
 * frees.
 */
void fullbloom_policy_destroy(void *state);
char *fullbloom_policy_create_filter(void *state, const char *const *keys, const size_t *lens, int count,
                                     size_t *filter_len);
uint8_t fullbloom_policy_key_may_match(void *state, const char *key, size_t len, const char *filter,
                                       size_t filter_len);
const char *fullbloom_policy_name(void *state);

#ifdef __cplusplus
}
#endif

#endif
