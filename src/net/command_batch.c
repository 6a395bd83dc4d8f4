/* command_batch.c -- which parsed commands are executed next, in batches whose keys are fetched together.
 *
 * Clients with parsed commands stand in one queue. A batch takes commands from its head, across clients and
 * along their pipelines, up to prefetch-batch-max-size; asks for the lines of all their records; walks all
 * their keys through the dicts at once; and executes them in order. A client with more commands goes to the end of
 * the queue.
 *
 * Not here    how keys are walked (ds/memory_prefetch.c), what a command does (engine/call.c).
 * Owns        the queue; the blocks of parsed commands while main has them.
 * Threads     main.
 * Invariants  1. A client is in the queue iff CLIENT_READY is set.
 *             2. Commands of a client run in order, one block after another; a block goes back when its last has run.
 *             3. Clients are freed only in batchFreeClosing(), never inside a batch.
 * Cost        per batch: one wall clock reading; per command: nothing but the prefetch and its own work.
 * Tests       tests/unit/net/command_batch_test.c, tests/engine/io_threads.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "command_batch.h"

#include "call.h"
#include "log.h"
#include "memory_prefetch.h"
#include "net_stats.h"
#include "output_limits.h"
#include "panic.h"
#include "pause.h"
#include "prefetch_settings.h"
#include "rebalance.h"

#include <string.h>

#define COMMANDS_WITHOUT_PREFETCH 16 /* batch length when prefetching is off */

typedef struct batchItem {
    client *c;
    const parsedCommand *req;
} batchItem;

static struct {
    client *head, *tail;     /* ready clients */
    clientStream *returning; /* streams with used-up blocks to give back, by next_returning */
    clientStream *draining;  /* sessions that are to be closed once all is written, by next_draining */
    size_t waiting;          /* commands that have come since the queue was last empty */
    bool running;            /* inside runFullBatch() */
} queue;

/* --- the queue ---------------------------------------------------------------------------------- */

void batchClientReady(client *c) {
    if (c->flags & (CLIENT_READY | CLIENT_CLOSE_ASAP) || !c->blocks_head) return;
    c->flags |= CLIENT_READY;
    c->next_ready = NULL;
    if (queue.tail) queue.tail->next_ready = c;
    else queue.head = c;
    queue.tail = c;
}

static void queueTakeHead(void) {
    client *c = queue.head;
    queue.head = c->next_ready;
    if (!queue.head) queue.tail = NULL;
    c->flags &= ~(uint32_t)CLIENT_READY;
}

static void queueRemove(client *c) {
    if (!(c->flags & CLIENT_READY)) return;
    client *before = NULL;
    for (client *p = queue.head; p != c; p = p->next_ready) before = p;
    if (before) before->next_ready = c->next_ready;
    else queue.head = c->next_ready;
    if (queue.tail == c) queue.tail = before;
    c->flags &= ~(uint32_t)CLIENT_READY;
}

bool batchHasReady(void) {
    return queue.head != NULL;
}

static bool mayExecute(const client *c) {
    return !(c->flags & (CLIENT_CLOSE_ASAP | CLIENT_CLOSE_AFTER_REPLY | CLIENT_BLOCKED | CLIENT_PAUSED));
}

/* --- messages from holders ---------------------------------------------------------------------- */

static void releaseReplies(replyBlock *chain) {
    while (chain) {
        replyBlock *next = chain->next;
        replyBlockRelease(chain);
        chain = next;
    }
}

static void repliesWritten(clientStream *s, replyBlock *chain, size_t bytes) {
    releaseReplies(chain);
    if (s->session) clientOutputWritten(s->session, bytes);
}

static void dropBlocks(requestBlock *chain) {
    while (chain) {
        requestBlock *next = chain->next;
        requestBlockPut(&ioThreadMain()->pool, chain);
        chain = next;
    }
}

static size_t batchSize(void) {
    return prefetch_batch_max_size > 0 ? (size_t)prefetch_batch_max_size : COMMANDS_WITHOUT_PREFETCH;
}

/* What main has read itself is executed as soon as it makes a full batch: while its bytes are still in the cache, and
 * so that the memory it frees serves what is read next. Clients are not freed here: this runs inside a stream's read
 * handler. */
static void runFullBatch(void) {
    if (queue.running || queue.waiting < batchSize()) return;
    queue.running = true;
    batchExecute(queue.waiting);
    batchFlushOutput();
    queue.running = false;
}

