/* rdb_string.h -- how RDB writes lengths and strings, in snapshots and in DUMP payloads alike.
 *
 *   first byte    what follows
 *   00 llllll     the length is these 6 bits
 *   01 llllll     14 bits of length: 1 more byte
 *   10 000000     4 bytes of length, most significant first
 *   10 000001     8 bytes of length, most significant first
 *   11 eeeeee     not a length but an encoding of a string: 0, 1, 2 = integer in 1, 2, 4 bytes, least significant
 *                 first; 3 = LZF: compressed length, length, compressed bytes
 *
 * Threads     any: a function knows only its arguments.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef OBJECT_RDB_STRING_H
#define OBJECT_RDB_STRING_H

#include "object.h"
#include "rdb_writer.h"

/* What is left to be read. A function that fails has found malformed or missing bytes, or there is no memory for what
 * they stand for; the place is then undefined. */
typedef struct rdbReader {
    const char *p, *end;
} rdbReader;

/* --- Writing ----------------------------------------------------------------------------------------- */
void rdbWriteLength(rdbWriter *w, uint64_t len);
void rdbWriteDouble(rdbWriter *w, double d); /* 8 bytes, least significant first */
void rdbWriteMs(rdbWriter *w, int64_t ms);   /* a time, likewise */
/* A string in its shortest form: as integer when its digits are canonical and fit 32 bits, with LZF when the writer
 * compresses and that saves at least 4 bytes of more than 20. One that is larger than the writer's buffer is compressed
 * in a block of its own; where there is no memory for that it is written as it is. */
void rdbWriteString(rdbWriter *w, slice text);
/* The same for a string object. */
void rdbWriteStringObject(rdbWriter *w, const robj *o);
/* A string that LZF has made these bytes of, out of so many. */
void rdbWriteCompressed(rdbWriter *w, slice packed, size_t raw_bytes);

/* --- Reading -------------------------------------------------------------------------------------- */
/* A length, or an encoding's number in *len with *encoded set. */
bool rdbReadLength(rdbReader *r, uint64_t *len, bool *encoded) must_check;
/* A string as entry for `key`, encoded as objectCreateString() would; NULL when it is malformed. */
robj *rdbReadStringObject(rdbReader *r, slice key, bool with_expire) must_check;
/* A length that is none of an encoding. */
bool rdbReadCount(rdbReader *r, uint64_t *count) must_check;
bool rdbReadDouble(rdbReader *r, double *d) must_check; /* not NaN */
bool rdbReadMs(rdbReader *r, int64_t *ms) must_check;
/* A string that has been read: bytes of the input, or of a block of its own, or of the struct. It stays where it is
 * until rdbTextFree(), which is not needed when reading failed. */
typedef struct rdbText {
    slice text;
    char *block; /* owns; NULL when text lies elsewhere. The first bytes of it are the text */
    bool is_integer;
    long long integer;
    char digits[LONG_STR_SIZE];
} rdbText;
bool rdbReadText(rdbReader *r, rdbText *out) must_check;
/* A text may be two hundred times as long as its compressed bytes: make sure of the memory for entries that hold so
 * many bytes of texts. It is reserved, until rdbReadValue() gives it back. */
bool rdbReserveFor(size_t bytes) must_check;
void rdbTextFree(rdbText *t);
/* The text as a listpack of its own, whose entries have been checked, instead of rdbTextFree(): its block, where it
 * has one. NULL: it is no listpack, or there is no memory. */
uint8_t *rdbTextTakeListpack(rdbText *t);

#endif
