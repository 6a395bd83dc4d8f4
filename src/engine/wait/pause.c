/* pause.c -- CLIENT PAUSE and other pauses: keep commands of clients back for a while.
 *
 * A paused client keeps its parsed commands: net stops executing them when processCommand() returns CALL_POSTPONED, and
 * resumes the client when pauseTakeReleased() returns it. The same holds for a blocked client whose key has become
 * ready: callServeBlocked() puts it on hold, and callResumeHeld() runs its command.
 *
 * Owns        the list of postponed clients; the client layer owns the clients.
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
    list postponed; /* borrowed clients */
    size_t slot;    /* const after startup: the client's node in that list, while CLIENT_PAUSED is set */
} pauses;

bool pause_any;

static void setAny(bool any) {
    pause_any = any;
    gateEnable(GATE_PAUSE, any);
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

/* Returns the reason with the strictest kind that is still in force, or -1. Ends the pauses whose time has passed. */
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
    static const char *const names[] = {[PAUSE_NONE] = "none", [PAUSE_WRITES] = "write", [PAUSE_ALL] = "all"};
    return names[pauseInForce()];
}

static listNode **nodeOf(const client *c) { return clientSlot(c, pauses.slot); }

static void postpone(client *c) {
    debugAssert(!(c->flags & CLIENT_PAUSED) == !*nodeOf(c));
    if (c->flags & CLIENT_PAUSED) return;
    c->flags |= CLIENT_PAUSED;
    listAddNodeTail(&pauses.postponed, c);
    *nodeOf(c) = listLast(&pauses.postponed);
}

/* A pause of all commands holds CLIENT UNPAUSE, too: only a pause of writes can be ended early. Replicas and monitors
 * are never paused. A primary is, whatever it sends, as its replication stream must stay in order. */
bool pauseHolds(client *c, uint32_t command_flags) {
    assertMainRole();
    pauseKind kind = pauseInForce();
    if (kind == PAUSE_NONE || c->flags & CLIENT_REPLICA) return false;
    if (kind != PAUSE_ALL && !(command_flags & (CMD_WRITE | CMD_MAY_REPLICATE))) return false;
    postpone(c);
    return true;
}

gateResult pauseGate(client *c) {
    /* A primary may also send bytes that are no command. */
    uint32_t flags = c->flags & CLIENT_PRIMARY ? CMD_WRITE : commandFlagsNow(c);
    return pauseHolds(c, flags) ? GATE_POSTPONED : GATE_PASSED;
}

static void pauseClientInfo(const client *c, clientInfoExtra *extra) {
    if (c->flags & CLIENT_PAUSED) extra->pause_ended = pauseInForce() == PAUSE_NONE;
}

void pauseInit(void) {
    assertMainRole();
    pauses.slot = clientSlotRegister(sizeof(listNode *));
    clientOnInfo(pauseClientInfo);
}

void pauseForget(client *c) {
    assertMainRole();
    if (!(c->flags & CLIENT_PAUSED)) return;
    c->flags &= ~CLIENT_PAUSED;
    serverAssert(listNodeValue(*nodeOf(c)) == c);
    listDelNode(&pauses.postponed, *nodeOf(c));
    *nodeOf(c) = NULL;
}

size_t pausePostponed(void) {
    assertMainRole();
    return listLength(&pauses.postponed);
}

client *pauseTakeReleased(void) {
    assertMainRole();
    if (pauseInForce() != PAUSE_NONE || pausePostponed() == 0) return NULL;
    client *c = listNodeValue(listFirst(&pauses.postponed));
    pauseForget(c);
    return c;
}
