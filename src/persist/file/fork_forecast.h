/* fork_forecast.h -- what the next fork will cost, computed from the last one and from today's size.
 *
 * Pure: reads no clock, no file and no setting.
 * Threads     any.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_FORK_FORECAST_H
#define PERSIST_FORK_FORECAST_H

#include "platform.h"

/* All of it may be zero. */
typedef struct forkFacts {
    size_t rss, huge;     /* resident now; the part of it in huge pages, which a fork hardly notices */
    double changes_per_s; /* changes of the dataset, recently */
    /* The last fork. */
    size_t forked_rss; /* resident size then; 0: there was none */
    uint64_t fork_us;
    /* The last child that has completed its work. */
    size_t saved_rss; /* at its fork; 0: there was none */
    uint64_t saved_us;
    size_t copied; /* memory that was copied because pages were written to */
    long long changes;
} forkFacts;

typedef struct forkForecast {
    uint64_t stall_us;   /* all clients wait */
    size_t memory;       /* beside today's, if clients write as they did recently */
    size_t memory_limit; /* if they write to every page before the child has ended */
} forkForecast;

forkForecast forkForecastOf(const forkFacts *f);

#endif
