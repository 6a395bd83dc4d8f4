/* db_cmds.c -- commands about whole databases, and TIME.
 *
 * FLUSHALL SYNC promises that the memory is free when it replies, not that all clients wait for it. The databases are
 * empty at once, a thread frees what was in them, and the client is blocked until that is done:
 *
 *   handler: dbEmptyThen() --> thread: frees --> flushFreed() --wakeup--> onFreed(): the reply
 *
 * Not here    SELECT (connection_cmds.c); how a database is emptied (store/db.c).
 * Owns        the waits of FLUSHALL SYNC and FLUSHDB SYNC.
 * Threads     main, except flushFreed(): the background thread.
 * Tests       tests/unit/commands/keyspace/keys_test.c, tests/type/keys.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "db_cmds.h"

#include "blocking.h"
#include "clock.h"
#include "commands.h"
#include "db.h"
#include "panic.h"
#include "script_context.h"
#include "reply.h"
#include "slot_table.h"
#include "zmalloc.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#define US_PER_S 1000000
#define ALL_DBS (-1)

void dbsizeCommand(client *c) { addReplyLongLong(c, (long long)dbSize(c->db)); }

/* Parses [ASYNC|SYNC]. Returns false after an error reply. */
static bool parseFlushMode(client *c, bool *async) {
    *async = store_settings.lazyfree_user_flush;
    if (c->argc == 1) return true;
    bool wants_async = sliceIs(c->argv[1], "async");
    if (c->argc > 2 || (!wants_async && !sliceIs(c->argv[1], "sync"))) return addReplySyntaxError(c);
    *async = wants_async;
    return true;
}

static void (*after_flushall)(void); /* const after startup; may be NULL */

void flushallSetAfter(void (*after)(void)) { after_flushall = after; }

/* ---- SYNC ---- */

typedef struct flushWait {
    bioJob freed;
    client *c;         /* borrowed; NULL: it has been freed, or unblocked */
    _Atomic bool over; /* set by the thread when it has freed everything; published by release */
    struct flushWait *next;
} flushWait;

static struct {
    flushWait *first; /* owns */
    aeWakeup wakeup;
    bool has_wakeup;
} flushes;

/* Runs on the background thread. */
static void flushFreed(void *arg) {
    atomic_store_explicit(&((flushWait *)arg)->over, true, memory_order_release);
    aeWakeupSend(&flushes.wakeup);
}

static void replyFlushed(client *c, void *wait) {
    unused(wait);
    addReplyOk(c);
}

static void forgetFlush(client *c, void *wait) {
    debugAssert(((flushWait *)wait)->c == c);
    unused(c);
    ((flushWait *)wait)->c = NULL;
}

static void onFreed(void) {
    for (flushWait **at = &flushes.first; *at;) {
        flushWait *w = *at;
        if (!atomic_load_explicit(&w->over, memory_order_acquire)) {
            at = &w->next;
            continue;
        }
        *at = w->next;
        if (w->c) blockingEnd(w->c, NULL);
        zfree(w);
    }
}

void flushInit(aeEventLoop *loop) {
    assertMainThread();
    if (aeWakeupOpen(loop, &flushes.wakeup, onFreed) == C_ERR)
        serverPanic("Failed to create an event descriptor: %s", strerror(errno));
    flushes.has_wakeup = true;
}

static bool anyKeys(int dbid) {
    if (dbid != ALL_DBS) return dbSize(dbGet(dbid)) > 0;
    for (int i = 0; i < dbCount(); i++)
        if (dbSize(dbGet(i)) > 0) return true;
    return false;
}

/* A command of a transaction, a script or a primary must not wait. A client with tracking must get the invalidation
 * after the reply, so it has its reply at once. */
static bool mayWait(const client *c) {
    const uint64_t in_one_piece = CLIENT_DENY_BLOCKING | CLIENT_FAKE | CLIENT_PRIMARY | CLIENT_REPLAYS |
                                  CLIENT_RESERVED | CLIENT_TRACKING;
    return flushes.has_wakeup && !(c->flags & in_one_piece);
}

static void flushAndWait(client *c, int dbid) {
    static const blockOwner owner = {.reply = replyFlushed, .forget = forgetFlush};
    flushWait *w = zcalloc(1, sizeof(*w));
    w->c = c;
    w->freed = (bioJob){.fn = flushFreed, .arg = w};
    w->next = flushes.first;
    flushes.first = w;
    dbEmptyThen(dbid, &w->freed);
    blockOnOwner(c, &owner, w, 0);
}

static void flushGeneric(client *c, int dbid) {
    bool async;
    if (!parseFlushMode(c, &async)) return;
    bool waits = !async && anyKeys(dbid) && mayWait(c);
    if (waits) flushAndWait(c, dbid);
    else dbEmpty(dbid, async);
    if (dbid == ALL_DBS && after_flushall) after_flushall();
    if (!waits) addReplyOk(c);
}

void flushdbCommand(client *c) { flushGeneric(c, dbId(c->db)); }
void flushallCommand(client *c) { flushGeneric(c, ALL_DBS); }

/* A client keeps the number of its database, so after SWAPDB it sees the other database's keys. */
void swapdbCommand(client *c) {
    int first, second;
    if (slots_enabled) {
        addReplyError(c, "SWAPDB is not allowed in cluster mode");
        return;
    }
    if (!getIntFromArg(c, 1, &first, "invalid first DB index") ||
        !getIntFromArg(c, 2, &second, "invalid second DB index"))
        return;
    if (!dbSwap(first, second)) {
        addReplyError(c, "DB index is out of range");
        return;
    }
    addReplyOk(c);
}

void timeCommand(client *c) {
    int64_t now_us = scriptContextIsClient(c) ? scriptContextClockUs() : clockWallUs();
    addReplyArrayLen(c, 2);
    addReplyBulkLongLong(c, now_us / US_PER_S);
    addReplyBulkLongLong(c, now_us % US_PER_S);
}
