/* wait_commands.c -- WAIT and WAITAOF: a client waits until its writes are safe.
 *
 * On the disk of this server a client's writes are safe when the append-only file is synced up to the end of the last
 * of them (client.write_offset), and is there: not while it is being turned on. No replica is ever connected: none has
 * received anything, and who waits for one waits until its time is over.
 *
 * Not here    when the file is synced (aof_thread.c), how long clients wait (engine/blocking.c).
 * Owns        the waits of those who wait for the disk.
 * Threads     main.
 * Invariants  1. `waits` has each client that WAITAOF keeps waiting for the disk, once.
 * Tests       tests/persist/waitaof.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "wait_commands.h"

#include "aof.h"
#include "block_args.h"
#include "panic.h"
#include "persist_settings.h"
#include "reply.h"
#include "zmalloc.h"

typedef struct diskWait {
    holdWaiter synced; /* first: its address is the wait's */
    client *c;         /* borrowed */
    bool for_disk;     /* and for nothing else */
    bool log_off;      /* the log was turned off meanwhile */
    struct diskWait *prev, *next;
} diskWait;

static diskWait *waits; /* own; of which client: its blockingState knows */

static void replyLogOff(client *c) {
    addReplyError(c, "WAITAOF cannot be used when numlocal is set but appendonly is disabled.");
}

/* How many have what the client has written: of this server's disk (0 or 1), and of replicas. */
static void replySafe(client *c, void *wait) {
    const diskWait *w = wait;
    if (w && w->log_off) {
        replyLogOff(c);
        return;
    }
    addReplyArrayLen(c, 2);
    addReplyLongLong(c, aofIsSynced(c->write_offset));
    addReplyLongLong(c, 0);
}

static void forgetWait(client *c, void *wait) {
    unused(c);
    diskWait *w = wait;
    if (!w) return;
    holdCancel(&w->synced);
    if (w->prev) w->prev->next = w->next;
    else waits = w->next;
    if (w->next) w->next->prev = w->prev;
    zfree(w);
}

static const blockOwner waitaof_owner = {.reply = replySafe, .forget = forgetWait};

static diskWait *addWait(client *c, bool for_disk) {
    diskWait *w = zcalloc(1, sizeof(*w));
    w->c = c;
    w->for_disk = for_disk;
    w->next = waits;
    if (waits) waits->prev = w;
    waits = w;
    return w;
}

static void isSynced(holdWaiter *synced) {
    blockingEnd(((diskWait *)synced)->c, NULL);
}

static void waitForDisk(diskWait *w) {
    if (w->for_disk && aofIsOn()) aofWhenSynced(&w->synced, w->c->write_offset, isSynced);
}

/* It was being turned on. What was written before its first base is in that. */
static void logBegins(void) {
    diskWait *next;
    for (diskWait *w = waits; w; w = next) {
        next = w->next;
        if (w->for_disk && aofIsSynced(w->c->write_offset)) blockingEnd(w->c, NULL);
        else waitForDisk(w);
    }
}

void waitaofCommand(client *c) {
    assertMainRole();
    long long local, replicas;
    int64_t deadline_ms;
    if (!getRangeLongFromArg(c, 1, 0, 1, &local, NULL)) return;
    if (!getPositiveLongFromArg(c, 2, &replicas, NULL)) return;
    if (!getTimeoutMsFromArg(c, 3, &deadline_ms)) return;
    if (local && !aofIsOn() && !aofIsTurningOn()) {
        replyLogOff(c);
        return;
    }
    bool there = replicas == 0 && (!local || aofIsSynced(c->write_offset));
    if (there || c->flags & CLIENT_DENY_BLOCKING) {
        replySafe(c, NULL);
        return;
    }
    diskWait *w = local ? addWait(c, replicas == 0) : NULL;
    blockUntilTold(c, &waitaof_owner, w, deadline_ms);
    if (w) waitForDisk(w);
}

/* The log is about to stop: turned off, and nobody will know any more what is safe; or the server ends, and with it all
 * connections. */
static void logStops(void) {
    diskWait *next;
    for (diskWait *w = waits; w; w = next) {
        next = w->next;
        holdCancel(&w->synced);
        if (persist_settings.appendonly) continue;
        w->log_off = true;
        blockingEnd(w->c, NULL);
    }
}

static void replyNoReplicas(client *c, void *wait) {
    unused(wait);
    addReplyLongLong(c, 0);
}

static void forgetNothing(client *c, void *wait) {
    unused(c), unused(wait);
}

static const blockOwner wait_owner = {.reply = replyNoReplicas, .forget = forgetNothing};

void waitCommand(client *c) {
    assertMainRole();
    long long replicas;
    int64_t deadline_ms;
    if (!getLongLongFromArg(c, 1, &replicas, NULL)) return;
    if (!getTimeoutMsFromArg(c, 2, &deadline_ms)) return;
    if (replicas <= 0 || c->flags & CLIENT_DENY_BLOCKING) replyNoReplicas(c, NULL);
    else blockUntilTold(c, &wait_owner, NULL, deadline_ms);
}

void waitCommandsInit(void) {
    aofOnBegin(logBegins);
    aofOnStop(logStops);
}
