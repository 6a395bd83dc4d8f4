/* command_batch.c -- which parsed commands are executed next, in batches whose keys are prefetched together.
 *
 * Clients with parsed commands are in one queue. A batch takes commands from its head, across clients and along their
 * pipelines, up to prefetch-batch-max-size; prefetches all their records; walks all their keys through the dicts
 * together; and executes them in order. A client with more commands goes to the end of the queue. For commands that
 * look up elements in the value of their key (HGET, ZADD ...) a second walk follows, through the tables found by the
 * first.
 *
 * Not here    how keys are walked (ds/memory_prefetch.c), what a command does (engine/call.c).
 * Owns        the queue; the blocks of parsed commands while main has them.
 * Threads     main.
 * Invariants  (batchCheck() asserts them, as far as they show between batches)
 *             1. A client is in the queue, once, iff CLIENT_READY is set. It is there if it has commands that may run,
 *                and only if it has commands.
 *             2. Commands of a client run in order, one block after another; a block is returned when its last command
 *                has run.
 *             3. Batches are not nested, and no client is freed while one is open (sessions.c). While a command of a
 *                batch yields (batchServe), other commands run one by one.
 * Cost        per batch: one reading of the wall clock; per command: nothing but the prefetch and its own work.
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
#include "dict.h"
#include "panic.h"
#include "propagate.h"
#include "record_prefetch.h"
#include "reply.h"
#include "session_output.h"
#include "transaction_queue.h"

#define COMMANDS_WITHOUT_PREFETCH 16 /* batch length if prefetching is off */
#define DEBUG_CHECK_CLIENTS_MAX 64
#define SERVED_AT_ONCE 16 /* commands of one client while a long command yields */

