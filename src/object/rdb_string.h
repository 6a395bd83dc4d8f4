/* rdb_string.h -- lengths and strings in the RDB format, for snapshots and DUMP payloads.
 *
 *   first byte    meaning
 *   00 llllll     the length is these 6 bits
 *   01 llllll     14 bits of length: 1 more byte
 *   10 000000     4 bytes of length, most significant first
 *   10 000001     8 bytes of length, most significant first
 *   11 eeeeee     no length, but an encoding of a string: 0, 1, 2 = integer in 1, 2, 4 bytes, least significant
 *                 first; 3 = LZF: compressed length, length, compressed bytes
 *
 * Threads     any: functions use only their arguments.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef OBJECT_RDB_STRING_H
#define OBJECT_RDB_STRING_H

#include "object.h"
#include "rdb_writer.h"

/* The bytes left to read. A function fails if bytes are malformed or missing, or if there is no memory for what they
 * represent; the position is then undefined. */
typedef struct rdbReader {
    const char *p, *end;
} rdbReader;

/* --- Writing ----------------------------------------------------------------------------------------- */
void rdbWriteLength(rdbWriter *w, uint64_t len);
void rdbWriteDouble(rdbWriter *w, double d); /* 8 bytes, least significant first */
void rdbWriteMs(rdbWriter *w, int64_t ms);   /* a time; 8 bytes, least significant first */
/* Writes a string in its shortest form: as an integer if its digits are canonical and fit 32 bits; by LZF if the writer
 * compresses and that saves at least 4 bytes of more than 20. A string larger than the writer's buffer is compressed in
 * a separate block, or written uncompressed if there is no memory for that. */
void rdbWriteString(rdbWriter *w, slice text);
/* Writes a string object like rdbWriteString(). */
void rdbWriteStringObject(rdbWriter *w, const robj *o);
/* Writes a string that LZF has already compressed from `raw_bytes` to `packed`. */
void rdbWriteCompressed(rdbWriter *w, slice packed, size_t raw_bytes);

/* --- Reading -------------------------------------------------------------------------------------- */
/* Reads a length or, with *encoded set, the number of an encoding. */
bool rdbReadLength(rdbReader *r, uint64_t *len, bool *encoded) must_check;
/* Reads a string as an entry for `key`, encoded like objectCreateString(). Returns NULL on failure. */
robj *rdbReadStringObject(rdbReader *r, slice key, bool with_expire) must_check;
/* Reads a length; fails for an encoding. */
bool rdbReadCount(rdbReader *r, uint64_t *count) must_check;
bool rdbReadDouble(rdbReader *r, double *d) must_check; /* not NaN */
bool rdbReadMs(rdbReader *r, int64_t *ms) must_check;
/* A string that was read: its bytes are in the input, in a block of its own, or in this struct. It must not move until
 * rdbTextFree(), which is not needed if reading failed. */
typedef struct rdbText {
    slice text;
    char *block; /* owned; begins with the text; NULL if the text is elsewhere */
    bool is_integer;
    long long integer;
    char digits[LONG_STR_SIZE];
} rdbText;
/* Reads a string of any encoding. */
bool rdbReadText(rdbReader *r, rdbText *out) must_check;
/* Reserves memory for entries with this many bytes of text, which may be two hundred times as long as its compressed
 * form. rdbReadValue() releases the reserve. Returns false if there is no memory. */
bool rdbReserveFor(size_t bytes) must_check;
void rdbTextFree(rdbText *t);
/* Returns the text as a listpack, with all entries validated, and consumes the rdbText like rdbTextFree(); reuses its
 * block if it has one. Returns NULL if it is no listpack, or there is no memory. */
uint8_t *rdbTextTakeListpack(rdbText *t) must_check;
/* Reads a string that is a listpack or, if `convert` is set, an older format that it makes a listpack of (ziplist.c).
 * Returns NULL if it is malformed, or there is no memory. */
uint8_t *rdbReadListpack(rdbReader *r, uint8_t *(*convert)(const uint8_t *bytes, size_t len)) must_check;

#endif
