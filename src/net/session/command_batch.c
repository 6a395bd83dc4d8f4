/* command_batch.c -- which parsed commands are executed next, in batches whose keys are fetched together.
 *
 * Clients with parsed commands stand in one queue. A batch takes commands from its head, across clients and
 * along their pipelines, up to prefetch-batch-max-size; asks for the lines of all their records; walks all
 * their keys through the dicts at once; and executes them in order. A client with more commands goes to the end of
 * the queue. Commands that look elements up in their key's value (HGET, ZADD ...) have those walked in a second round,
 * through the tables that the first has found.
 *
 * Not here    how keys are walked (ds/memory_prefetch.c), what a command does (engine/call.c).
 * Owns        the queue; the blocks of parsed commands while main has them.
 * Threads     main.
 * Invariants  (batchCheck() asserts them, as far as they show between batches)
 *             1. A client is in the queue iff CLIENT_READY is set, once; it is there when it has commands that may run,
 *                and only when it has commands.
 *             2. Commands of a client run in order, one block after another; a block goes back when its last has run.
 *             3. Batches are not nested, and no client is freed while one is open (sessions.c). While a command of one
 *                lets others in between (batchServe), commands run one by one.
 * Cost        per batch: one wall clock reading; per command: nothing but the prefetch and its own work.
 * Tests       tests/unit/net/session/command_batch_test.c, tests/engine/io_threads.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "command_batch.h"

#include "blocking.h"
#include "call.h"
#include "client_describe.h"
#include "client_settings.h"
#include "engine_settings.h"
#include "io_threads.h"
#include "memory_gate.h"
#include "memory_prefetch.h"
#include "panic.h"
#include "propagate.h"
#include "record_prefetch.h"
#include "reply.h"
#include "session_output.h"
#include "transaction_queue.h"

#define COMMANDS_WITHOUT_PREFETCH 16 /* batch length when prefetching is off */
#define DEBUG_CHECK_CLIENTS_MAX 64
#define SERVED_AT_ONCE 16 /* commands of one client, while a long one lets others in between */

static struct {
    client *head, *tail; /* ready clients */
    size_t waiting;      /* commands that have come since the queue was last empty */
    bool open;           /* a batch is under way */
    bool within;         /* one of its commands lets others in: what it has brought is for nobody before it is over */
    bool served;         /* some of its commands may have run already, while one let others in between */
    bool for_main;       /* the next command is for main's own thread, and another one acts as main */
} queue;

/* --- the queue ---------------------------------------------------------------------------------- */

void batchClientReady(client *c) {
    assertMainRole();
    if (c->flags & (CLIENT_READY | CLIENT_CLOSE_ASAP) || !c->blocks_head) return;
    c->flags |= CLIENT_READY;
    c->next_ready = NULL;
    c->prev_ready = queue.tail;
    if (queue.tail) queue.tail->next_ready = c;
    else queue.head = c;
    queue.tail = c;
}

static void queueTakeHead(void) {
    client *c = queue.head;
    queue.head = c->next_ready;
    if (!queue.head) queue.tail = NULL;
    c->flags &= ~CLIENT_READY;
}

void batchForget(client *c) {
    assertMainRole();
    if (!(c->flags & CLIENT_READY)) return;
    if (c == queue.head) {
        queueTakeHead();
        return;
    }
    c->prev_ready->next_ready = c->next_ready;
    if (c->next_ready) c->next_ready->prev_ready = c->prev_ready;
    else queue.tail = c->prev_ready;
    c->flags &= ~CLIENT_READY;
}

bool batchHasReady(void) {
    assertMainRole();
    return queue.head != NULL;
}

/* What keeps commands of a client from being executed. */
#define HOLD_FLAGS (CLIENT_CLOSE_ASAP | CLIENT_CLOSE_AFTER_REPLY | CLIENT_BLOCKED | CLIENT_PAUSED | CLIENT_OUTPUT_FULL)

bool batchMayExecute(const client *c) {
    assertMainRole();
    return !(c->flags & HOLD_FLAGS);
}

bool batchWaitsForOutput(const client *c) {
    assertMainRole();
    return (c->flags & HOLD_FLAGS) == CLIENT_OUTPUT_FULL;
}

static size_t batchSize(void) {
    return engine_settings.prefetch_batch_max_size > 0 ? (size_t)engine_settings.prefetch_batch_max_size
                                                       : COMMANDS_WITHOUT_PREFETCH;
}

void batchAdd(client *c, requestBlock *b) {
    assertMainRole();
    if (c->blocks_tail) c->blocks_tail->next = b;
    else c->blocks_head = b;
    c->blocks_tail = b;
    if (!batchMayExecute(c)) return;
    queue.waiting += b->commands;
    batchClientReady(c);
}

bool batchIsFull(void) {
    assertMainRole();
    return queue.waiting >= batchSize();
}

size_t batchWaiting(void) {
    assertMainRole();
    return queue.waiting;
}

/* --- a batch -------------------------------------------------------------------------------------- */