static void requestsArrived(clientStream *s, requestBlock *b) {
    client *c = s->session;
    b->next = NULL;
    if (unlikely(!c || c->flags & (CLIENT_CLOSE_ASAP | CLIENT_CLOSE_AFTER_REPLY))) {
        dropBlocks(b);
        return;
    }
    if (c->blocks_tail) c->blocks_tail->next = b;
    else c->blocks_head = b;
    c->blocks_tail = b;
    c->input_bytes += b->wire_bytes;
    if (c->input_bytes > c->input_buffer_peak) c->input_buffer_peak = c->input_bytes;
    c->net_input += (long long)b->wire_bytes;
    if (!mayExecute(c)) return;
    queue.waiting += b->commands;
    batchClientReady(c);
    if (s->home == ioThreadMain()) runFullBatch();
}

static void drainLater(client *c) {
    clientStream *s = c->stream;
    if (s->drain_sent) return;
    s->drain_sent = true;
    s->next_draining = queue.draining;
    queue.draining = s;
}

/* Nothing more comes from the client. A peer that has closed only its half still gets the replies to what it has sent.
 * */
static void closeAfterOutput(client *c) {
    if (c->output_bytes == 0) {
        clientCloseAsap(c);
        return;
    }
    c->flags |= CLIENT_CLOSE_AFTER_REPLY;
    drainLater(c);
}

static void streamEnded(clientStream *s, endReason why) {
    client *c = s->session;
    if (!c) return;
    switch (why) {
    case END_DRAINED: clientCloseAsap(c); return;
    case END_QUERY_LIMIT:
        client_state.query_limit_disconnections++;
        serverLog(LL_WARNING, "Closing client that reached max query buffer length: id=%llu addr=%s",
                  (unsigned long long)c->id, c->peer);
        clientCloseAsap(c);
        return;
    case END_CROSS_PROTOCOL:
        serverLog(LL_WARNING,
                  "Possible SECURITY ATTACK detected. It looks like somebody is sending POST or Host: commands to "
                  "Valkey. This is likely due to an attacker attempting to use Cross Protocol Scripting to "
                  "compromise your Valkey instance. Connection from %s aborted.",
                  c->peer);
        clientCloseAsap(c);
        return;
    case END_EOF:
        serverLog(LL_VERBOSE, "Client closed connection id=%llu addr=%s", (unsigned long long)c->id, c->peer);
        break;
    case END_ERROR:
        serverLog(LL_VERBOSE, "Error on client connection id=%llu addr=%s", (unsigned long long)c->id, c->peer);
        break;
    }
    if (c->flags & CLIENT_CLOSE_AFTER_REPLY && why == END_EOF) return; /* the drain says when */
    s->ended = true;
    if (!c->blocks_head || !mayExecute(c)) closeAfterOutput(c);
}

static void streamGone(clientStream *s, replyBlock *chain) {
    releaseReplies(chain);
    releaseReplies(s->held_replies);
    s->held_replies = NULL;
    rebalanceForget(s);
    streamFree(s);
}

void batchDeliver(const ioMessage *m) {
    clientStream *s = m->stream;
    switch ((messageType)m->type) {
    case MSG_REQUESTS:
        if (m->written || m->reply) repliesWritten(s, m->reply, m->written);
        requestsArrived(s, m->block);
        break;
    case MSG_WRITTEN: repliesWritten(s, m->reply, m->bytes); break;
    case MSG_END: streamEnded(s, (endReason)m->number); break;
    case MSG_LEFT: rebalanceLeft(s); break;
    case MSG_GONE: streamGone(s, m->reply); break;
    case MSG_JOIN:
    case MSG_LEAVE:
    case MSG_OUTPUT:
    case MSG_DRAIN:
    case MSG_CLOSE:
    case MSG_FREE: serverPanic("message %d is not for main", m->type);
    }
}

/* --- a batch -------------------------------------------------------------------------------------- */

static const parsedCommand *nextRecord(const requestBlock **b, const parsedCommand *p) {
    if (p->next) return p->next;
    *b = (*b)->next;
    return *b ? (*b)->current : NULL;
}

/* Take the next commands of the queue's first clients, without changing anything. */
static size_t collect(batchItem *items, size_t max) {
    size_t n = 0;
    for (client *c = queue.head; c && n < max; c = c->next_ready) {
        if (!mayExecute(c)) continue;
        const requestBlock *b = c->blocks_head;
        for (const parsedCommand *p = b->current; p && n < max; p = nextRecord(&b, p)) {
            prefetchRead(p);
            items[n++] = (batchItem){c, p};
        }
    }
    return n;
}

