/* rdb_older.h -- values in the forms of older versions of RDB.
 *
 * Runs on: any thread; functions use only their arguments.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef OBJECT_RDB_OLDER_H
#define OBJECT_RDB_OLDER_H

#include "rdb_value.h"

#define RDB_VERSION_OLDEST 9 /* that is written: of Redis 5 and 6 */

/* Returns the lowest version, but for that of Redis 8, that holds the value without any loss. */
unsigned rdbLowestVersion(const robj *o);
/* Returns the RDB_TYPE_ as which a file of this version, of RDB_VERSION_OLDEST or more, has the value; RDB_TYPES if it
 * cannot hold it. Figures of a stream that an older version lacks are left out: times of activity before 11, counters
 * and the largest deleted ID before 10. */
unsigned rdbTypeInVersion(const robj *o, unsigned version);
/* Writes a value as a type that rdbTypeInVersion() has returned. */
void rdbWriteValueAs(rdbWriter *w, const robj *o, unsigned rdb_type);

#endif
