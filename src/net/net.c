/* net.c -- the net layer's part of each iteration of main, on its own loop or on an I/O thread that has the role.
 *
 * An iteration takes messages of the I/O threads, executes batches, sends replies and closes clients. On main's own
 * thread, the loop has before that read the sockets of connections that it owns (if there is no I/O thread), and
 * releases the role after that for the time of the wait.
 *
 * Owns        the counters of the iteration.
 * Threads     main; netAfterEvent(), netBeforeSleep(), netBeforeWait(), netAfterSleep(): main's own thread.
 * Tests       tests/unit/net/net_test.c, tests/engine/io_threads.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "net.h"

#include "blocking.h"
#include "call.h"
#include "client_cron.h"
#include "client_eviction.h"
#include "client_describe.h"
#include "command_batch.h"
#include "evict.h"
#include "hot_keys.h"
#include "io_threads.h"
#include "listen.h"
#include "log.h"
#include "main_policy.h"
#include "main_role.h"
#include "output_share.h"
#include "panic.h"
#include "pause.h"
#include "rebalance.h"
#include "reply_hold.h"
#include "session_output.h"
#include "sessions.h"
#include "setting.h"
#include "tls_settings.h"
#include "yield.h"
#include "zmalloc.h"

#include <stdio.h>

#define MESSAGES_PER_POLL 256 /* taken from each thread at a time */
#define COMMANDS_PER_FLUSH 64 /* then replies are sent, so that clients and threads do not wait for the whole queue */
#define COMMANDS_PER_ITERATION 2048 /* then sockets and timers are served */
#define ITERATION_JOBS_MAX 4
#define TRANSIENT_SHARE 64 /* requests in transit up to this part of maxmemory, 1/64, are left out */
#define TRANSIENT_MIN ((size_t)1 << 20)

static struct {
    monotime woke;      /* when the work of this iteration began */
    bool apply_threads; /* io-threads or io-threads-always-active has changed */
    bool serving;       /* inside netServeOthers() */
    void (*jobs[ITERATION_JOBS_MAX])(void);
    int njobs;
} iterations;

/* Fills in the sizes of requests not executed yet: qbuf and qbuf-free are what the owner thread has read but not handed
 * over. The requests that main has count as input_bytes; what their blocks take beyond that is added to other_bytes. */
static void fillQuerySizes(const client *c, clientInfoExtra *extra) {
    const clientIo *s = c->io;
    if (!s) return;
    extra->query_used = atomic_load_explicit(&s->query_used, memory_order_relaxed);
    extra->query_free = atomic_load_explicit(&s->query_free, memory_order_relaxed);
    extra->fanned_bytes = netCounterGet(&s->fanned_bytes);
    for (const requestBlock *b = c->blocks_head; b; b = b->next)
        extra->other_bytes += requestBlockMemory(b) - b->wire_bytes;
    extra->last_bytes = atomic_load_explicit(&s->last_bytes, memory_order_relaxed);
}

/* Returns the bytes of requests in transit that do not count for eviction: they are freed a moment later, and counting
 * them would evict keys for as much as clients happen to send at once. But a few values of megabytes are not small
 * compared with maxmemory, which is to limit the process. So the result is limited, and used memory stays below
 * maxmemory plus that limit. */
static size_t transientLeftOut(void) {
    size_t share = (size_t)store_settings.maxmemory / TRANSIENT_SHARE;
    size_t most = share > TRANSIENT_MIN ? share : TRANSIENT_MIN;
    size_t bytes = ioThreadsTransientMemory();
    return bytes < most ? bytes : most;
}

/* --- blocked clients with a timeout ------------------------------------------------------------------ */

#define WAIT_TIMER_MAX_MS 3600000 /* later times are checked again after this, as the wall clock may have been set */

static struct {
    int64_t deadline_ms; /* wall-clock time for which it is set; 0: not set */
    long long id;
} wait_timer; /* a timer of main's own loop */

static long long onDeadline(aeEventLoop *loop, long long id, void *arg);

