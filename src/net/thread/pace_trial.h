/* pace_trial.h -- a change that may pay or not is made, and kept if more is done per second than before.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_PACE_TRIAL_H
#define NET_PACE_TRIAL_H

#include "platform.h"

/* What has been done in some time. */
typedef struct pace {
    long long commands;
    uint64_t ns;
} pace;

void paceAdd(pace *sum, pace window);

/* All zero at first. The functions below change it, in one thread at a time. */
typedef struct paceTrial {
    bool under_way;
    int percent;         /* of what was done before: what pays */
    pace before, during; /* during: of windows that count */
    uint64_t gone_ns;    /* since the change */
    uint64_t rest_ns;    /* after the last one that failed; 0: the last one has paid */
    uint64_t rested_ns;  /* of it */
} paceTrial;

typedef enum {
    TRIAL_NONE,    /* none is under way */
    TRIAL_GOES_ON, /* it is too early to say */
    TRIAL_PAYS,    /* it is over: the change stays */
    TRIAL_FAILED,  /* it is over: undo the change */
} trialState;

/* None is under way, and the last one that failed is long enough ago. */
bool paceTrialMayBegin(const paceTrial *t);
/* The change is made now. `before`: what was done without it, not nothing; `percent` of that rate it has to reach. */
void paceTrialBegin(paceTrial *t, pace before, int percent);
/* A window is over, of whatever length; all windows are to be told, whether one is under way or not. */
trialState paceTrialWindow(paceTrial *t, pace window);
/* The change is undone, or has lost its sense, for another reason: nothing follows from it. */
void paceTrialForget(paceTrial *t);

#endif
