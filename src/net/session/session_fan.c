/* session_fan.c -- messages for many clients, on their way from main to the owner threads and back.
 *
 *   fanRun (clients) --sort by thread--> fanBatch (connections), one a thread and protocol --> client_io_fan.c
 *                                        fanBatch, with what sockets did not accept        <--
 *
 * If the message cannot be sent now, because the connection moves or output is held, it becomes output of the client: a
 * block that refers to the shared bytes.
 *
 * Not here    which clients are in a run (client/fan_out.c), how it is written (client_io_fan.c).
 * Owns        batches that have come back, and the array by which runs are sorted.
 * Threads     main.
 * Invariants  1. A connection is in a batch only while its owner thread has it, not while it moves.
 *             2. Output kept by a connection is counted for its client before any of it is reported as written.
 * Cost        two cache lines per client, its own second one and main's of its connection; nothing when the batch comes
 *             back, except for slow readers.
 * Tests       tests/unit/net/session/session_fan_test.c, tests/engine/pubsub.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "session_output_internal.h"

#include "client_check.h"
#include "client_io.h"
#include "fan_out.h"
#include "io_threads.h"
#include "log_limit.h"
#include "panic.h"
#include "rebalance.h"
#include "zmalloc.h"

#define AHEAD 8

/* The connections of one run by thread: counted first, then put into batches of exactly that size. */
static struct {
    clientIo **ios; /* owns; connections of the run, NULL where there is none */
    size_t capacity;
    size_t counts[IO_THREADS_ALL];
    fanBatch *batches[IO_THREADS_ALL];
    unsigned threads; /* only threads below this number occur */
} sorting;

/* Closes a client if there is no memory to send its thread the message: a copy sent later would be out of order. */
static void closeForMemory(client *c) {
    if (c->flags & CLIENT_CLOSE_ASAP) return;
    LOG_LIMITED(LL_WARNING, 1, "clients that were closed for lack of memory for a message",
                "Client id=%llu addr=%s scheduled to be closed: not enough memory to send it a message.",
                (unsigned long long)c->id, c->peer);
    clientCloseAsap(c);
}

/* Turns the message into output of the client, which is counted. Returns NULL if there is no memory. */
static replyBlock *makeOutput(client *c, robj *bytes, slice text) {
    replyBlock *b = replyBlockMake(sizeof(replyRef), true);
    if (!b) {
        closeForMemory(c);
        return NULL;
    }
    incrRefCount(bytes);
    replyBlockAddRef(b, bytes, text);
    const keptOutput kept = {.bytes = text.len, .cost = replyBlockCost(b), .blocks = 1};
    clientOutputKept(c, &kept);
    return b;
}

static bool acceptsMessages(const client *c) {
    return c->io && !(c->flags & (CLIENT_CLOSE_ASAP | CLIENT_CLOSE_AFTER_REPLY));
}

/* Returns the client's connection if the message can go to its owner thread now. Otherwise the message is held, and
 * NULL returned: the client's pending output was made later and must not overtake it. */
static clientIo *ioFor(client *c, robj *bytes, slice text) {
    clientIo *s = c->io;
    if (!acceptsMessages(c)) return NULL;
    if (likely(!s->moving_to && !sessionHolds(s))) return s;
    replyBlock *b = makeOutput(c, bytes, text);
    if (!b) return NULL;
    if (sessionHolds(s)) sessionHold(s, b, NULL);
    else rebalanceKeepOutput(s, b);
    return NULL;
}

static void countIo(clientIo *s) {
    unsigned id = ioThreadId(s->home);
    if (id >= sorting.threads) {
        memset(sorting.counts + sorting.threads, 0, (id + 1 - sorting.threads) * sizeof(*sorting.counts));
        sorting.threads = id + 1;
    }
    sorting.counts[id]++;
}

/* Reserves space for `count` connections. Returns false if there is no memory. */
static bool sessionFanReserve(size_t count) {
    if (count <= sorting.capacity) return true;
    zfree(sorting.ios);
    sorting.ios = ztrymalloc(count * sizeof(*sorting.ios));
    sorting.capacity = sorting.ios ? count : 0;
    return sorting.ios != NULL;
}