static void setDeadline(int64_t wall_ms) {
    aeEventLoop *loop = ioThreadOwner(ioThreadMain())->loop;
    if (wait_timer.deadline_ms && wait_timer.deadline_ms <= wall_ms) return;
    if (wait_timer.deadline_ms) aeDeleteTimeEvent(loop, wait_timer.id);
    int64_t after_ms = wall_ms - clockWallMs();
    if (after_ms < 0) after_ms = 0;
    if (after_ms > WAIT_TIMER_MAX_MS) after_ms = WAIT_TIMER_MAX_MS;
    wait_timer.id = aeCreateTimeEvent(loop, after_ms, onDeadline, NULL);
    wait_timer.deadline_ms = wall_ms;
}

static long long onDeadline(aeEventLoop *loop, long long id, void *arg) {
    unused(loop), unused(id), unused(arg);
    wait_timer.deadline_ms = 0;
    int64_t next_ms = blockingExpire(clockWallMs());
    if (next_ms) setDeadline(next_ms);
    return AE_NOMORE;
}

/* Counts samples of commands that have run, for HOTKEYS GET in the same pipeline. */
static void countSamples(void) {
    batchCountSamples();
    sessionsCountSamples();
}

static bool applyBind(const char **err) {
    const char *why = NULL;
    if (listenReopen(&why)) return true;
    *err = "Failed to bind to specified addresses.";
    return false;
}

static bool applyEviction(const char **err) {
    unused(err);
    clientCronNow();
    return true;
}

static void registerAppliers(void) {
    settingOnApply("bind", applyBind);
    settingOnApply("port", listenReopen);
    settingOnApply("maxclients", netApplyMaxClients);
    settingOnApply("maxmemory-clients", applyEviction);
    settingOnApply("io-threads", netApplyThreads);
    settingOnApply("io-threads-always-active", netApplyThreads);
}

void netInit(aeEventLoop *loop) {
    assertMainThread();
    const ioThreadHooks hooks = {.to_session = sessionDeliver,
                                 .to_io = clientIoDeliver,
                                 .delivered = clientIosFan,
                                 .report = clientIosReport,
                                 .iteration = netDelegatedIteration};
    ioThreadsInit(loop, &hooks);
    storeSetFreeSink(ioThreadsFreeElsewhere);
    evictAddUncounted(transientLeftOut);
    outputShareInit(ioThreadsLargeRequests);
    clientEvictionInit();
    clientOnInfo(fillQuerySizes);
    hotKeysSetNet(ioThreadsTidyHotKeys, countSamples);
    netShareSettings();
    registerAppliers();
    netEachIteration(holdTakePublished);
    holdSetWake(ioThreadsWakeMain);
    yieldSetServe(netServeOthers);
    blockingInit(batchUnblocked);
    blockingOnDeadline(setDeadline);
    iterations.woke = clockTicks();
}

void netEachIteration(void (*job)(void)) {
    assertMainThread();
    serverAssert(iterations.njobs < ITERATION_JOBS_MAX);
    iterations.jobs[iterations.njobs++] = job;
}

static void applyThreads(void) {
    iterations.apply_threads = false;
    ioThreadsSetCount((int)net_settings.io_threads);
    ioThreadsSetHandshaker(net_settings.io_threads > 1 && tls_settings.port != 0);
    rebalanceApply();
}

/* Call when tls-port has changed, and with it whether there is a handshake thread. */
static bool netReopen(const char **err) {
    iterations.apply_threads = true;
    return listenReopen(err);
}

bool netListen(void) {
    assertMainThread();
    if (!tlsStart(netReopen) || !listenOpen(ioThreadOwner(ioThreadMain())->loop)) return false;
    applyThreads();
    return true;
}

bool netApplyThreads(const char **err) {
    assertMainRole();
    int why;
    long long limit = fileLimitRaise(&why);
    if (limit >= 0 && limit < fileLimitWanted()) {
        *err = "Not enough file descriptors for so many I/O threads: raise 'ulimit -n' or lower maxclients";
        return false;
    }
    /* Connections move at the end of the iteration: a batch of their commands may be in progress now. */
    iterations.apply_threads = true;
    return true;
}

