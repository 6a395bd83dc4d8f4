/* rdb_copier.h -- a thread that copies a snapshot to the connections of replicas.
 *
 * It reads a file, or what a child writes into a pipe, and writes it to one connection or several, which it has for
 * itself meanwhile. The slowest sets the pace; one that fails is left out.
 *
 * Runs on: main's own thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPL_RDB_COPIER_H
#define REPL_RDB_COPIER_H

#include "connection.h"

typedef struct rdbCopier rdbCopier;

/* Begin to copy `source` (takes the descriptor), to its end or `length` bytes (0: to its end), to `count` connections
 * (borrowed until rdbCopierEnd()). `done`, on the thread, says that it has ended. A connection that takes nothing for
 * `timeout_s` has failed. NULL with errno: no thread, and `source` is closed. */
rdbCopier *rdbCopierStart(int source, uint64_t length, connection **conns, size_t count, unsigned timeout_s,
                          void (*done)(void)) must_check;
/* What connection `i` was sent does not matter any more. */
void rdbCopierCancel(rdbCopier *t, size_t i);
/* Whether the thread has ended. */
bool rdbCopierIsOver(const rdbCopier *t);
/* It is over: whether connection `i` has got all there was. */
bool rdbCopierSucceeded(const rdbCopier *t, size_t i);
/* Bytes that all of them have written. */
uint64_t rdbCopiersSent(void);
/* Wait for the thread, and free it. */
void rdbCopierEnd(rdbCopier *t);

#endif
