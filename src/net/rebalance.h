/* rebalance.h -- which thread holds which stream, as the load asks for.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_REBALANCE_H
#define NET_REBALANCE_H

#include "io_threads.h"

/* A stream for a new connection: give it its first holder. */
void rebalanceAdopt(clientStream *s);
/* The stream has left its holder (MSG_LEFT): hand it to the next, or close it if its client is gone. */
void rebalanceLeft(clientStream *s);
/* The stream is gone (MSG_GONE). */
void rebalanceForget(clientStream *s);
/* Look at the load, at most every few milliseconds; cheap to call each turn. `main_busy_ns`: time main has worked so
 * far. */
void rebalanceCheck(monotime now, uint64_t main_busy_ns);
/* io-threads or io-threads-always-active has changed. */
void rebalanceApply(void);
/* Threads that take part now, main included: io_threads_active. */
int rebalanceActiveThreads(void);

#endif