/* The keys of a batch, each once: a hot key that many clients ask for is fetched for all of them. */
typedef struct keyBatch {
    dictLookup lookups[DICT_PREFETCH_MAX];
    size_t n;
    uint64_t seen; /* a bit for the top six bits of each hash */
} keyBatch;

static bool keyIsThere(const keyBatch *keys, const dict *d, uint64_t hash) {
    if (likely(!(keys->seen & 1ull << (hash >> 58)))) return false;
    for (size_t i = 0; i < keys->n; i++)
        if (keys->lookups[i].hash == hash && keys->lookups[i].d == d) return true;
    return false;
}

static void addKey(keyBatch *keys, const dict *d, slice name, uint64_t hash, bool skip_value) {
    if (keyIsThere(keys, d, hash)) return;
    keys->seen |= 1ull << (hash >> 58);
    dictLookup *l = &keys->lookups[keys->n++];
    l->d = d;
    l->key = name;
    l->hash = hash;
    l->skip_value = skip_value;
    prefetchRead(name.ptr);
}

/* Main does not touch a value that is replaced, nor one that another thread sends. What main itself sends it had
 * better have asked for early. */
static bool sentElsewhere(const client *c) {
    return reply_conf.offload && c->stream->home != ioThreadMain();
}

/* Walk the keys of all items through their dicts. Commands with more keys than the batch holds fetch the rest by
 * themselves. */
static void prefetchBatch(const batchItem *items, size_t n, size_t max_keys) {
    keyBatch keys;
    keys.n = 0;
    keys.seen = 0;
    size_t covered = 0; /* keys asked for, a hot one as often as it stands in the batch */
    const client *last = NULL;
    bool elsewhere = false;
    for (size_t i = 0; i < n; i++) prefetchRead(items[i].req->argv);
    for (size_t i = 0; i < n && keys.n < max_keys; i++) {
        const parsedCommand *p = items[i].req;
        if (p->nkeys == 0 || p->nkeys > max_keys - keys.n || p->flags & REQ_PREFETCHED) continue;
        if (items[i].c != last) {
            last = items[i].c;
            elsewhere = sentElsewhere(last);
        }
        bool skip_value = elsewhere || p->cmd->flags & CMD_BUILDS_VALUE;
        for (uint32_t k = 0; k < p->nkeys; k++)
            addKey(&keys, items[i].c->db->keys, p->argv[p->keys[k].index], p->keys[k].hash, skip_value);
        covered += p->nkeys;
        ((parsedCommand *)(uintptr_t)p)->flags |= REQ_PREFETCHED;
    }
    if (covered == 0) return;
    if (keys.n > 1) dictPrefetch(keys.lookups, keys.n); /* one walk has nothing to overlap with */
    net_stats.prefetch_batches++;
    net_stats.prefetch_entries += (long long)covered;
}

static void returnBlock(client *c) {
    clientStream *s = c->stream;
    requestBlock *b = c->blocks_head;
    c->blocks_head = b->next;
    if (!c->blocks_head) c->blocks_tail = NULL;
    c->input_bytes -= b->wire_bytes;
    requestBlockExecuted(&ioThreadMain()->pool, b);
    if (!s->on_returning) {
        s->on_returning = true;
        s->next_returning = queue.returning;
        queue.returning = s;
    }
    b->next = s->returning;
    s->returning = b;
}

/* The command has run: on to the next. */
static void advance(client *c) {
    requestBlock *b = c->blocks_head;
    parsedCommand *p = b->current;
    if (unlikely(p->value != NULL)) {
        objectRelease(p->value);
        p->value = NULL;
    }
    b->current = p->next;
    if (!b->current) returnBlock(c);
}

/* Bring the queue in order after its head's commands of this batch have run. */
static void settleHead(client *c) {
    if (queue.head == c) queueTakeHead();
    else queueRemove(c);
    if (c->blocks_head) {
        if (mayExecute(c)) batchClientReady(c);
        else if (c->stream->ended) closeAfterOutput(c);
    } else if (unlikely(c->stream->ended)) {
        closeAfterOutput(c);
    }
}

