/* throughput_trial.h -- a change that may pay or not is made, and kept if more is done per second than before.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_THROUGHPUT_TRIAL_H
#define NET_THROUGHPUT_TRIAL_H

#include "platform.h"

/* What has been done in some time. */
typedef struct throughput {
    long long commands;
    uint64_t ns;
} throughput;

void throughputAdd(throughput *sum, throughput window);

/* All zero at first. The functions below change it, in one thread at a time. */
typedef struct throughputTrial {
    bool under_way;
    int percent;               /* of what was done before: what pays */
    throughput before, during; /* during: of windows that count */
    uint64_t gone_ns;          /* since the change */
    uint64_t rest_ns;          /* after the last one that failed; 0: the last one has paid */
    uint64_t rested_ns;        /* of it */
} throughputTrial;

typedef enum {
    TRIAL_NONE,    /* none is under way */
    TRIAL_GOES_ON, /* it is too early to say */
    TRIAL_PAYS,    /* it is over: the change stays */
    TRIAL_FAILED,  /* it is over: undo the change */
} trialState;

/* None is under way, and the last one that failed is long enough ago. */
bool throughputTrialMayBegin(const throughputTrial *t);
/* The change is made now. `before`: what was done without it, not nothing; `percent` of that rate it has to reach. */
void throughputTrialBegin(throughputTrial *t, throughput before, int percent);
/* A window is over, of whatever length; all windows are to be told, whether one is under way or not. */
trialState throughputTrialWindow(throughputTrial *t, throughput window);
/* The change is undone, or has lost its sense, for another reason: nothing follows from it. */
void throughputTrialForget(throughputTrial *t);

#endif
