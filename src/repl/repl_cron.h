/* repl_cron.h -- what replication does by the clock, and before output leaves.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPL_REPL_CRON_H
#define REPL_REPL_CRON_H

/* Each tick; main's own thread. */
void replTick(void);
/* Replicas are to say how far they are. */
void replAskForAcks(void);
/* Before output leaves: replicas are sent what is new. */
void replFeed(void);

#endif
