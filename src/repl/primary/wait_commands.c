/* wait_commands.c -- WAIT and WAITAOF: a client waits until its writes are safe.
 *
 * On this server's disk, a client's writes are safe when the append-only file is synced up to the end of its last write
 * (propagateWriteEnd()). While the file is being turned on, nothing is safe yet. A replica has the writes, in memory or
 * on its disk, when it has acknowledged the replication offset of the last write.
 *
 * Not here    syncing the file (persist/aof/aof_thread.c), receiving acknowledgments (psync.c), blocking and timeouts
 *             (engine/wait/blocking.c).
 * Owns        the waits.
 * Threads     main.
 * Invariants  1. `waits.first` has each client that one of these commands blocks, once.
 * Tests       tests/persist/waitaof.tcl, tests/repl/wait.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "wait_commands.h"

#include "aof.h"
#include "blocking.h"
#include "panic.h"
#include "primary_link.h"
#include "propagate.h"
#include "replicas.h"
#include "reply.h"
#include "zmalloc.h"

#define WAITS_CHECKED 64

typedef struct safetyWait {
    holdEntry synced; /* first, so that its address is that of the wait */
    client *c;        /* borrowed */
    bool on_disks;    /* WAITAOF */
    bool local;       /* waits for this server's disk, too */
    long long replicas;
    bool log_off; /* the log was turned off during the wait */
    struct safetyWait *prev, *next;
} safetyWait;

static struct {
    safetyWait *first; /* own; the client's blockingState refers to its wait as well */
    bool wants_acks;   /* see waitWantsAcks() */
} waits;

/* Asserts the invariant for the first waits of the list. */
static void waitsCheck(void) {
#ifdef DEBUG_ASSERTIONS
    int left = WAITS_CHECKED;
    debugAssert(!waits.first || !waits.first->prev);
    for (const safetyWait *w = waits.first; w && left-- > 0; w = w->next) {
        debugAssert(w->c->flags & CLIENT_BLOCKED);
        debugAssert(!w->next || w->next->prev == w);
        debugAssert(w->local ? w->on_disks : w->on_disks || w->replicas > 0);
    }
#endif
}

static size_t replicasThatHave(const client *c, bool on_disks) {
    uint64_t offset = propagateWriteEnd(c, PROPAGATE_REPLICAS);
    return on_disks ? replicasSynced(offset) : replicasAcked(offset);
}

static bool isSafe(const client *c, bool on_disks, bool local, long long replicas) {
    if (local && !aofIsSynced(propagateWriteEnd(c, PROPAGATE_AOF))) return false;
    return replicas <= 0 || replicasThatHave(c, on_disks) >= (size_t)replicas;
}

static void replyLogOff(client *c) {
    addReplyError(c, "WAITAOF cannot be used when numlocal is set but appendonly is disabled.");
}

/* Replies how many disks or replicas have the client's writes. */
static void replyNumbers(client *c, bool on_disks) {
    if (on_disks) {
        addReplyArrayLen(c, 2);
        addReplyLongLong(c, aofIsSynced(propagateWriteEnd(c, PROPAGATE_AOF)));
    }
    addReplyLongLong(c, (long long)replicasThatHave(c, on_disks));
}

static void replySafe(client *c, void *wait) {
    const safetyWait *w = wait;
    if (w->log_off) replyLogOff(c);
    else replyNumbers(c, w->on_disks);
}

static void forgetWait(client *c, void *wait) {
    safetyWait *w = wait;
    holdCancel(&w->synced);
    if (w->prev) w->prev->next = w->next;
    else waits.first = w->next;
    if (w->next) w->next->prev = w->prev;
    debugAssert(w->c == c);
    unused(c);
    zfree(w);
}

static void pollWait(safetyWait *w) {
    if (isSafe(w->c, w->on_disks, w->local, w->replicas)) blockingEnd(w->c, NULL);
}

static void isSynced(holdEntry *synced) { pollWait((safetyWait *)synced); }