static void findIos(const fanRun *run, int protocol, robj *bytes, slice text) {
    size_t count = run->count[protocol];
    sorting.threads = 0;
    for (size_t i = 0; i < count; i++) {
        if (likely(i + AHEAD < count)) {
            client *ahead = fanRunClient(run, protocol, i + AHEAD);
            prefetchRead(&ahead->io);
        }
        clientIo *s = sorting.ios[i] = ioFor(fanRunClient(run, protocol, i), bytes, text);
        if (s) prefetchRead(&s->session);
    }
    for (size_t i = 0; i < count; i++)
        if (sorting.ios[i]) countIo(sorting.ios[i]);
}

static size_t costOf(const fanBatch *b, size_t entries) {
    return sizeof(*b) + entries * sizeof(fanEntry) + b->text.len;
}

static void makeBatches(robj *bytes, slice text) {
    for (unsigned id = 0; id < sorting.threads; id++) {
        sorting.batches[id] = NULL;
        if (sorting.counts[id] == 0) continue;
        fanBatch *b = sorting.batches[id] = ztrymalloc(sizeof(*b) + sorting.counts[id] * sizeof(fanEntry));
        if (!b) continue;
        *b = (fanBatch){.bytes = bytes, .text = text};
        fanMemoryAdd(costOf(b, sorting.counts[id]));
        incrRefCount(bytes);
    }
}

static void postBatches(void) {
    for (unsigned id = 0; id < sorting.threads; id++) {
        fanBatch *b = sorting.batches[id];
        if (!b) continue;
        debugAssert(b->count == sorting.counts[id]);
        ioMessage m = {.type = IO_MSG_FAN, .fan = b};
        ioThreadPost(ioThreadGet(id), &m);
    }
}

static void sendRun(const fanRun *run, int protocol) {
    robj *bytes = run->bytes[protocol];
    slice text = objectRawString(bytes);
    if (!sessionFanReserve(run->count[protocol])) {
        for (size_t i = 0; i < run->count[protocol]; i++) closeForMemory(fanRunClient(run, protocol, i));
        return;
    }
    findIos(run, protocol, bytes, text);
    makeBatches(bytes, text);
    for (size_t i = 0; i < run->count[protocol]; i++) {
        clientIo *s = sorting.ios[i];
        if (!s) continue;
        fanBatch *b = sorting.batches[ioThreadId(s->home)];
        if (unlikely(!b)) {
            closeForMemory(s->session);
            continue;
        }
        b->entries[b->count++] = (fanEntry){.io = s, .batch = b};
    }
    postBatches();
}

static void holdRun(const fanRun *run, int protocol, const outputMark *mark) {
    robj *bytes = run->bytes[protocol];
    slice text = objectRawString(bytes);
    for (size_t i = 0; i < run->count[protocol]; i++) {
        client *c = fanRunClient(run, protocol, i);
        replyBlock *b = acceptsMessages(c) ? makeOutput(c, bytes, text) : NULL;
        if (b) sessionHold(c->io, b, mark);
    }
}

void sessionFanFlush(const outputMark *mark) {
    assertMainRole();
    fanRun *run = fanTakeRuns();
    while (run) {
        fanRun *next = run->next;
        for (int protocol = 0; protocol < 2; protocol++) {
            if (!run->bytes[protocol]) continue;
            if (unlikely(mark != NULL)) holdRun(run, protocol, mark);
            else sendRun(run, protocol);
        }
        fanRunFree(run);
        run = next;
    }
}

void sessionFanned(fanBatch *b) {
    assertMainRole();
    for (size_t i = 0; i < b->kept_count; i++) {
        const fanKept *k = &b->kept[i];
        for (uint32_t n = 0; n < k->refs; n++) incrRefCount(b->bytes);
        client *c = k->io->session;
        if (!c) continue;
        clientOutputKept(c, &k->output);
        clientDebugCheck(c);
    }
    fanMemoryDrop(costOf(b, b->count));
    zfree(b->kept);
    decrRefCount(b->bytes);
    zfree(b);
}
