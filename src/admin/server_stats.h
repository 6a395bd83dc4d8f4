/* server_stats.h -- counters as CONFIG RESETSTAT lets clients see them.
 *
 * Some counters are written by threads that nobody may interrupt, or are read by code that needs them to grow; these
 * are never set back. What is shown is how far they have grown since the last reset.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ADMIN_SERVER_STATS_H
#define ADMIN_SERVER_STATS_H

#include "io_threads.h"

/* ioThreadsTotals() since the reset. */
void statsIoTotals(ioTotals *out);
/* Nanoseconds that a thread (0: main) has worked since the reset; 0 when there is no such thread. */
uint64_t statsActiveNs(unsigned thread);
/* Boot: have CONFIG RESETSTAT reset the counters of all layers. */
void serverStatsRegisterReset(void);

#endif
