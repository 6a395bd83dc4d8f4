/* pause.c -- CLIENT PAUSE: hold back commands of clients for a while.
 *
 * A paused client keeps its parsed commands; net stops executing them when processCommand() says
 * POSTPONED, and takes the client up again from pauseTakeReleased(). So it is with one whose command has waited for a
 * key, which has come: callServeBlocked() holds it, callResumeHeld() runs it.
 *
 * Owns        the list of postponed clients (the clients are the client layer's).
 * Threads     main.
 * Tests       tests/engine/client.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "pause.h"

#include "client_describe.h"
#include "command_table.h"

#include "adlist.h"
#include "clock.h"
#include "panic.h"
#include "transaction_queue.h"

static struct {
    pauseKind kind[PAUSE_REASONS];
    int64_t end_ms[PAUSE_REASONS];
    list *postponed;
    size_t slot; /* const after boot: the client's node in that list, while CLIENT_PAUSED is set */
} pauses;

bool pause_any;

static void setAny(bool any) {
    pause_any = any;
    gateArm(GATE_PAUSE, any);
}

void pauseClients(pauseReason why, pauseKind kind, int64_t end_wall_ms) {
    assertMainRole();
    debugAssert(why < PAUSE_REASONS && kind != PAUSE_NONE && end_wall_ms > 0);
    if (pauses.kind[why] < kind) pauses.kind[why] = kind;
    if (pauses.end_ms[why] < end_wall_ms) pauses.end_ms[why] = end_wall_ms;
    setAny(true);
}

void unpauseClients(pauseReason why) {
    assertMainRole();
    pauses.kind[why] = PAUSE_NONE;
    pauses.end_ms[why] = 0;
}

/* The reason with the strictest kind still in force, or -1. */
static int strictest(void) {
    int best = -1;
    int64_t now = 0;
    for (int i = 0; i < PAUSE_REASONS; i++) {
        if (pauses.kind[i] == PAUSE_NONE) continue;
        if (!now) now = clockWallMs();
        if (pauses.end_ms[i] <= now) {
            unpauseClients((pauseReason)i);
            continue;
        }
        if (best < 0 || pauses.kind[i] > pauses.kind[best]) best = i;
    }
    setAny(best >= 0);
    return best;
}

pauseKind pauseNow(void) {
    assertMainRole();
    int i = strictest();
    return i < 0 ? PAUSE_NONE : pauses.kind[i];
}

bool pauseHoldsDataset(void) {
    assertMainRole();
    return pauseInForce() != PAUSE_NONE;
}

int64_t pauseEndsInMs(void) {
    assertMainRole();
    int i = strictest();
    return i < 0 || pauses.end_ms[i] == PAUSE_WITHOUT_END ? 0 : pauses.end_ms[i] - clockWallMs();
}

const char *pauseReasonText(void) {
    assertMainRole();
    static const char *const names[] = {"client_pause", "shutdown_in_progress", "failover_in_progress", "slow_disk",
                                        "slow_replica"};
    static_assert(array_len(names) == PAUSE_REASONS, "a name for each reason");
    int i = strictest();
    return i < 0 ? "none" : names[i];
}

const char *pauseActionsText(void) {
    assertMainRole();
    switch (pauseInForce()) {
    case PAUSE_ALL: return "all";
    case PAUSE_WRITES: return "write";
    case PAUSE_NONE: break;
    }
    return "none";
}

static listNode **nodeOf(const client *c) {
    return clientSlot(c, pauses.slot);
}

static void postpone(client *c) {
    if (!pauses.postponed) pauses.postponed = listCreate();
    debugAssert(!(c->flags & CLIENT_PAUSED) == !*nodeOf(c));
    if (c->flags & CLIENT_PAUSED) return;
    c->flags |= CLIENT_PAUSED;
    listAddNodeTail(pauses.postponed, c);
    *nodeOf(c) = listLast(pauses.postponed);
}

/* In a pause of all, CLIENT UNPAUSE waits too: only one of writes can be ended early. Who feeds on commands is not
 * paused; who feeds this server is, whatever comes: it is one stream. */
bool pauseHolds(client *c, uint32_t command_flags) {
    assertMainRole();
    pauseKind kind = pauseInForce();
    if (kind == PAUSE_NONE || c->flags & CLIENT_REPLICA) return false;
    if (kind != PAUSE_ALL && !(command_flags & (CMD_WRITE | CMD_MAY_REPLICATE))) return false;
    postpone(c);
    return true;
}

gateResult pauseGate(client *c) {
    /* A primary's stream may hold what is no command. */
    uint32_t flags = c->flags & CLIENT_PRIMARY ? CMD_WRITE : commandFlagsNow(c);
    return pauseHolds(c, flags) ? GATE_POSTPONED : GATE_PASSED;
}

static void shown(const client *c, clientInfoExtra *extra) {
    if (c->flags & CLIENT_PAUSED) extra->pause_ended = pauseInForce() == PAUSE_NONE;
}

void pauseInit(void) {
    assertMainRole();
    pauses.slot = clientSlotRegister(sizeof(listNode *));
    clientOnInfo(shown);
}

void pauseForget(client *c) {
    assertMainRole();
    if (!(c->flags & CLIENT_PAUSED)) return;
    c->flags &= ~CLIENT_PAUSED;
    serverAssert(listNodeValue(*nodeOf(c)) == c);
    listDelNode(pauses.postponed, *nodeOf(c));
    *nodeOf(c) = NULL;
}

size_t pausePostponed(void) {
    assertMainRole();
    return pauses.postponed ? listLength(pauses.postponed) : 0;
}

client *pauseTakeReleased(void) {
    assertMainRole();
    if (pauseInForce() != PAUSE_NONE || pausePostponed() == 0) return NULL;
    client *c = listNodeValue(listFirst(pauses.postponed));
    pauseForget(c);
    return c;
}
