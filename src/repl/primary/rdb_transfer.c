/* rdb_transfer.c -- an RDB transfer: one snapshot is sent to one replica, or to several at once.
 *
 *   GATHERS   waits until the output of each target is written and its connection is detached, or the target is lost
 *   RUNS      a thread copies the snapshot to all connections (rdb_copier.c)
 *
 * The states of a target: DRAINS <--> REQUESTED --> DETACHED. In DRAINS its output is being written, in REQUESTED its
 * owner thread has been requested to detach the connection, in DETACHED the connection is detached. It becomes LOST if
 * the replica is freed in DRAINS.
 *
 * Not here    writing the snapshot, and the phases of a replica (full_sync.c).
 * Owns        the transfers; connections while they are detached for one.
 * Threads     main's own.
 * Invariants  1. A detached connection is attached again exactly once, also if the replica was freed meanwhile.
 *             2. A transfer in GATHERS has the source and no thread; in RUNS the thread has the source.
 *             3. The `stream` of a target is set in REQUESTED and DETACHED, its `conn` in DETACHED only. In RUNS each
 *                target is DETACHED or LOST.
 *             4. The timer is set while any transfer is in GATHERS.
 * Tests       tests/repl/sync.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "rdb_transfer.h"

#include "clock.h"
#include "log_limit.h"
#include "panic.h"
#include "repl_settings.h"
#include "conn_detach.h"
#include "rdb_copier.h"
#include "yield.h"
#include "zmalloc.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define POLL_MS 1 /* while connections are waited for */
#define TARGETS_CHECKED 64

typedef enum { TARGET_DRAINS, TARGET_REQUESTED, TARGET_DETACHED, TARGET_LOST } targetState;

typedef struct target {
    targetState state;
    replicaState *r;         /* borrowed; NULL if the replica was freed */
    struct clientIo *stream; /* borrowed in REQUESTED and DETACHED: the client's I/O half; else NULL */
    connection *conn;        /* borrowed in DETACHED; else NULL */
    size_t outlet;           /* its index in `copies` */
} target;

typedef struct rdbTransfer {
    struct rdbTransfer *next;
    int source;        /* owns in GATHERS; then -1 */
    uint64_t length;   /* 0 for all bytes of the source */
    uint64_t since_ms; /* monotonic: when it began to gather */
    rdbCopier *copies; /* owns in RUNS; NULL in GATHERS */
    rdbTransferEnds ends;
    size_t count;
    target targets[];
} rdbTransfer;

static struct {
    aeEventLoop *loop; /* borrowed */
    aeWakeup wakeup;   /* sent when the thread of a transfer has ended */
    bool timer_set;
    rdbTransfer *all; /* own */
} transfers;

static void checkTarget(const rdbTransfer *s, const target *p) {
    debugAssert(!p->stream == (p->state == TARGET_DRAINS || p->state == TARGET_LOST));
    debugAssert(!p->conn == (p->state != TARGET_DETACHED));
    debugAssert(p->state != TARGET_LOST || !p->r);
    debugAssert(s->source >= 0 || p->state >= TARGET_DETACHED);
    debugAssert(!s->copies || p->outlet < s->count);
    unused(s), unused(p);
}

/* Asserts the invariants. Call where no function of this file is in the middle of a change. */
static void transfersCheck(void) {
#ifdef DEBUG_ASSERTIONS
    for (const rdbTransfer *s = transfers.all; s; s = s->next) {
        debugAssert((s->source >= 0) == !s->copies);
        debugAssert(s->source < 0 || transfers.timer_set);
        for (size_t i = 0; i < s->count && i < TARGETS_CHECKED; i++) checkTarget(s, &s->targets[i]);
    }
#else
    unused(checkTarget);
#endif
}

/* ---- Gathering ---- */

static void drain(target *p) {
    debugAssert(!p->stream && !p->conn);
    if (p->r->c->output_bytes) return;
    p->stream = connDetachBegin(p->r->c);
    if (p->stream) p->state = TARGET_REQUESTED;
}

static void pollDetach(target *p) {
    switch (connDetachPoll(p->stream, &p->conn)) {
    case DETACH_PENDING: return;
    case DETACH_DONE: p->state = TARGET_DETACHED; return;
    case DETACH_REFUSED:
        p->stream = NULL;
        p->state = TARGET_DRAINS;
        return;
    }
}

/* Moves a target on to its next states if it is ready for them. Returns whether it is neither DETACHED nor LOST yet. */
static bool advance(target *p) {
    if (p->state == TARGET_DRAINS && !p->r) p->state = TARGET_LOST;
    if (p->state == TARGET_DRAINS) drain(p);
    if (p->state == TARGET_REQUESTED) pollDetach(p);
    return p->state < TARGET_DETACHED;
}

/* Closes a replica that does not read its output, so that the others need not wait for it. */
static void disconnectSlow(const target *p) {
    if (!p->r || p->state >= TARGET_DETACHED || p->r->c->flags & CLIENT_CLOSE_ASAP) return;
    LOG_LIMITED(LL_WARNING, LOG_LIMIT_FEW, "replicas that timed out during a full synchronization",
                "Disconnecting timedout replica (full sync): %s", replicaName(p->r));
    clientCloseAsap(p->r->c);
}

