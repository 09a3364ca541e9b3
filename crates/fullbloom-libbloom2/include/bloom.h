/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The interface of libbloom 2.0, provided by fullbloom: the same struct, functions, bits and files. A program
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

/* A struct without a filter: bloom_free and bloom_print may be called on it. */
#define NULL_BLOOM_FILTER { 0, 0, 0, 0, 0.0, 0, 0, 0, 0.0, 0 }

#define ENTRIES_T unsigned int
#define BYTES_T unsigned long int
#define BITS_T unsigned long int

/*
 * The caller owns the struct. The library owns the memory at bf, from init or load until free. The first five
 * fields may be read at any time. Do not write to the struct.
 */
struct bloom
{
  ENTRIES_T entries;    /* expected keys */
  BITS_T bits;          /* length in bits */
  BYTES_T bytes;        /* length in bytes */
  unsigned char hashes; /* bits tested for each key */
  double error;         /* false-positive rate with that many keys */

  unsigned char ready;  /* not 0 if the struct holds a filter */
  unsigned char major;  /* 2 */
  unsigned char minor;  /* 0 */
  double bpe;           /* bits per key */
  unsigned char * bf;   /* the bits */
};

/* Like bloom_init2; `entries` is converted to an unsigned number. For programs written for 1.x. */
int bloom_init(struct bloom * bloom, int entries, double error);

/*
 * Creates an empty filter for `entries` keys (1000 or more) at the false-positive rate `error` (above 0,
 * below 1). Returns 0, or 1 if the request is invalid. A filter that the struct already holds is not freed.
 */
int bloom_init2(struct bloom * bloom, unsigned int entries, double error);

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

/* Writes the filter to a file. Returns 0, or 1 on error. The file is replaced completely, or not changed. */
int bloom_save(struct bloom * bloom, char * filename);

/*
 * Reads a filter from a file. Returns 0, or the reason of the failure:
 *    1 no file name          2 no struct              3 file cannot be opened    4 magic bytes truncated
 *    5 wrong magic bytes     6 struct size missing    7 another struct size      8 struct truncated
 *    9 another major version    10 out of memory    11 bits truncated, or fewer than the struct states
 */
int bloom_load(struct bloom * bloom, char * filename);

/*
 * Adds all keys of src to dest: 0, 1 if they were not created with the same numbers, -1 if one is not a
 * filter.
 */
int bloom_merge(struct bloom * bloom_dest, struct bloom * bloom_src);

/* "2.0" */
const char * bloom_version(void);

#ifdef __cplusplus
}
#endif

#endif
