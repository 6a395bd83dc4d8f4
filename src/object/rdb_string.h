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
#include "sds.h"

/* What is left to be read. A function that fails has found malformed or missing bytes; the place is then undefined. */
typedef struct rdbReader {
    const char *p, *end;
} rdbReader;

/* --- Writing: each appends to `out` and returns it ------------------------------------------------ */
sds rdbCatLength(sds out, uint64_t len);
/* A string in its shortest form: as integer when its digits are canonical and fit 32 bits, with LZF when `compress`
 * and that saves at least 4 bytes of more than 20. */
sds rdbCatString(sds out, slice text, bool compress);
/* The same for a string object. */
sds rdbCatStringObject(sds out, const robj *o, bool compress);

/* --- Reading -------------------------------------------------------------------------------------- */
/* A length, or an encoding's number in *len with *encoded set. */
bool rdbReadLength(rdbReader *r, uint64_t *len, bool *encoded) must_check;
/* A string as entry for `key`, encoded as objectCreateString() would; NULL when it is malformed. */
robj *rdbReadStringObject(rdbReader *r, slice key, bool with_expire) must_check;
/* A string as new sds; NULL when it is malformed. */
sds rdbReadString(rdbReader *r) must_check;

#endif
