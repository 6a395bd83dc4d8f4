/* rdb_copier.h -- a thread that copies a snapshot to the connections of replicas.
 *
 * The thread reads a file, or the pipe into which a child writes, and writes to one connection or several, which no
 * other thread touches meanwhile. The slowest connection limits the speed; a connection that fails is skipped from then
 * on.
 *
 * Runs on: main's own thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPL_RDB_COPIER_H
#define REPL_RDB_COPIER_H

#include "connection.h"

typedef struct rdbCopier rdbCopier;

/* Begins to copy `source` (takes ownership of the descriptor) to `count` connections, borrowed until rdbCopierEnd():
 * `length` bytes, or all if it is 0. The thread calls `done` at its end. A connection that accepts no byte for
 * `timeout_s` seconds has failed. If no thread can be started, closes `source` and returns NULL with errno. */
rdbCopier *rdbCopierStart(int source, uint64_t length, connection **conns, size_t count, unsigned timeout_s,
                          void (*done)(void)) must_check;
/* Stops writing to connection `i`, which counts as failed. */
void rdbCopierCancel(rdbCopier *t, size_t i);
/* Returns whether the thread has ended. */
bool rdbCopierIsOver(const rdbCopier *t);
/* Returns the time (monotonic, in ms) since which connection `i` has accepted no byte, while there are some for it, or
 * 0. The thread may be running. */
uint64_t rdbCopierFullSince(const rdbCopier *t, size_t i);
/* Returns whether the whole source was written to connection `i`. Call when the thread has ended. */
bool rdbCopierSucceeded(const rdbCopier *t, size_t i);
/* Returns the bytes that all copiers have written since startup. Any thread. */
uint64_t rdbCopiersSent(void);
/* Waits for the end of the thread and frees the copier. */
void rdbCopierEnd(rdbCopier *t);

#endif
