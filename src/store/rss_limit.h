/* rss_limit.h -- maxmemory-rss-percent: lets maxmemory limit resident memory, too.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef STORE_RSS_LIMIT_H
#define STORE_RSS_LIMIT_H

#include "platform.h"

/* Call once a second: measures resident memory, and lowers or raises the limit for used memory. Returns whether the
 * limit is below maxmemory, so that eviction may be due. */
bool rssLimitTick(void);
/* Returns the limit that is in force in place of maxmemory: SIZE_MAX if that itself is. One load. */
extern size_t rss_limit_bytes; /* set by rssLimitTick() */
static inline size_t rssLimitBytes(void) { return rss_limit_bytes; }
/* Returns the resident memory that maxmemory-rss-percent allows; 0: any. */
size_t rssLimitTarget(void);

/* --- its parts, for tests --------------------------------------------------------------------------------- */
typedef struct rssLimitInput {
    size_t maxmemory, target; /* of used memory, of resident memory */
    size_t used, rss;
    bool held; /* a child shares the pages: what is freed now returns nothing */
} rssLimitInput;
typedef struct rssLimit {
    size_t bytes;               /* the limit for used memory; 0: maxmemory */
    unsigned over_s, rest_s;    /* seconds above the target in a row; until the limit may be lowered again */
    size_t used_then, rss_then; /* when it was lowered last; 0: not since resident memory was below the target */
} rssLimit;
/* Computes the limit for the next second. Returns true if free pages should be given back, and gaps closed: resident
 * memory is above the target, or was until the limit fell. */
bool rssLimitStep(rssLimit *l, const rssLimitInput *in);

#endif
