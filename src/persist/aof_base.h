/* aof_base.h -- the dataset as commands that make it: the base of an append-only file where it is to be no snapshot.
 *
 * Threads     who has main's role, or the only thread of a child; nothing of the dataset is written to.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_AOF_BASE_H
#define PERSIST_AOF_BASE_H

#include "object.h"
#include "rdb_writer.h"

/* Before all: the time, where aof-timestamp-enabled wants it, and function libraries. */
void aofBaseWriteHead(rdbWriter *out);
/* Before the keys of a database that has some. */
void aofBaseWriteDb(rdbWriter *out, int dbid);
/* A key with its value and its time. */
void aofBaseWriteKey(rdbWriter *out, const robj *o);

#endif
