/* throughput_trial.h -- an A/B trial: a change is made, and kept if throughput is high enough with it.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_THROUGHPUT_TRIAL_H
#define NET_THROUGHPUT_TRIAL_H

#include "platform.h"

/* Commands executed in a span of time. */
typedef struct throughput {
    long long commands;
    uint64_t ns;
} throughput;

/* Adds commands and time of a window to a sum. */
void throughputAdd(throughput *sum, throughput window);

/* All zero at first. The functions below change it, in one thread at a time. */
typedef struct throughputTrial {
    bool under_way;
    int percent;               /* of the throughput before: the least that the change must reach */
    throughput before, during; /* during: sum of the windows that count */
    uint64_t elapsed_ns;       /* time since the change */
    uint64_t pause_ns;         /* pause after the last failed trial; 0: the last one succeeded */
    uint64_t paused_ns;        /* part of that pause that has passed */
} throughputTrial;

typedef enum {
    TRIAL_NONE,   /* no trial is under way */
    TRIAL_RUNS,   /* not decided yet */
    TRIAL_PASSED, /* decided: keep the change */
    TRIAL_FAILED, /* decided: undo the change */
} trialState;

/* Returns whether no trial is under way and the pause after the last failed one has passed. */
bool throughputTrialMayBegin(const throughputTrial *t);
/* Begins a trial of a change made now. `before`: throughput without it, over more than 0 ns; the trial succeeds at
 * `percent` of it. */
void throughputTrialBegin(throughputTrial *t, throughput before, int percent);
/* Call at the end of each window, of any length, whether a trial is under way or not. Returns what was decided. */
trialState throughputTrialWindow(throughputTrial *t, throughput window);
/* Ends the trial without a result: the change was undone or became pointless for another reason. */
void throughputTrialCancel(throughputTrial *t);

#endif
