/* cron.c -- the work that is done `hz` times a second, and before and after each wait of main's loop.
 *
 * Owns        the timer.
 * Threads     main.
 * Tests       tests/engine/expire.tcl, tests/engine/maxmemory.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cron.h"

#include "aof.h"
#include "aof_rewrite.h"
#include "backup_commands.h"
#include "clock.h"
#include "cluster.h"
#include "debug.h"
#include "defrag.h"
#include "evict.h"
#include "expire.h"
#include "hot_keys.h"
#include "latency.h"
#include "log_limit.h"
#include "lru.h"
#include "memory_report.h"
#include "metrics.h"
#include "net.h"
#include "primary_link.h"
#include "quiet_moment.h"
#include "replication.h"
#include "rss_limit.h"
#include "server_settings.h"
#include "shutdown.h"
#include "script_debug.h"
#include "snapshot.h"
#include "tracking.h"
#include "watchdog.h"
#include "web.h"
#include "zmalloc.h"

static aeEventLoop *main_loop; /* borrowed */

/* The timer for the first key that is due. */
static struct {
    long long id;  /* -1: none */
    int64_t at_ms; /* its time */
} due_timer = {.id = -1};

static long long onDue(aeEventLoop *loop, long long id, void *arg);

static void setDueTimer(void) {
    int64_t next_ms = expireNextDueMs();
    if (due_timer.id >= 0) {
        if (due_timer.at_ms <= next_ms) return;
        aeDeleteTimeEvent(main_loop, due_timer.id);
        due_timer.id = -1;
    }
    if (next_ms == INT64_MAX) return;
    int64_t wait_ms = next_ms - clockWallMs();
    due_timer.at_ms = next_ms;
    due_timer.id = aeCreateTimeEvent(main_loop, wait_ms > 0 ? wait_ms : 0, onDue, NULL);
}

static long long onDue(aeEventLoop *loop, long long id, void *arg) {
    unused(loop), unused(id), unused(arg);
    storeSetNowMs(clockWallMs());
    due_timer.at_ms = INT64_MIN; /* no other one while it runs */
    if (!debugCronPaused() && activeExpireCycle(EXPIRE_CYCLE_DUE)) return 0;
    due_timer.id = -1;
    if (!debugCronPaused()) setDueTimer();
    return AE_NOMORE;
}

/* Continues an expire cycle that a tick has not finished, between commands. */
static long long onExpire(aeEventLoop *loop, long long id, void *arg) {
    unused(loop), unused(id);
    bool *scheduled = arg;
    *scheduled = activeExpireCycle(EXPIRE_CYCLE_REST);
    return *scheduled ? 0 : AE_NOMORE;
}

static void expireAtTick(aeEventLoop *loop) {
    static bool expiring;
    if (activeExpireCycle(EXPIRE_CYCLE_SLOW) && !expiring)
        expiring = aeCreateTimeEvent(loop, 0, onExpire, &expiring) >= 0;
    setDueTimer();
}

/* Defragmentation itself determines when it runs next. */
static long long onDefrag(aeEventLoop *loop, long long id, void *arg) {
    unused(loop), unused(id);
    bool *scheduled = arg;
    long long again_ms = defragRun();
    *scheduled = again_ms != 0;
    return *scheduled ? again_ms : AE_NOMORE;
}

static void defragAtTick(aeEventLoop *loop) {
    static bool scheduled;
    if (defragTick() && !scheduled) scheduled = aeCreateTimeEvent(loop, 0, onDefrag, &scheduled) >= 0;
}

static long long onTick(aeEventLoop *loop, long long id, void *arg) {
    unused(id), unused(arg);
    shutdownCron();
    watchdogTick();
    if (unlikely(debugCronPaused())) return 1000 / server_settings.hz;
    int64_t now_ms = clockWallMs();
    storeSetNowMs(now_ms);
    lruClockRefresh(now_ms);
    zmallocKeepReserve();
    metricsCron();
    netCron();
    expireAtTick(loop);
    dbResizeTick();
    aofTick();
    backupTick();
    aofRewriteTick();
    snapshotTick();
    replTick();
    clusterTick();
    scriptDebugTick();
    trackingTick();
    hotkeysTick();
    defragAtTick(loop);
    webTick();
    return 1000 / server_settings.hz;
}

/* Does nothing that changes the dataset or relies on it. */
void cronWhileLoading(void) {
    shutdownCron();
    watchdogTick();
    uint64_t began_us = clockMonotonicUs();
    int64_t now_ms = clockWallMs();
    storeSetNowMs(now_ms);
    lruClockRefresh(now_ms);
    zmallocKeepReserve();
    metricsCron();
    webTick();
    primaryLinkWhileLoading();
    latencyAddSampleIfNeeded("while-blocked-cron", (long long)((clockMonotonicUs() - began_us) / 1000));
}

/* Forks that wait for a quiet moment are due at these two. */
static void whileForksWait(void) {
    if (unlikely(debugCronPaused())) return;
    aofRewriteTick();
    snapshotTick();
}

static long long onMinute(aeEventLoop *loop, long long id, void *arg) {
    unused(loop), unused(id), unused(arg);
    clockRefreshTimezone(); /* daylight saving may have begun */
    memoryWasteTick();
    return 60000;
}

/* Continues eviction that ran out of its time slice, between commands. */
static long long onEvict(aeEventLoop *loop, long long id, void *arg) {
    unused(loop), unused(id);
    bool *scheduled = arg;
    *scheduled = evictPerform() == EVICT_RUNNING;
    return *scheduled ? 0 : AE_NOMORE;
}

static void evictNow(void) {
    static bool evicting;
    if (store_settings.maxmemory && !evicting && evictPerform() == EVICT_RUNNING)
        evicting = aeCreateTimeEvent(main_loop, 0, onEvict, &evicting) >= 0;
}

/* Work that is done in every loop iteration, on the thread that has the main role. */
static void onIteration(void) {
    activeExpireCycle(EXPIRE_CYCLE_FAST);
    evictNow();
    clusterRuns();
}

static long long onSecond(aeEventLoop *loop, long long id, void *arg) {
    unused(loop), unused(id), unused(arg);
    if (rssLimitTick()) evictNow();
    logLimitsReport(clockMonotonicMs());
    return 1000;
}

void cronStart(aeEventLoop *loop) {
    aeCreateTimeEvent(loop, 1, onTick, NULL);
    aeCreateTimeEvent(loop, 1000, onSecond, NULL);
    aeCreateTimeEvent(loop, 60000, onMinute, NULL);
    main_loop = loop;
    quietInit(loop, whileForksWait);
    dueKeysOnEarlier(setDueTimer);
    netEachIteration(onIteration);
    aeSetBeforeSleep(loop, netBeforeSleep, NULL);
    aeSetBeforeWait(loop, netBeforeWait, NULL);
    aeSetAfterSleep(loop, netAfterSleep, NULL);
    aeSetAfterEvent(loop, netAfterEvent, NULL);
}
