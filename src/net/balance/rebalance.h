/* rebalance.h -- which thread holds which stream, as the load asks for.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_REBALANCE_H
#define NET_REBALANCE_H

#include "client_io.h"
#include "clock.h"
#include "main_policy.h"

/* A stream for a new connection: give it its first holder. */
void rebalanceAdopt(clientIo *s);
/* Its handshake is over (IO_MSG_GREETED): give it to the thread that is to read it. */
void rebalanceGreeted(clientIo *s);
/* The stream has left its holder (IO_MSG_LEFT): hand it to the next, or close it if its client is gone. */
void rebalanceLeft(clientIo *s);
/* Take the stream from its holder and give it to no other until rebalanceAttach(): it is lent when `detached_here` is
 * set, by a message that may have to be waited for. Meanwhile it is between two holders. */
void rebalanceDetach(clientIo *s);
void rebalanceAttach(clientIo *s);
/* Output for a stream that is between two holders (takes the chain, which is counted): the next one gets it, in the
 * order of these calls. */
void rebalanceKeepOutput(clientIo *s, replyBlock *chain);
/* The stream is gone (IO_MSG_GONE). */
void rebalanceForget(clientIo *s);
/* Look at the load, at most every few milliseconds; cheap to call each turn. */
void rebalanceCheck(monotime now, const mainLoad *load);
/* Ten times a second, on main's own thread: see whether processors have come or gone. */
void rebalanceCron(void);
/* So many there are, from now on until the next look. */
void rebalanceProcessors(int n);
/* io-threads or io-threads-always-active has changed. */
void rebalanceApply(void);
/* Threads that take part now, main's own included. */
int rebalanceActiveThreads(void);
/* Streams that were moved since the start because of load, or because their thread is to hold none any more. */
uint64_t rebalanceMoves(void);
/* The thread holds no stream, and none is about to leave it. */
bool rebalanceIsIdle(const struct ioThread *t);
/* All threads that may take part do, and have hardly any time left. */
bool rebalanceIsFull(void);

#endif