static parsedCommand *nextRecord(const requestBlock **b, const parsedCommand *p) {
    if (p->next) return p->next;
    *b = (*b)->next;
    return *b ? (*b)->current : NULL;
}

/* Take the next commands of a client behind the `n` items that there are, without changing anything. How many there are
 * then. */
static size_t collectOf(client *c, recordItem *items, size_t n, size_t max) {
    const requestBlock *b = c->blocks_head;
    for (parsedCommand *p = b->current; p && n < max; p = nextRecord(&b, p)) {
        prefetchRead(p);
        items[n++] = (recordItem){c, p};
    }
    return n;
}

/* Of the queue's first clients. */
static size_t collect(recordItem *items, size_t max) {
    size_t n = 0;
    for (client *c = queue.head; c && n < max; c = c->next_ready)
        if (batchMayExecute(c)) n = collectOf(c, items, n, max);
    return n;
}

static bool writtenElsewhere(const client *c) {
    return c->io->home != ioThreadActing();
}

/* Main does not touch a value that is replaced, nor one that another thread sends. What main itself sends it had
 * better have asked for early. */
static bool sentElsewhere(const client *c) {
    return client_settings.offload && writtenElsewhere(c);
}

static void returnBlock(client *c) {
    requestBlock *b = c->blocks_head;
    if (unlikely(c->flags & CLIENT_MULTI)) transactionLeaveBlock(c);
    c->blocks_head = b->next;
    if (!c->blocks_head) c->blocks_tail = NULL;
    c->input_bytes -= b->wire_bytes;
    requestBlockExecuted(&ioThreadOwner(ioThreadActing())->pool, b);
    sessionReturnBlock(c->io, b);
}

/* The command has run: on to the next. */
static void advance(client *c) {
    requestBlock *b = c->blocks_head;
    parsedCommand *p = b->current;
    if (unlikely(p->value != NULL) && !(p->flags & REQ_QUEUED)) {
        objectRelease(p->value);
        p->value = NULL;
    }
    b->current = p->next;
    if (!b->current) returnBlock(c);
}

/* Bring the queue in order after its head's commands of this batch have run. */
static void settleHead(client *c) {
    if (queue.head == c) queueTakeHead();
    else batchForget(c);
    if (c->blocks_head) {
        if (batchMayExecute(c)) batchClientReady(c);
        else if ((c->io->ended || c->io->hung_up) && !batchWaitsForOutput(c)) sessionCloseAfterOutput(c);
    } else if (unlikely(c->io->ended)) {
        sessionCloseAfterOutput(c);
    }
}

/* Execute one item; false when it waits for main's own thread, and with it everything behind it. */
static bool executeItem(const recordItem *item, monotime *now, size_t *ran) {
    client *c = item->c;
    switch (processCommand(c, item->req, now)) {
    case CALL_DONE:
        advance(c);
        ++*ran;
        if (unlikely(blocking_ready) && !queue.within) callServeBlocked(now);
        break;
    case CALL_POSTPONED: break;
    case CALL_FOR_MAIN_THREAD: return false;
    }
    if (unlikely(c->flags & CLIENT_CLOSE_AFTER_REPLY)) sessionDrain(c);
    return true;
}

static bool isNext(const recordItem *item) {
    const requestBlock *b = item->c->blocks_head;
    return b && b->current == item->req;
}

/* Execute items; returns how many have run. storeNowMs() was set at `told`, and `fetched` keys have been walked since
 * (0: none). That walk is the work of the commands whose keys they are, so each command starts earlier by its share of
 * it; the share of one that is not executed falls to the next. */
static size_t executeItems(const recordItem *items, size_t n, monotime told, size_t fetched) {
    monotime now = clockTicks(), per_key = fetched ? (now - told) / fetched : 0;
    const client *last = NULL;
    size_t ran = 0;
    for (size_t i = 0; i < n && !queue.for_main; i++) {
        client *c = items[i].c;
        if (c != last || unlikely(queue.served)) replyWrittenHere(!writtenElsewhere(c));
        last = c;
        if (unlikely(queue.served) && !isNext(&items[i])) {
            /* it has run in between */
        } else if (likely(batchMayExecute(c))) {
            now -= recordPrefetchShare(items[i].req, per_key);
            queue.for_main = !executeItem(&items[i], &now, &ran);
            /* A slow command makes the time of the batch stale: keys may have expired since. */
            if (unlikely(clockTicksToUs(now - told) >= 1000)) {
                storeSetNowMs(clockWallMs());
                told = now;
            }
        }
        if (i + 1 == n || items[i + 1].c != c || queue.for_main) settleHead(c);
    }
    return ran;
}

/* The client whose command runs is in the queue still. One that waits has nothing more to say before it runs again. */
void batchCountSamples(void) {
    assertMainRole();
    for (const client *c = queue.head; c; c = c->next_ready)
        if (c->blocks_head) hotKeysCountHere(c->blocks_head->samples);
}

/* --- what holds ------------------------------------------------------------------------------------ */

