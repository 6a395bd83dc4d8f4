/* pause.h -- CLIENT PAUSE: hold back commands of clients for a while.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_PAUSE_H
#define ENGINE_PAUSE_H

#include "gates.h"

typedef enum { PAUSE_NONE, PAUSE_WRITES, PAUSE_ALL } pauseKind;
/* Who asked; each has its own end, the strictest kind and latest end win. */
typedef enum {
    PAUSE_BY_CLIENT_COMMAND,
    PAUSE_DURING_SHUTDOWN,
    PAUSE_DURING_FAILOVER,
    PAUSE_FOR_DISK,    /* it does not take the log as fast as it grows */
    PAUSE_FOR_REPLICA, /* it does not take the stream as fast as it grows */
    PAUSE_REASONS
} pauseReason;

#define PAUSE_WITHOUT_END INT64_MAX /* until unpauseClients() */

/* Boot. */
void pauseInit(void);
/* A later end or a stricter kind than the one in force for that reason prevails. */
void pauseClients(pauseReason why, pauseKind kind, int64_t end_wall_ms);
void unpauseClients(pauseReason why);
extern bool pause_any; /* some pause was asked for and may still be in force */
pauseKind pauseNow(void);
/* Looks at the clock only when there is a pause. */
static inline pauseKind pauseInForce(void) {
    return likely(!pause_any) ? PAUSE_NONE : pauseNow();
}
/* In every pause the dataset stands still, so that it is the same at both ends of a switch-over: store asks before it
 * expires or evicts. */
bool pauseHoldsDataset(void);
int64_t pauseEndsInMs(void);        /* 0 when not paused, or without an end */
const char *pauseReasonText(void);  /* "none" "client_pause" ...: INFO paused_reason */
const char *pauseActionsText(void); /* "none" "write" "all": INFO paused_actions */

/* The entry of GATE_PAUSE, armed while some pause may be in force: puts the client aside; it runs on when the pause is
 * over. */
gateResult pauseGate(client *c);
/* The same for a command with these flags (commandFlags()): whether it is held back, and `c` put aside. */
bool pauseHolds(client *c, uint32_t command_flags);
void pauseForget(client *c); /* it is freed */
size_t pausePostponed(void);
/* The next client to go on, NULL while the pause lasts or when there is none. Drained by net before it sleeps. */
client *pauseTakeReleased(void);

#endif
