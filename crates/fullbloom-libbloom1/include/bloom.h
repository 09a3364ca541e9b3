/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * libbloom 1.6's interface, as fullbloom provides it: same struct, same functions, same bits. A program
 * compiled with either library's header runs with either library.
 *
 * Threads: several threads may call bloom_check and bloom_add on one struct at the same time, and no bit is
 * lost. If two threads add the same key at the same moment, both may get 0. While any other function runs, no
 * other thread may use the struct.
 */
#ifndef _BLOOM_H
#define _BLOOM_H

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The caller owns the struct; the library owns what bf points to, from init until free. The first five fields
 * may be read at any time. No field should be written.
 */
struct bloom
{
  int entries;        /* number of keys the filter was made for */
  double error;       /* false-positive rate it was made for */
  int bits;           /* length of the filter in bits */
  int bytes;          /* the same in bytes */
  int hashes;         /* bits tested for each key */

  double bpe;         /* bits per key */
  unsigned char * bf; /* the bits */
  int ready;          /* not 0 if the struct holds a filter */
};

/*
 * Makes an empty filter for `entries` keys (1000 or more) at the rate `error`. Returns 0, or 1 if that is not
 * possible. A filter that the struct held before is not freed.
 */
int bloom_init(struct bloom * bloom, int entries, double error);

/* bloom_init under an older name; cache_size is not used. */
int bloom_init_size(struct bloom * bloom, int entries, double error, unsigned int cache_size);

/* Whether a key of `len` bytes is in the filter: 0 no, 1 maybe, -1 there is no filter (or no key). */
int bloom_check(struct bloom * bloom, const void * buffer, int len);

/* Adds a key: 0 it was not in the filter, 1 it may have been, -1 there is no filter (or no key). */
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
