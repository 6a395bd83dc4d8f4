/* rebalance.h -- moves connections between threads, as the load requires.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_REBALANCE_H
#define NET_REBALANCE_H

#include "client_io.h"
#include "clock.h"
#include "main_policy.h"

/* Gives a new connection its first owner thread. */
void rebalanceAdopt(clientIo *s);
/* Moves a connection after its handshake (IO_MSG_HANDSHAKEN) to the thread that is to read it. */
void rebalanceHandshaken(clientIo *s);
/* Call when a connection has left its owner thread (IO_MSG_LEFT): gives it to the next one, or closes it if its client
 * is freed. */
void rebalanceLeft(clientIo *s);
/* Takes the connection from its owner thread and gives it to no other until rebalanceAttach(). It is detached when
 * `detached_here` is set (by IO_MSG_LEFT); until rebalanceAttach() it counts as moving. */
void rebalanceDetach(clientIo *s);
/* Gives a detached connection its next owner thread, or closes it if its client is freed. */
void rebalanceAttach(clientIo *s);
/* Keeps output for a connection that moves (takes ownership of the chain, which is counted): the next owner thread gets
 * it, in the order of these calls. */
void rebalanceKeepOutput(clientIo *s, replyBlock *chain);
/* Forgets a connection that is closed (IO_MSG_CLOSED). */
void rebalanceRemove(clientIo *s);
/* Checks the load, at most every few milliseconds; cheap enough for each iteration. */
void rebalanceCheck(monotime now, const mainLoad *load);
/* Call ten times a second: checks whether the number of processors has changed. For main's own thread. */
void rebalanceCron(void);
/* Sets the number of processors until the next check. */
void rebalanceProcessors(int n);
/* Applies io-threads and io-threads-always-active. */
void rebalanceApply(void);
/* Returns how many threads take part now, main's own included. */
int rebalanceActiveThreads(void);
/* Returns how many connections were moved since startup because of load, or because their thread must not own any
 * more. */
uint64_t rebalanceMoves(void);
/* Returns whether the thread owns no connection and none moves to it or from it. */
bool rebalanceIsIdle(const struct ioThread *t);
/* Returns whether all threads that may take part do, and have hardly any time left. */
bool rebalanceIsFull(void);

#endif
