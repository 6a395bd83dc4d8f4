/* pause.h -- CLIENT PAUSE and other pauses: keep commands of clients back for a while.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_PAUSE_H
#define ENGINE_PAUSE_H

#include "gates.h"

typedef enum { PAUSE_NONE, PAUSE_WRITES, PAUSE_ALL } pauseKind;
/* Reasons for a pause. Each has its own kind and end; the strictest kind in force applies. */
typedef enum {
    PAUSE_BY_CLIENT_COMMAND,
    PAUSE_DURING_SHUTDOWN,
    PAUSE_DURING_FAILOVER,
    PAUSE_FOR_DISK,    /* the disk is slower than the log grows */
    PAUSE_FOR_REPLICA, /* a replica is slower than the replication stream grows */
    PAUSE_REASONS
} pauseReason;

#define PAUSE_WITHOUT_END INT64_MAX /* until unpauseClients() */

/* Call at startup. */
void pauseInit(void);
/* Begins a pause for that reason, or extends it: a later end or a stricter kind replaces the one in force for that
 * reason. The end is a time of the wall clock in ms. */
void pauseClients(pauseReason why, pauseKind kind, int64_t end_wall_ms);
/* Ends the pause for that reason. */
void unpauseClients(pauseReason why);
extern bool pause_any; /* set while a pause may be in force; pauseNow() clears it */
/* Returns the strictest kind in force, by the clock. */
pauseKind pauseNow(void);
/* Does the same; reads the clock only if there may be a pause. */
static inline pauseKind pauseInForce(void) { return likely(!pause_any) ? PAUSE_NONE : pauseNow(); }
/* Returns whether the store may not expire or evict keys: every pause keeps the dataset as it is, so that it is the
 * same on both servers of a failover. */
bool pauseHoldsDataset(void);
/* Returns the time until the pause in force ends; 0 without a pause or without an end. */
int64_t pauseEndsInMs(void);
/* Return the INFO fields paused_reason ("none", "client_pause" ...) and paused_actions ("none", "write", "all"). */
const char *pauseReasonText(void);
const char *pauseActionsText(void);

/* The check function of GATE_PAUSE, which is enabled while a pause may be in force: postpones the client's command
 * until the pause has ended. */
gateResult pauseGate(client *c);
/* Returns whether a pause keeps back a command with these flags (commandFlags()); then `c` is postponed. */
bool pauseHolds(client *c, uint32_t command_flags);
/* Call when a client is freed: it is postponed no more. */
void pauseForget(client *c);
/* Returns the number of postponed clients. */
size_t pausePostponed(void);
/* Returns the next postponed client whose commands may run; NULL while the pause lasts or if there is none. Net calls
 * it until it returns NULL, before it sleeps. */
client *pauseTakeReleased(void);

#endif