/* The loops grow with the descriptors they get; a larger maxclients only needs a higher limit of descriptors. */
bool netApplyMaxClients(const char **err) {
    assertMainRole();
    static char text[128];
    int why;
    if (!ioThreadMain()) return true;
    long long limit = fileLimitRaise(&why);
    if (limit < 0 || limit >= fileLimitWanted()) return true;
    snprintf(text, sizeof(text),
             "The operating system is not able to handle the specified number of clients, try with %lld",
             limit - fileLimitReserved());
    *err = text;
    return false;
}

int netActiveThreads(void) {
    assertMainRole();
    int level = rebalanceActiveThreads() - 1;
    return level > 1 || mainPolicyIsDedicated() || net_settings.io_threads_always_active ? level : 0;
}

/* Resumes the paused client, unless it is being closed. */
static void resumeHeld(client *c) {
    if (c->flags & (CLIENT_CLOSE_ASAP | CLIENT_CLOSE_AFTER_REPLY)) return;
    monotime now = clockTicks();
    callResumeHeld(c, &now);
    if (c->flags & CLIENT_CLOSE_AFTER_REPLY) sessionDrain(c);
}

/* Resumes clients whose pause has ended, at most as many as commands run between two flushes. Returns true if there
 * were any, as there may be more. */
static bool resumeClients(void) {
    if (likely(!pause_any && !pausePostponed())) return false;
    client *c;
    int n = 0;
    for (; n < COMMANDS_PER_FLUSH && (c = pauseTakeReleased()) != NULL; n++) {
        if (blockingIsHeld(c)) resumeHeld(c);
        else batchUnblocked(c);
    }
    return n > 0;
}

/* Sends output, closes clients and publishes. Closing may free output and sending may close clients, so both are
 * repeated until nothing is left. */
static void netSettle(void) {
    clientIosReport(ioThreadOwner(ioThreadActing()));
    do {
        sessionsFlush();
        sessionsFreeClosing();
    } while (client_state.pending_write || client_state.closing);
    ioThreadsFlush();
    if (unlikely(++client_state.iteration == 0)) client_state.iteration = 1;
}

/* Returns whether the iteration should end although there is more to do. */
static bool iterationIsUsedUp(size_t ran) {
    if (ran >= COMMANDS_PER_ITERATION || batchIsForMainThread()) return true;
    return ioThreadActing() != ioThreadMain() && (mainRoleIsWanted() || mainPolicyMovesRole());
}

/* Takes messages and runs commands until there are none or the iteration is used up. Returns true if there is more to
 * do. */
static bool work(void) {
    size_t ran = 0;
    for (;;) {
        size_t messages = ioThreadsPoll(MESSAGES_PER_POLL);
        size_t now = batchExecute(COMMANDS_PER_FLUSH);
        ran += now;
        net_stats.executed += (long long)now;
        netSettle();
        bool resumed = resumeClients();
        if (!messages && !now && !resumed && !batchHasReady()) return false;
        if (iterationIsUsedUp(ran)) return true;
    }
}

/* Runs one iteration of main, on whatever thread. Returns true if there is more to do. */
static bool runIteration(void) {
    for (int i = 0; i < iterations.njobs; i++) iterations.jobs[i]();
    if (unlikely(blocking_ready)) { /* a timer has removed an expired key that clients wait for */
        monotime begin = clockTicks();
        callServeBlocked(&begin);
    }
    bool more = work();
    monotime now = clockTicks();
    uint64_t iteration_ns = clockTicksToNs(now - iterations.woke);
    net_stats.busy_ns += iteration_ns;
    net_stats.cycle_ns += iteration_ns;
    net_stats.cycles++;
    net_stats.command_ns = engine_stats.command_ns; /* commands have run outside runIteration() too (netAfterEvent()) */
    iterations.woke = now;
    mainLoad load = {.busy_ns = net_stats.busy_ns, .commands = net_stats.executed, .idle_ms = clockIdleMs};
    rebalanceCheck(now, &load);
    load.threads_full = rebalanceIsFull();
    mainPolicyCheck(now, &load);
    ioThreadsFlush();
    zmallocKeepReserve(); /* restores a spent reserve from what the iteration has freed */
    return more;
}

/* --- main's own thread ---------------------------------------------------------------------------- */

