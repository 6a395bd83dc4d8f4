/* repl_cron.h -- periodic work of replication, and its work before output is sent.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPL_REPL_CRON_H
#define REPL_REPL_CRON_H

#include <stdint.h>

/* Does the periodic work of replication. Call at each tick, on main's own thread. */
void replTick(void);
/* Appends REPLCONF GETACK to the replication stream, so that replicas send acknowledgments at once. */
void replAskForAcks(void);
/* Sets how long the offset of a dual-channel replica is kept after it has received the dataset, if its other connection
 * does not request the replication stream. */
void replSetCursorGrace(uint64_t seconds);
/* Sends replicas the new bytes of the replication stream. Call before output is sent. */
void replFeed(void);

#endif
