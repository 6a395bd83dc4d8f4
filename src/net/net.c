/* net.c -- the net layer's part of each turn of main's loop.
 *
 * A turn of main: sockets of thread 0 are read (by the loop), then here: messages of the other threads are
 * taken, batches executed, replies sent, clients closed; then main says that it sleeps, and waits.
 *
 * Owns        the counters of the turn.
 * Threads     main.
 * Tests       tests/engine/io_threads.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "net.h"

#include "call.h"
#include "client_eviction.h"
#include "command_batch.h"
#include "evict.h"
#include "listen.h"
#include "log.h"
#include "output_limits.h"
#include "pause.h"
#include "rebalance.h"

#include <sys/resource.h>

#define MESSAGES_PER_POLL 256  /* of one thread */
#define COMMANDS_PER_FLUSH 64  /* then replies go out, so that clients and threads do not wait for the whole queue */
#define COMMANDS_PER_TURN 2048 /* then sockets and timers get their turn */

static struct {
    monotime woke;      /* main's work began */
    bool apply_threads; /* io-threads or io-threads-always-active has changed */
} state;

/* qbuf and qbuf-free: what its holder has read but main has not, and what main has but has not executed. */
static void fillQuerySizes(const client *c, clientInfoExtra *extra) {
    const clientStream *s = c->stream;
    if (!s) return;
    extra->query_used = atomic_load_explicit(&s->query_used, memory_order_relaxed);
    extra->query_free = atomic_load_explicit(&s->query_room, memory_order_relaxed);
}

void netInit(aeEventLoop *loop) {
    ioThreadsInit(loop, batchDeliver);
    storeSetFreeSink(ioThreadsFreeElsewhere);
    evictSetUncounted(ioThreadsTransientMemory);
    clientOnInfo(fillQuerySizes);
    netShareSettings();
    state.woke = clockTicks();
}

bool netListen(void) {
    if (!listenOpen(ioThreadMain()->loop)) return false;
    ioThreadsSetCount((int)net_conf.io_threads);
    rebalanceApply();
    return true;
}

bool netApplyThreads(const char **err) {
    unused(err);
    /* Streams move at the end of the turn: now a batch of their commands may be under way. */
    state.apply_threads = true;
    return true;
}

/* The loops grow with the descriptors they meet; a larger maxclients needs only the system's leave. */
bool netApplyMaxClients(const char **err) {
    if (!ioThreadMain()) return true;
    struct rlimit limit;
    rlim_t want = (rlim_t)net_conf.maxclients + NET_RESERVED_FDS;
    if (getrlimit(RLIMIT_NOFILE, &limit) == -1) return true;
    if (limit.rlim_cur < want) {
        limit.rlim_cur = want;
        if (limit.rlim_max < want) limit.rlim_max = want;
        if (setrlimit(RLIMIT_NOFILE, &limit) == -1) {
            *err = "The operating system is not able to handle the specified number of clients";
            return false;
        }
    }
    return true;
}

void netStopListening(void) {
    listenClose();
}

int netActiveThreads(void) {
    return rebalanceActiveThreads();
}

bool netListenerInfo(int i, char *out, size_t size) {
    return listenInfo(i, out, size);
}

static void resumeClients(void) {
    client *c;
    while ((c = pauseTakeReleased()) != NULL) batchClientReady(c);
}

/* Close what is to be closed and publish. Closing may free output, and flushing may close, so until nothing is left. */
static void settle(void) {
    ioThreadReport(ioThreadMain());
    do {
        batchFlushOutput();
        batchFreeClosing();
    } while (client_state.pending_write || client_state.closing);
    ioThreadsFlush();
}

/* Take messages and run commands until there are none or the turn is used up. True when there is more to do. */
static bool work(void) {
    size_t ran = 0;
    for (;;) {
        size_t came = ioThreadsPoll(MESSAGES_PER_POLL);
        size_t now = batchExecute(COMMANDS_PER_FLUSH);
        ran += now;
        settle();
        if (!came && !now && !batchHasReady()) return false;
        if (ran >= COMMANDS_PER_TURN) return true;
    }
}

static void applyThreads(void) {
    state.apply_threads = false;
    ioThreadsSetCount((int)net_conf.io_threads);
    rebalanceApply();
}

void netBeforeSleep(aeEventLoop *loop) {
    if (unlikely(pause_any || pausePostponed())) resumeClients();
    uint64_t command_ns = engine_stats.command_ns;
    bool more = work();
    monotime now = clockTicks();
    uint64_t turn_ns = clockTicksToNs(now - state.woke);
    net_stats.main_active_ns += turn_ns;
    net_stats.cycle_ns += turn_ns;
    net_stats.cycles++;
    net_stats.command_cycles_ns += engine_stats.command_ns - command_ns;
    state.woke = now;
    if (unlikely(state.apply_threads)) applyThreads();
    rebalanceCheck(now, net_stats.main_active_ns);
    ioThreadsFlush();
    if (more || batchHasReady() || !ioThreadsMainSleeps()) aeDontWait(loop);
}

void netAfterSleep(void) {
    ioThreadsMainAwake();
    state.woke = clockTicks();
}

/* Clients that have been silent for longer than `timeout`. */
static void closeIdleClients(void) {
    if (net_conf.timeout_s == 0) return;
    monotime now = clockTicks();
    listIter it = listBegin(client_state.clients, false);
    listNode *n;
    while ((n = listNext(&it)) != NULL) {
        client *c = listNodeValue(n);
        if (c->flags & (CLIENT_BLOCKED | CLIENT_PAUSED | CLIENT_REPLICA | CLIENT_PRIMARY | CLIENT_PUBSUB)) continue;
        if (clockTicksToNs(now - c->last_interaction) < (uint64_t)net_conf.timeout_s * 1000000000ull) continue;
        serverLog(LL_VERBOSE, "Closing idle client");
        clientCloseAsap(c);
    }
}

/* The soft limit of a client that neither reads nor sends is noticed here. */
static void checkOutputLimits(void) {
    listIter it = listBegin(client_state.clients, false);
    listNode *n;
    while ((n = listNext(&it)) != NULL) {
        client *c = listNodeValue(n);
        if (c->soft_limit_since && !(c->flags & CLIENT_CLOSE_ASAP)) outputLimitCheck(c);
    }
}

void netCron(void) {
    closeIdleClients();
    checkOutputLimits();
    clientEvictionCheck();
    ioThreadsReap();
}

void netShutdown(void) {
    settle();
    ioThreadsShutdown();
}