static void checkTimeout(const rdbTransfer *s) {
    if (clockMonotonicMs() - s->since_ms <= (uint64_t)repl_settings.timeout_s * 1000) return;
    for (size_t i = 0; i < s->count; i++) disconnectSlow(&s->targets[i]);
}

/* Runs on the thread of a transfer. */
static void onTransferEnd(void) { aeWakeupSend(&transfers.wakeup); }

static void startCopying(rdbTransfer *s) {
    connection **conns = zmalloc(s->count * sizeof(*conns));
    size_t n = 0;
    for (size_t i = 0; i < s->count; i++) {
        target *p = &s->targets[i];
        if (p->state != TARGET_DETACHED || !p->r) continue;
        p->outlet = n;
        conns[n++] = p->conn;
    }
    debugAssert(s->source >= 0 && !s->copies);
    unsigned timeout_s = (unsigned)repl_settings.timeout_s;
    if (n > 0) s->copies = rdbCopierStart(s->source, s->length, conns, n, timeout_s, onTransferEnd);
    else close(s->source);
    s->source = -1;
    if (n > 0 && !s->copies)
        LOG_LIMITED(LL_WARNING, LOG_LIMIT_FEW, "snapshots that no thread could send",
                    "Failed to start the thread that sends an RDB to replicas: %s", strerror(errno));
    zfree(conns);
}

/* ---- The end ---- */

static void rdbTransferComplete(rdbTransfer *s, target *p) {
    debugAssert(p->state == TARGET_DETACHED || !p->stream);
    bool ok = p->state == TARGET_DETACHED && s->copies && p->r && rdbCopierSucceeded(s->copies, p->outlet);
    replicaState *r = p->r;
    if (p->stream) connDetachEnd(p->stream);
    p->stream = NULL;
    p->r = NULL;
    if (r) s->ends.completed(r, ok);
}

static void rdbTransferFinish(rdbTransfer *s) {
    rdbTransfer **at = &transfers.all;
    debugAssert(s->source < 0 && (!s->copies || rdbCopierIsOver(s->copies))); /* its thread has the connections */
    while (*at != s) at = &(*at)->next;
    *at = s->next;
    for (size_t i = 0; i < s->count; i++) rdbTransferComplete(s, &s->targets[i]);
    if (s->copies) rdbCopierEnd(s->copies);
    if (s->ends.over) s->ends.over();
    zfree(s);
}

static void pollSoon(void);

static void pollTransfer(rdbTransfer *s) {
    bool waits = false;
    for (size_t i = 0; i < s->count && s->source >= 0; i++) waits |= advance(&s->targets[i]);
    if (waits) {
        checkTimeout(s);
        pollSoon();
        return;
    }
    if (s->source >= 0) startCopying(s);
    if (!s->copies || rdbCopierIsOver(s->copies)) rdbTransferFinish(s);
}

static void pollAll(void) {
    assertOutsideYield();
    for (rdbTransfer *s = transfers.all, *next; s; s = next) {
        next = s->next;
        pollTransfer(s);
    }
    transfersCheck();
}

static long long onTimer(aeEventLoop *loop, long long id, void *arg) {
    unused(loop), unused(id), unused(arg);
    transfers.timer_set = false;
    pollAll();
    return AE_NOMORE;
}

static void pollSoon(void) {
    if (transfers.timer_set) return;
    transfers.timer_set = aeCreateTimeEvent(transfers.loop, POLL_MS, onTimer, NULL) >= 0;
}

void rdbTransferStart(int source, uint64_t length, replicaState **to, size_t count, const rdbTransferEnds *ends) {
    assertMainThread();
    debugAssert(source >= 0 && count > 0 && ends->completed);
    transfersCheck();
    rdbTransfer *s = zcalloc(1, sizeof(*s) + count * sizeof(s->targets[0]));
    s->source = source;
    s->length = length;
    s->since_ms = clockMonotonicMs();
    s->ends = *ends;
    s->count = count;
    for (size_t i = 0; i < count; i++) s->targets[i].r = to[i];
    s->next = transfers.all;
    transfers.all = s;
    pollSoon();
    transfersCheck();
}

uint64_t rdbTransferFullSince(const replicaState *r) {
    assertMainRole();
    for (const rdbTransfer *s = transfers.all; s; s = s->next) {
        for (size_t i = 0; i < s->count; i++)
            if (s->targets[i].r == r && s->copies) return rdbCopierFullSince(s->copies, s->targets[i].outlet);
    }
    return 0;
}

void rdbTransfersForget(const replicaState *r) {
    assertMainRole();
    transfersCheck();
    for (rdbTransfer *s = transfers.all; s; s = s->next) {
        for (size_t i = 0; i < s->count; i++) {
            target *p = &s->targets[i];
            if (p->r != r) continue;
            p->r = NULL;
            if (s->copies) rdbCopierCancel(s->copies, p->outlet);
        }
    }
}

void rdbTransfersInit(aeEventLoop *loop) {
    assertMainThread();
    debugAssert(!transfers.loop);
    transfers.loop = loop;
    if (aeWakeupOpen(loop, &transfers.wakeup, pollAll) == C_ERR)
        serverPanic("Failed to create an event descriptor: %s", strerror(errno));
}
