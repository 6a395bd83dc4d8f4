/* rdb_copier.h -- a thread that copies a snapshot to the connections of replicas.
 *
 * The thread reads a file, or the pipe that a child writes to, and writes to one connection or several, which no other
 * thread touches meanwhile. The slowest connection limits the speed; one that fails is left out.
 *
 * Runs on: main's own thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPL_RDB_COPIER_H
#define REPL_RDB_COPIER_H

#include "connection.h"

typedef struct rdbCopier rdbCopier;

/* Begins to copy `source` (takes ownership of the descriptor), to its end or `length` bytes (0: to its end), to `count`
 * connections, borrowed until rdbCopierEnd(). `done` is called on the thread when it has ended. A connection that takes
 * no byte for `timeout_s` seconds has failed. Returns NULL with errno if there is no thread, and closes `source`. */
rdbCopier *rdbCopierStart(int source, uint64_t length, connection **conns, size_t count, unsigned timeout_s,
                          void (*done)(void)) must_check;
/* Stops writing to connection `i`, which counts as failed. */
void rdbCopierCancel(rdbCopier *t, size_t i);
/* Returns whether the thread has ended. */
bool rdbCopierIsOver(const rdbCopier *t);
/* Returns whether all of the source was written to connection `i`. Call when the transfer is over. */
bool rdbCopierSucceeded(const rdbCopier *t, size_t i);
/* Returns the bytes that all transfers so far have written. Any thread. */
uint64_t rdbCopiersSent(void);
/* Waits for the thread and frees the transfer. */
void rdbCopierEnd(rdbCopier *t);

#endif
