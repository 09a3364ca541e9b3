/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * libbloom 2.0's interface, as fullbloom provides it: same struct, same functions, same bits and files. A
 * program compiled with either library's header runs with either library.
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

/* A struct without a filter: bloom_free and bloom_print may be called on it. */
#define NULL_BLOOM_FILTER { 0, 0, 0, 0, 0.0, 0, 0, 0, 0.0, 0 }

#define ENTRIES_T unsigned int
#define BYTES_T unsigned long int
#define BITS_T unsigned long int

/*
 * The caller owns the struct; the library owns what bf points to, from init or load until free. The first
 * five fields may be read at any time. No field should be written.
 */
struct bloom
{
  ENTRIES_T entries;    /* number of keys the filter was made for */
  BITS_T bits;          /* length of the filter in bits */
  BYTES_T bytes;        /* the same in bytes */
  unsigned char hashes; /* bits tested for each key */
  double error;         /* false-positive rate with that many keys */

  unsigned char ready;  /* not 0 if the struct holds a filter */
  unsigned char major;  /* 2 */
  unsigned char minor;  /* 0 */
  double bpe;           /* bits per key */
  unsigned char * bf;   /* the bits */
};

/* As bloom_init2, for programs written for 1.x; the bits of `entries` are read as an unsigned number. */
int bloom_init(struct bloom * bloom, int entries, double error);

/*
 * Makes an empty filter for `entries` keys (1000 or more) at the rate `error` (above 0, below 1). Returns 0,
 * or 1 if that is not possible. A filter that the struct held before is not freed.
 */
int bloom_init2(struct bloom * bloom, unsigned int entries, double error);

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

/* Writes the filter to a file: 0, or 1 if it failed. The file is replaced as a whole, or stays as it was. */
int bloom_save(struct bloom * bloom, char * filename);

/*
 * Reads a filter from a file. Returns 0, or the reason of the failure:    1 no file name   2 no struct   3
 * the file cannot be opened   4, 5 it is too short for, or lacks, the magic bytes of a save file    6, 7 the
 * size of the struct is missing, or wrong   8 the struct is truncated   9 another major version   10 not
 * enough memory   11 the bits are truncated, or fewer than the struct says
 */
int bloom_load(struct bloom * bloom, char * filename);

/* Adds all keys of src to dest: 0, 1 if they were made with different numbers, -1 if one has no filter. */
int bloom_merge(struct bloom * bloom_dest, struct bloom * bloom_src);

/* "2.0" */
const char * bloom_version(void);

#ifdef __cplusplus
}
#endif

#endif
