/* slot_states.c -- the open slots of a cluster's primary, in the RDB of a full synchronization.
 *
 * Owns        the recorded text.
 * Threads     main's own.
 * Tests       tests/cluster/setslot.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "slot_states.h"

static struct {
    sds (*make)(void);        /* const after startup; NULL: there is no cluster */
    void (*take)(slice text); /* the same */
    sds recorded;             /* owns; NULL: none */
} states;

void slotStatesInit(sds (*make)(void), void (*take)(slice text)) {
    states.make = make;
    states.take = take;
}

void slotStatesForget(void) {
    sdsFree(states.recorded);
    states.recorded = NULL;
}

void slotStatesRecord(void) {
    slotStatesForget();
    if (states.make) states.recorded = states.make();
}

slice slotStatesRecorded(void) { return states.recorded ? sdsSlice(states.recorded) : sliceOf("", 0); }

void slotStatesLoaded(slice text) {
    if (states.take) states.take(text);
}
