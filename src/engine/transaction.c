/* transaction.c -- MULTI, EXEC, DISCARD, WATCH, UNWATCH: commands that run as one, if no watched key has changed.
 *
 * EXEC runs the queue in batches: the keys of the commands of a batch are prefetched together, as those of many clients
 * are.
 *
 * Not here    the queue and the checks when it grows (transaction_queue.c), which client watches which key (watch.c),
 *             how one command runs (call.c).
 * Owns        nothing.
 * Threads     main.
 * Tests       tests/engine/transaction.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "engine.h"

#include "acl.h"
#include "call.h"
#include "dict.h"
#include "panic.h"
#include "record_prefetch.h"
#include "reply.h"
#include "slot_stats.h"
#include "transaction_queue.h"

void multiCommand(client *c) {
    transactionBegin(c);
    addReplyOk(c);
}

void discardCommand(client *c) {
    if (!(c->flags & CLIENT_MULTI)) {
        addReplyError(c, "DISCARD without MULTI");
        return;
    }
    transactionEnd(c);
    addReplyOk(c);
}

/* Prefetches the keys of the commands that run next, from `first` on, except those that a batch has prefetched together
 * with EXEC. `fetched` gets the result of recordsPrefetch(). Returns the index of the command before which to call it
 * again. */
static uint32_t prefetchFrom(client *c, uint32_t first, size_t *fetched) {
    const multiState *m = transactionOf(c);
    recordItem items[DICT_PREFETCH_MAX];
    size_t n = 0, size = (size_t)engine_settings.prefetch_batch_max_size;
    *fetched = 0;
    if (size == 0) return m->count;
    for (uint32_t i = first; i < m->count && n < size; i++) items[n++] = (recordItem){c, m->queue[i]};
    if (n > 1) *fetched = recordsPrefetch(items, n, size, NULL);
    return first + (uint32_t)n;
}

static void runQueue(client *c) {
    multiState *m = transactionOf(c);
    monotime now = clockTicks(), per_key = 0;
    uint32_t errors_before = c->error_replies;
    bool denied = c->flags & CLIENT_DENY_BLOCKING;
    debugAssert(!(c->flags & (CLIENT_DIRTY_EXEC | CLIENT_DIRTY_CAS)) && m->watched.count == 0);
    uint32_t count = m->count;
    c->flags |= CLIENT_DENY_BLOCKING;
    if (slotStatsAreOn()) slotStatsExecBegins(c, m->queue, count);
    addReplyArrayLen(c, count);
    for (uint32_t i = 0, ready = 0; i < m->count; i++) {
        if (i == ready) {
            size_t fetched;
            ready = prefetchFrom(c, i, &fetched);
            monotime then = now;
            if (fetched) now = clockTicks();
            per_key = fetched ? (now - then) / fetched : 0;
        }
        now -= recordPrefetchShare(m->queue[i], per_key);
        if (aclMayRunQueued(c, m->queue[i])) callQueued(c, m->queue[i], &now);
    }
    debugAssert(transactionOf(c) == m && m->count == count &&
                !(c->flags & CLIENT_BLOCKED)); /* as many replies as announced */
    slotStatsExecEnds();
    if (!denied) c->flags &= ~CLIENT_DENY_BLOCKING;
    c->error_replies = errors_before; /* the errors are failures of the commands, not of EXEC */
}

void execCommand(client *c) {
    if (!(c->flags & CLIENT_MULTI)) {
        addReplyError(c, "EXEC without MULTI");
        return;
    }
    multiState *m = transactionOf(c);
    if (watchHasExpired(&m->watched)) c->flags |= CLIENT_DIRTY_CAS;
    watchForget(&m->watched);
    if (c->flags & CLIENT_DIRTY_EXEC) addReplyError(c, "-EXECABORT Transaction discarded because of previous errors.");
    else if (c->flags & CLIENT_DIRTY_CAS) addReplyNullArray(c);
    else runQueue(c);
    transactionEnd(c);
}

void watchCommand(client *c) {
    if (!(c->flags & CLIENT_DIRTY_CAS))
        for (uint32_t i = 1; i < c->argc; i++) watchKey(&transactionState(c)->watched, c, clientKeyAt(c, i));
    addReplyOk(c);
}

void unwatchCommand(client *c) {
    multiState *m = transactionOf(c);
    if (m) watchForget(&m->watched);
    c->flags &= ~CLIENT_DIRTY_CAS;
    addReplyOk(c);
}
