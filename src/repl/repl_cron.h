/* repl_cron.h -- what replication does by the clock, and before output leaves.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPL_REPL_CRON_H
#define REPL_REPL_CRON_H

#include <stdint.h>

/* Each tick; main's own thread. */
void replTick(void);
/* Replicas are to say how far they are. */
void replAskForAcks(void);
/* For so long a place in the stream is held for who has got the dataset and has yet to ask for it. */
void replSetCursorGrace(uint64_t seconds);
/* Before output leaves: replicas are sent what is new. */
void replFeed(void);

#endif