/* Executes what this thread has read as soon as it makes a full batch: the bytes are still in the cache, and the memory
 * that the commands free serves the next reads. */
void netAfterEvent(aeEventLoop *loop, void *arg) {
    unused(loop), unused(arg);
    assertMainThread();
    if (likely(!batchIsFull()) || iterations.serving) return;
    net_stats.executed += (long long)batchExecute(batchWaiting());
    sessionsFlush();
}

void netBeforeSleep(aeEventLoop *loop, void *arg) {
    unused(arg);
    assertMainThread();
    if (unlikely(iterations.serving)) return;
    uint64_t before = net_stats.busy_ns;
    bool more = runIteration();
    net_stats.main_active_ns += net_stats.busy_ns - before;
    if (unlikely(iterations.apply_threads)) applyThreads();
    if (more) aeDontWait(loop);
}

void netBeforeWait(aeEventLoop *loop, void *arg) {
    unused(arg);
    assertMainThread();
    if (unlikely(iterations.serving)) return;
    ioThreadsFlush();
    /* An I/O thread with the role could not reach connections of this thread. */
    bool offer = ioThreadsCount() > 1 && rebalanceIsIdle(ioThreadMain()) && mainPolicyOffersRole();
    if (batchHasReady() || !ioThreadsMainSleeps(offer)) aeDontWait(loop);
}

void netAfterSleep(aeEventLoop *loop, void *arg) {
    unused(loop), unused(arg);
    assertMainThread();
    ioThreadsMainAwake(); /* first: another thread may have the role, and be serving */
    netCounterAdd(&ioThreadOwner(ioThreadMain())->stats.polls, 1);
    if (unlikely(iterations.serving)) return;
    iterations.woke = clockTicks();
}

/* --- while main works for long ------------------------------------------------------------------------- */

/* Handles the sockets of this thread, takes messages, executes what may run now, sends replies. A command and the loop
 * may be on the stack: the loop's hooks do nothing meanwhile. Without a command, at startup, batches run as usual and
 * clients are freed. A script in such a batch may call this function again. */
void netServeOthers(void) {
    assertMainRole();
    bool within = iterations.serving;
    serverAssert(!within || batchIsOpen());
    ioOwner *h = ioThreadOwner(ioThreadActing());
    iterations.serving = true;
    aeProcessEvents(h->loop, AE_FILE_EVENTS | AE_DONT_WAIT);
    ioThreadsPoll(MESSAGES_PER_POLL);
    if (batchIsOpen()) {
        uint64_t command_ns = engine_stats.command_ns;
        net_stats.executed += (long long)batchServe(COMMANDS_PER_ITERATION);
        clientIosReport(h);
        sessionsFlush();
        ioThreadsFlush();
        engine_stats.command_ns = command_ns; /* the command on the stack counts their time as its own */
    } else {
        net_stats.executed += (long long)batchExecute(COMMANDS_PER_ITERATION);
        netSettle();
    }
    iterations.serving = within;
}

/* --- an I/O thread that has the main role -------------------------------------------------------------- */

iterationEnd netDelegatedIteration(void) {
    assertMainRole();
    long long before = net_stats.executed;
    uint64_t busy_ns = net_stats.busy_ns;
    iterations.woke = clockTicks();
    bool more = runIteration();
    netCounterAdd(&ioThreadOwner(ioThreadActing())->stats.acting_ns, net_stats.busy_ns - busy_ns);
    net_stats.delegated_commands += net_stats.executed - before;
    if (iterations.apply_threads || batchIsForMainThread()) return ITERATION_FOR_MAIN;
    return more || batchHasReady() ? ITERATION_LEFT_WORK : ITERATION_DONE;
}

/* --- ten times a second -------------------------------------------------------------------------------- */

void netCron(void) {
    assertMainThread();
    monotime now = clockTicks();
    clientCronTick(now);
    ioThreadsTick(now);
    tlsCron();
    rebalanceCron();
    ioThreadsReap(rebalanceIsIdle);
}

/* A command may be running (SHUTDOWN), so no client is freed. */
void netShutdown(void) {
    assertMainThread();
    sessionsFlush();
    ioThreadsFlush();
    ioThreadsShutdown();
}