static size_t executeItems(const batchItem *items, size_t n) {
    monotime now = clockTicks(), told = now; /* when storeNowMs() was set */
    size_t ran = 0;
    for (size_t i = 0; i < n; i++) {
        client *c = items[i].c;
        if (likely(mayExecute(c))) {
            if (likely(processCommand(c, items[i].req, &now) == CALL_DONE)) {
                advance(c);
                ran++;
            }
            if (unlikely(c->flags & CLIENT_CLOSE_AFTER_REPLY)) drainLater(c);
            /* A slow command makes the time of the batch stale: keys may have expired since. */
            if (unlikely(clockTicksToUs(now - told) >= 1000)) {
                storeSetNowMs(clockWallMs());
                told = now;
            }
        }
        if (i + 1 == n || items[i + 1].c != c) settleHead(c);
    }
    return ran;
}

/* Clients at the head of the queue that cannot run now would stop collect(): let them go. */
static void dropIdleHeads(void) {
    while (queue.head && (!mayExecute(queue.head) || !queue.head->blocks_head)) settleHead(queue.head);
}

size_t batchExecute(size_t max) {
    batchItem items[DICT_PREFETCH_MAX];
    size_t ran = 0;
    while (queue.head && ran < max) {
        size_t size = batchSize();
        bool prefetch = prefetch_batch_max_size > 0;
        size_t n = collect(items, size);
        if (n == 0) {
            dropIdleHeads();
            continue;
        }
        storeSetNowMs(clockWallMs());
        if (prefetch && n > 1) prefetchBatch(items, n, size);
        size_t done = executeItems(items, n);
        ran += done ? done : 1;
    }
    if (!queue.head) queue.waiting = 0;
    return ran;
}

/* --- output ---------------------------------------------------------------------------------------- */

static void sendToStream(clientStream *s, replyBlock *chain) {
    client *c = s->session;
    ioMessage m = {.type = MSG_OUTPUT, .stream = s, .block = s->returning, .reply = chain};
    if (c && c->authenticated) m.number = STREAM_AUTHENTICATED;
    s->returning = NULL;
    ioThreadPost(s->home, &m);
}

/* Replies made while the stream is between two holders wait here. */
static void holdReplies(clientStream *s, replyBlock *chain) {
    replyBlock **end = &s->held_replies;
    while (*end) end = &(*end)->next;
    *end = chain;
}

static void flushClient(client *c) {
    clientStream *s = c->stream;
    replyBlock *chain = clientTakeReplies(c);
    if (!chain) return;
    if (s->moving_to) holdReplies(s, chain);
    else sendToStream(s, chain);
}

static void flushReturning(void) {
    while (queue.returning) {
        clientStream *s = queue.returning;
        queue.returning = s->next_returning;
        s->on_returning = false;
        if (s->returning && !s->moving_to) sendToStream(s, NULL);
    }
}

static void flushDrains(void) {
    while (queue.draining) {
        clientStream *s = queue.draining;
        queue.draining = s->next_draining;
        if (s->closing || s->moving_to) continue; /* rebalanceLeft() goes on with it */
        ioMessage m = {.type = MSG_DRAIN, .stream = s};
        ioThreadPost(s->home, &m);
    }
}

void batchFlushOutput(void) {
    client *c;
    while ((c = clientPopPendingWrite()) != NULL) {
        if (c->flags & CLIENT_CLOSE_ASAP || !c->stream) continue;
        if (outputLimitCheck(c)) continue;
        flushClient(c);
    }
    flushReturning();
    flushDrains();
}

/* --- the end of a client ------------------------------------------------------------------------------ */

static void closeStream(clientStream *s) {
    s->session = NULL;
    s->closing = true;
    if (s->moving_to) return; /* rebalanceLeft() closes it */
    ioMessage m = {.type = MSG_CLOSE, .stream = s};
    ioThreadPost(s->home, &m);
}

static void forgetReturning(clientStream *s) {
    clientStream **p = &queue.returning;
    while (*p && *p != s) p = &(*p)->next_returning;
    if (*p) *p = s->next_returning;
    dropBlocks(s->returning);
    s->returning = NULL;
    p = &queue.draining;
    while (*p && *p != s) p = &(*p)->next_draining;
    if (*p) *p = s->next_draining;
}

void batchFreeClosing(void) {
    client *c;
    while ((c = clientPopClosing()) != NULL) {
        queueRemove(c);
        pauseForget(c);
        clientStream *s = c->stream;
        dropBlocks(c->blocks_head);
        c->blocks_head = c->blocks_tail = NULL;
        clientFree(c);
        forgetReturning(s);
        closeStream(s);
    }
}