/* Commands of a client wait in whole blocks, of which the first may have been begun. */
static void checkBlocks(const client *c) {
    size_t bytes = 0;
    const requestBlock *last = NULL;
    for (const requestBlock *b = c->blocks_head; b; b = b->next) {
        size_t records = 0;
        bool current_seen = false;
        for (const parsedCommand *p = b->first; p; p = p->next) {
            current_seen |= p == b->current;
            serverAssert(p->next || p == b->last);
            records++;
        }
        serverAssert(records == b->commands);
        serverAssert(current_seen);
        serverAssert(b == c->blocks_head || b->current == b->first);
        bytes += b->wire_bytes;
        last = b;
    }
    serverAssert(c->blocks_tail == last);
    serverAssert(c->input_bytes == bytes);
}

void batchCheck(void) {
    assertMainRole();
    serverAssert(!queue.open);
    size_t ready = 0;
    listIter it = listBegin(client_state.clients, false);
    for (listNode *n = listNext(&it); n; n = listNext(&it)) {
        const client *c = listNodeValue(n);
        ready += (c->flags & CLIENT_READY) != 0;
        checkBlocks(c);
        serverAssert(c->flags & CLIENT_READY || !c->blocks_head || !batchMayExecute(c));
    }
    /* As many as are flagged, and each of them flagged: so each is there once. */
    const client *last = NULL;
    for (const client *c = queue.head; c; c = c->next_ready) {
        serverAssert(ready > 0);
        serverAssert(c->flags & CLIENT_READY);
        serverAssert(c->blocks_head != NULL);
        serverAssert(c == queue.head || c->prev_ready == last);
        ready--;
        last = c;
    }
    serverAssert(ready == 0);
    serverAssert(queue.tail == last);
}

/* Debug builds look while there are few clients. */
static void debugCheckBatch(void) {
#ifdef DEBUG_ASSERTIONS
    if (listLength(client_state.clients) <= DEBUG_CHECK_CLIENTS_MAX) batchCheck();
#endif
}

/* Clients at the head of the queue that cannot run now would stop collect(): let them go. */
static void dropIdleHeads(void) {
    while (queue.head && (!batchMayExecute(queue.head) || !queue.head->blocks_head)) settleHead(queue.head);
}

/* A client that has waited in the middle of its commands: behind those that are ready now. */
void batchUnblocked(client *c) {
    assertMainRole();
    clientNoteUnblocked(c);
    if (c->blocks_head) batchClientReady(c);
    else if (c->io && c->io->ended) sessionCloseAfterOutput(c);
}

size_t batchExecute(size_t max) {
    assertMainRole();
    serverAssert(!queue.open);
    debugCheckBatch();
    recordItem items[DICT_PREFETCH_MAX];
    size_t ran = 0;
    queue.for_main = false;
    while (queue.head && ran < max && !queue.for_main) {
        size_t size = batchSize();
        bool prefetch = engine_settings.prefetch_batch_max_size > 0;
        size_t n = collect(items, size);
        if (n == 0) {
            dropIdleHeads();
            continue;
        }
        storeSetNowMs(clockWallMs());
        memoryGateBatch();
        monotime told = clockTicks();
        size_t fetched = 0;
        if (prefetch && n > 1) fetched = recordsPrefetch(items, n, size, replyCopiesShared() ? NULL : sentElsewhere);
        queue.open = true;
        queue.served = false;
        bool passed_on = propagateWanted();
        if (unlikely(passed_on)) recordsUpcoming(items, n);
        size_t done = executeItems(items, n, told, fetched);
        if (unlikely(passed_on)) recordsUpcoming(NULL, 0);
        queue.open = false;
        ran += done ? done : 1;
    }
    if (!queue.head) queue.waiting = 0;
    debugCheckBatch();
    return ran;
}

/* Commands of one client. */
static size_t serveClient(client *c, size_t max) {
    recordItem items[SERVED_AT_ONCE];
    size_t n = 0;
    if (batchMayExecute(c) && c->blocks_head) n = collectOf(c, items, n, max < SERVED_AT_ONCE ? max : SERVED_AT_ONCE);
    size_t ran = executeItems(items, n, clockTicks(), 0);
    settleHead(c);
    return ran;
}

size_t batchServe(size_t max) {
    serverAssert(queue.open);
    const client *busy = callCurrentClient();
    client *last = queue.tail, *next;
    size_t ran = 0;
    bool within = queue.within;
    queue.within = queue.served = true;
    recordsUpcoming(NULL, 0); /* some may run now */
    for (client *c = queue.head; c && ran < max; c = next) {
        next = c == last ? NULL : c->next_ready; /* those that are served go to the end, behind `last` */
        if (c != busy) ran += serveClient(c, max - ran);
    }
    queue.within = within;
    return ran;
}

bool batchIsOpen(void) {
    assertMainRole();
    return queue.open;
}

bool batchIsForMainThread(void) {
    assertMainRole();
    return queue.for_main;
}
