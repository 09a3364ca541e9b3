/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * libbloom 2.0's interface, as fullbloom provides it: same struct, same functions, same bits and files. A program compiled with
 * either library's header runs with either library.
 *
 * Threads: bloom_check calls may run beside each other and beside bloom_add; bloom_add calls may run beside each other and lose no
 * bit (of two threads that add one key at the same moment both may be told that it was new). Every other function needs the struct
 * for itself.
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
 * The caller has the struct; the library has what bf points to, from init or load until free. The first five fields may be read at
 * any time. Nothing should be written to it.
 */
struct bloom
{
  ENTRIES_T entries;    /* keys the filter was made for */
  BITS_T bits;          /* its length */
  BYTES_T bytes;        /* the same in bytes */
  unsigned char hashes; /* bits tested for each key */
  double error;         /* false-positive rate it was made for */

  unsigned char ready;  /* not 0 while there is a filter */
  unsigned char major;  /* 2 */
  unsigned char minor;  /* 0 */
  double bpe;           /* bits for each key */
  unsigned char * bf;   /* the bits */
};

/* As bloom_init2; the bits of `entries` are taken for an unsigned number. For programs written for 1.x. */
int bloom_init(struct bloom * bloom, int entries, double error);

/*
 * Makes an empty filter for `entries` keys (1000 or more) at the rate `error` (above 0, below 1). 0, or 1 if there can be none. A
 * filter that the struct held before is not freed.
 */
int bloom_init2(struct bloom * bloom, unsigned int entries, double error);

/* Whether a key of `len` bytes is in the filter: 0 surely not, 1 perhaps, -1 there is no filter (or no key). */
int bloom_check(struct bloom * bloom, const void * buffer, int len);

/* Adds a key: 0 it was not there, 1 it was there already or looks so, -1 there is no filter (or no key). */
int bloom_add(struct bloom * bloom, const void * buffer, int len);

/* Prints the struct on standard output. */
void bloom_print(struct bloom * bloom);

/* Gives the bits back. Harmless twice, and on a struct of zeros. */
void bloom_free(struct bloom * bloom);

/* Removes all keys: 0, or 1 if there is no filter. */
int bloom_reset(struct bloom * bloom);

/* Writes the filter to a file: 0 or 1. The file is replaced whole or stays as it was. */
int bloom_save(struct bloom * bloom, char * filename);

/*
 * Reads a filter from a file. 0, or why not:
 *    1 no file name   2 no struct   3 cannot be opened   4, 5 too short for, or without, the first bytes of a save file
 *    6, 7 struct's size missing, or another one   8 struct cut off   9 of another major version   10 no memory
 *   11 bits cut off, or fewer than the struct speaks of
 */
int bloom_load(struct bloom * bloom, char * filename);

/* Adds all keys of src to dest: 0, 1 if they were not made with the same numbers, -1 if one is no filter. */
int bloom_merge(struct bloom * bloom_dest, struct bloom * bloom_src);

/* "2.0" */
const char * bloom_version(void);

#ifdef __cplusplus
}
#endif

#endif
