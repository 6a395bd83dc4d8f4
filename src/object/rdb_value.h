/* rdb_value.h -- a value as RDB writes it: one byte for its type, then what the type needs.
 *
 * Threads     any: a function knows only its arguments.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef OBJECT_RDB_VALUE_H
#define OBJECT_RDB_VALUE_H

#include "rdb_string.h"

#define RDB_VERSION 80 /* of what is written */
/* Versions of others that went their own way after 11: their strings may be read, but nobody vouches for it. */
#define RDB_VERSION_FOREIGN_MIN 12
#define RDB_VERSION_FOREIGN_MAX 79

/* Whether a payload of this version is accepted; `relaxed` takes every version there can be. */
bool rdbVersionIsReadable(unsigned version, bool relaxed);

/* Append type and value to `out`. */
sds rdbCatValue(sds out, const robj *o, bool compress);
/* An entry for `key` from type and value; NULL when the type is unknown or the bytes are malformed. */
robj *rdbReadValue(rdbReader *r, slice key, bool with_expire) must_check;

#endif