static void waitForDisk(safetyWait *w) {
    if (w->local && aofIsOn()) aofWhenSynced(&w->synced, propagateWriteEnd(w->c, PROPAGATE_AOF), isSynced);
}

static void waitBegin(client *c, bool on_disks, bool local, long long replicas, int64_t deadline_ms) {
    static const blockOwner owner = {.reply = replySafe, .forget = forgetWait};
    safetyWait *w = zcalloc(1, sizeof(*w));
    w->c = c;
    w->on_disks = on_disks;
    w->local = local;
    w->replicas = replicas;
    w->next = waits.first;
    if (waits.first) waits.first->prev = w;
    waits.first = w;
    waits.wants_acks |= replicas > 0;
    blockOnOwner(c, &owner, w, deadline_ms);
    waitForDisk(w);
    waitsCheck();
}

/* ---- Events during a wait ---- */

static void pollAll(void) {
    for (safetyWait *w = waits.first, *next; w; w = next) {
        next = w->next;
        if (w->replicas > 0) pollWait(w);
    }
    waitsCheck();
}

/* Called when the log that was being turned on is complete. Earlier writes are in its first base file. */
static void logBegins(void) {
    for (safetyWait *w = waits.first, *next; w; w = next) {
        next = w->next;
        if (!w->local) continue;
        if (isSafe(w->c, w->on_disks, true, w->replicas)) blockingEnd(w->c, NULL);
        else waitForDisk(w);
    }
}

/* Called before the log stops, which ends the notifications of what is synced. If it is being turned off, the clients
 * that wait for it get an error. Otherwise it is suspended, or the server ends and closes all connections. */
static void logStops(void) {
    for (safetyWait *w = waits.first, *next; w; w = next) {
        next = w->next;
        holdCancel(&w->synced);
        if (aofIsEnabled() || !w->local) continue;
        w->log_off = true;
        blockingEnd(w->c, NULL);
    }
    waitsCheck();
}

void waitWantAcks(void) { waits.wants_acks = true; }

bool waitWantsAcks(void) { return waits.wants_acks; }

void waitAcksRequested(void) { waits.wants_acks = false; }

void waitCommandsInit(void) {
    assertMainRole();
    aofOnBegin(logBegins);
    aofOnStop(logStops);
    replicasOnAck(pollAll);
}

/* ---- Commands ---- */

void waitCommand(client *c) {
    assertMainRole();
    long long replicas;
    int64_t deadline_ms;
    if (primaryLinkIsOn()) {
        addReplyError(c, "WAIT cannot be used with replica instances. Please also note that if a replica is configured "
                         "to be writable (which is not the default) writes to replicas are just local and are not "
                         "propagated.");
        return;
    }
    if (!getLongLongFromArg(c, 1, &replicas, NULL)) return;
    if (!getTimeoutMsFromArg(c, 2, &deadline_ms)) return;
    if (isSafe(c, false, false, replicas) || c->flags & CLIENT_DENY_BLOCKING) replyNumbers(c, false);
    else waitBegin(c, false, false, replicas, deadline_ms);
}

void waitaofCommand(client *c) {
    assertMainRole();
    long long local, replicas;
    int64_t deadline_ms;
    if (primaryLinkIsOn()) {
        addReplyError(c, "WAITAOF cannot be used with replica instances. Please also note that writes to replicas are "
                         "just local and are not propagated.");
        return;
    }
    if (!getRangeLongFromArg(c, 1, 0, 1, &local, NULL)) return;
    if (!getPositiveLongFromArg(c, 2, &replicas, NULL)) return;
    if (!getTimeoutMsFromArg(c, 3, &deadline_ms)) return;
    if (local && !aofIsOn() && !aofIsTurningOn()) {
        replyLogOff(c);
        return;
    }
    bool there = isSafe(c, true, local, replicas);
    if (there || c->flags & CLIENT_DENY_BLOCKING) replyNumbers(c, true);
    else waitBegin(c, true, local, replicas, deadline_ms);
}
