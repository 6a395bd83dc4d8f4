/* output_share.h -- maxmemory-clients-share: unread output is paid for by the clients that do not read, not by the
 * dataset.
 *
 * Output that waits takes memory: its blocks, and values that only replies still refer to, because their keys were
 * deleted (object_orphan_bytes). Up to a share of maxmemory this counts as all memory does. Beyond the share it counts
 * apart: no key is evicted and no write refused for it. Instead a client's next command waits while its own unread
 * output is above its fair part, which is what the others have left of the share, and never less than
 * OUTPUT_PART_LEAST.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLIENT_OUTPUT_SHARE_H
#define CLIENT_OUTPUT_SHARE_H

#include "platform.h"

extern long long output_share_percent; /* maxmemory-clients-share */
/* At this value all output counts as the dataset does, and no command waits for it. */
#define OUTPUT_SHARE_OFF 100

/* A few writes to a socket: a client that reads is never slowed down by waiting from there on. */
#define OUTPUT_PART_LEAST ((size_t)256 * 1024)

/* Makes evictUncounted() include the unread memory beyond the share. `requests` returns the memory of large
 * requests that have not run yet; NULL if there are none. Call once, at startup. */
void outputShareInit(size_t (*requests)(void));
/* Returns the memory of output that waits, of all clients, and of requests that wait as of the last
 * outputShareMeasure(). */
size_t outputUnread(void);
/* Asks for the memory of requests again. Call at each tick. */
void outputShareMeasure(void);
/* Returns the memory from which on the unread output of one client keeps its next command waiting; SIZE_MAX without
 * maxmemory or share. */
size_t outputFairPart(void);

#endif