static struct {
    client *head, *tail; /* ready clients */
    size_t waiting;      /* commands that arrived since the queue was last empty */
    bool open;           /* a batch is in progress */
    bool within;         /* a command of it yields: blocked clients are not served before that command has ended */
    bool served;         /* some of its commands may have run already while one yielded */
    bool for_main;       /* the next command needs main's own thread, and another thread has the main role */
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

/* Flags that keep a client's commands from running. */
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

/* The client's requests wait because its output does: their memory counts with it, and more of them are read ahead. */
static void waitForOutput(client *c) {
    requestPool *pool = &ioThreadOwner(ioThreadActing())->pool;
    for (requestBlock *b = c->blocks_head; b; b = b->next) requestBlockCount(pool, b);
    sessionReadAhead(c->io);
}

void batchAdd(client *c, requestBlock *b) {
    assertMainRole();
    if (c->blocks_tail) c->blocks_tail->next = b;
    else c->blocks_head = b;
    c->blocks_tail = b;
    if (unlikely(!batchMayExecute(c))) {
        if (c->flags & CLIENT_OUTPUT_FULL) waitForOutput(c);
        return;
    }
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

/* Appends the client's next commands to the `n` items, without changing anything. Returns the new number of items. */
static size_t collectOf(client *c, recordItem *items, size_t n, size_t max) {
    const requestBlock *b = c->blocks_head;
    for (parsedCommand *p = b->current; p && n < max; p = nextRecord(&b, p)) {
        prefetchRead(p);
        items[n++] = (recordItem){c, p};
    }
    return n;
}

/* Collects commands of the first clients in the queue. */
static size_t commandBatchCollect(recordItem *items, size_t max) {
    size_t n = 0;
    for (client *c = queue.head; c && n < max; c = c->next_ready)
        if (batchMayExecute(c)) n = collectOf(c, items, n, max);
    return n;
}

static bool writtenElsewhere(const client *c) { return c->io->home != ioThreadActing(); }

/* Returns whether another thread sends the client's replies: then main does not read the values and need not prefetch
 * them. */
static bool sentElsewhere(const client *c) { return client_settings.offload && writtenElsewhere(c); }

static void returnBlock(client *c) {
    requestBlock *b = c->blocks_head;
    if (unlikely(c->flags & CLIENT_MULTI)) transactionLeaveBlock(c);
    c->blocks_head = b->next;
    if (!c->blocks_head) c->blocks_tail = NULL;
    c->input_bytes -= b->wire_bytes;
    if (unlikely(b->counted_bytes)) requestBlockUncount(&ioThreadOwner(ioThreadActing())->pool, b);
    requestBlockExecuted(&ioThreadOwner(ioThreadActing())->pool, b);
    sessionReturnBlock(c->io, b);
}

/* Advances to the next command after one has run. */
static void commandBatchAdvance(client *c) {
    requestBlock *b = c->blocks_head;
    parsedCommand *p = b->current;
    if (unlikely(p->value != NULL) && !(p->flags & REQ_QUEUED)) {
        objectRelease(p->value);
        p->value = NULL;
    }
    b->current = p->next;
    if (!b->current) returnBlock(c);
}

/* Updates the queue after the head's commands of this batch have run. */
static void settleHead(client *c) {
    if (queue.head == c) queueTakeHead();
    else batchForget(c);
    if (c->blocks_head) {
        if (batchMayExecute(c)) batchClientReady(c);
        else if (batchWaitsForOutput(c)) waitForOutput(c);
        else if (c->io->ended || c->io->hung_up) sessionCloseAfterOutput(c);
    } else if (unlikely(c->io->ended)) {
        sessionCloseAfterOutput(c);
    }
}

/* Executes one item. Returns false if it, and thereby all items after it, must wait for main's own thread. */
static bool executeItem(const recordItem *item, monotime *now, size_t *ran) {
    client *c = item->c;
    switch (processCommand(c, item->req, now)) {
    case CALL_DONE:
        commandBatchAdvance(c);
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

/* Executes items; returns how many have run. storeNowMs() was set at `clock_set`, and `fetched` keys have been walked
 * since then (0: none). That walk is work of the commands with these keys, so the start of each command is set back by
 * its share; the share of a command that is not executed falls to the next. */
static size_t executeItems(const recordItem *items, size_t n, monotime clock_set, size_t fetched) {
    monotime now = clockTicks(), per_key = fetched ? (now - clock_set) / fetched : 0;
    const client *last = NULL;
    size_t ran = 0;
    for (size_t i = 0; i < n && !queue.for_main; i++) {
        client *c = items[i].c;
        if (c != last || unlikely(queue.served)) replyWrittenHere(!writtenElsewhere(c));
        last = c;
        if (unlikely(queue.served) && !isNext(&items[i])) {
            /* it has run while another one yielded */
        } else if (likely(batchMayExecute(c))) {
            now -= recordPrefetchShare(items[i].req, per_key);
            queue.for_main = !executeItem(&items[i], &now, &ran);
            /* A slow command makes the batch's time stale: keys may have expired since. */
            if (unlikely(clockTicksToUs(now - clock_set) >= 1000)) {
                storeSetNowMs(clockWallMs());
                clock_set = now;
            }
        }
        if (i + 1 == n || items[i + 1].c != c || queue.for_main) settleHead(c);
    }
    return ran;
}

/* The client whose command runs is still in the queue. A blocked client has no samples to count before it runs
 * again. */
void batchCountSamples(void) {
    assertMainRole();
    for (const client *c = queue.head; c; c = c->next_ready)
        if (c->blocks_head) hotKeysCountHere(c->blocks_head->samples);
}

/* --- invariants -------------------------------------------------------------------------------------- */

/* Asserts that the client's commands are in complete blocks, of which only the first may have been started. */
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
    /* As many as have the flag, and each of them has it: so each is there once. */
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

/* Debug builds check while there are few clients. */
static void debugCheckBatch(void) {
#ifdef DEBUG_ASSERTIONS
    if (listLength(client_state.clients) <= DEBUG_CHECK_CLIENTS_MAX) batchCheck();
#endif
}

/* Removes clients from the head of the queue that cannot run now: commandBatchCollect() would find nothing. */
static void dropIdleHeads(void) {
    while (queue.head && (!batchMayExecute(queue.head) || !queue.head->blocks_head)) settleHead(queue.head);
}

/* The client was blocked in the middle of its commands: it goes to the end of the queue. */
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
        size_t n = commandBatchCollect(items, size);
        if (n == 0) {
            dropIdleHeads();
            continue;
        }
        storeSetNowMs(clockWallMs());
        memoryGateBatch();
        monotime clock_set = clockTicks();
        size_t fetched = 0;
        if (prefetch && n > 1) fetched = recordsPrefetch(items, n, size, replyCopiesShared() ? NULL : sentElsewhere);
        queue.open = true;
        queue.served = false;
        bool passed_on = propagateWanted();
        if (unlikely(passed_on)) recordsUpcoming(items, n);
        size_t done = executeItems(items, n, clock_set, fetched);
        if (unlikely(passed_on)) recordsUpcoming(NULL, 0);
        queue.open = false;
        ran += done ? done : 1;
    }
    if (!queue.head) queue.waiting = 0;
    debugCheckBatch();
    return ran;
}

/* Executes commands of one client. */
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
    recordsUpcoming(NULL, 0); /* some of them may run now */
    for (client *c = queue.head; c && ran < max; c = next) {
        next = c == last ? NULL : c->next_ready; /* clients served go to the end, after `last` */
        if (c != busy) ran += serveClient(c, max - ran);
    }
    queue.within = within;
    if (busy && busy->io) replyWrittenHere(!writtenElsewhere(busy)); /* it may add to its reply now */
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
