/* transfer.h -- a thread that copies a snapshot to the connections of replicas.
 *
 * It reads a file, or what a child writes into a pipe, and writes it to one connection or several, which it has for
 * itself meanwhile. The slowest sets the pace; one that fails is left out.
 *
 * Runs on: main's own thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPL_TRANSFER_H
#define REPL_TRANSFER_H

#include "connection.h"

typedef struct transfer transfer;

/* Begin to copy `source` (takes the descriptor), to its end or `length` bytes (0: to its end), to `count` connections
 * (borrowed until transferEnd()). `done`, on the thread, says that it has ended. A connection that takes nothing for
 * `timeout_s` has failed. NULL with errno: no thread, and `source` is closed. */
transfer *transferStart(int source, uint64_t length, connection **conns, size_t count, unsigned timeout_s,
                        void (*done)(void)) must_check;
/* What connection `i` was sent does not matter any more. */
void transferCancel(transfer *t, size_t i);
/* Whether the thread has ended. */
bool transferIsOver(const transfer *t);
/* It is over: whether connection `i` has got all there was. */
bool transferSucceeded(const transfer *t, size_t i);
/* Bytes that all of them have written. */
uint64_t transfersSent(void);
/* Wait for the thread, and free it. */
void transferEnd(transfer *t);

#endif
