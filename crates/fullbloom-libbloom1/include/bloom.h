/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The interface of libbloom 1.6, provided by fullbloom: the same struct, functions and bits. A program
 * compiled with the header of either library runs with either library.
 *
 * Threads: bloom_check may run concurrently with bloom_check and bloom_add. bloom_add may run concurrently
 * with bloom_add, and no bit is lost; if two threads add the same key at the same time, both may get the
 * answer "new". Every other function needs exclusive access to the struct.
 */
#ifndef _BLOOM_H
#define _BLOOM_H

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The caller owns the struct. The library owns the memory at bf, from init until free. The first five fields
 * may be read at any time. Do not write to the struct.
 */
struct bloom
{
  int entries;        /* expected keys */
  double error;       /* false-positive rate with that many keys */
  int bits;           /* length in bits */
  int bytes;          /* length in bytes */
  int hashes;         /* bits tested for each key */

  double bpe;         /* bits per key */
  unsigned char * bf; /* the bits */
  int ready;          /* not 0 if the struct holds a filter */
};

/*
 * Creates an empty filter for `entries` keys (1000 or more) at the false-positive rate `error`. Returns 0, or
 * 1 if the request is invalid. A filter that the struct already holds is not freed.
 */
int bloom_init(struct bloom * bloom, int entries, double error);

/* An older name of bloom_init; cache_size is not used. */
int bloom_init_size(struct bloom * bloom, int entries, double error, unsigned int cache_size);

/* Looks up a key of `len` bytes: 0 surely absent, 1 may be present, -1 no filter (or no key). */
int bloom_check(struct bloom * bloom, const void * buffer, int len);

/* Adds a key: 0 the key was absent, 1 it was present or looks so, -1 no filter (or no key). */
int bloom_add(struct bloom * bloom, const void * buffer, int len);

/* Prints the struct on standard output. */
void bloom_print(struct bloom * bloom);

/* Frees the bits. May be called twice, and on a struct of zeros. */
void bloom_free(struct bloom * bloom);

/* Removes all keys. Returns 0, or 1 if there is no filter. */
int bloom_reset(struct bloom * bloom);

/* "1.6" */
const char * bloom_version(void);

#ifdef __cplusplus
}
#endif

#endif
