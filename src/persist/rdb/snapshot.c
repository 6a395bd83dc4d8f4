/* snapshot.c -- when snapshots are made, by a command, a save point or a schedule, and what follows their end.
 *
 *   by command (BGSAVE) -------------------.        .-> succeeded: its changes do not count as unsaved any more
 *   due (save points, at the tick) --------+-> child --> failed: writes are refused, the next attempt is after 5 s
 *   scheduled (in a unit, beside a child) -'        '-> killed on purpose: no effect
 *
 * Operators must not overlook that snapshots fail (that went unnoticed for a week): writes are refused, and because
 * that can be turned off, a line is logged every ten minutes.
 *
 * Not here    how the file is written (rdb_save.c); how a child is started and reaped (child.c); refusing writes
 *             (disk_gate.c).
 * Owns        the schedule, the figures; the temporary file of a child that has failed.
 * Threads     main; children are started on its own thread.
 * Invariants  1. The file that a start reads is replaced as a whole, or unchanged.
 *             2. last_ok is false exactly while GATE_DISK counts the last snapshot as failed.
 *             3. child_pid is set exactly while the running child was started here.
 *             4. While snapshots are held, only one that a command asked for replaces the file.
 * Tests       tests/persist/snapshot.tcl, tests/unit/persist/rdb/snapshot_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "snapshot.h"

#include "child.h"
#include "clock.h"
#include "disk_gate.h"
#include "durable_file.h"
#include "fork_outlook.h"
#include "forked.h"
#include "log.h"
#include "panic.h"
#include "persist_settings.h"
#include "quiet_moment.h"
#include "script_context.h"
#include "rdb_save.h"
#include "reply.h"
#include "sds.h"
#include "store_state.h"
#include "zmalloc.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RETRY_AFTER_S 5
#define REMIND_EVERY_S 600
#define POINT_SHARE 10
#define US_PER_S 1000000
#define MB ((size_t)1 << 20)

static struct {
    int64_t last_save_s, last_try_s, began_s, reminded_s; /* wall clock */
    long long last_took_s;                                /* -1: none yet */
    long long dirty_at_fork;
    long long saves;
    size_t last_cow_bytes;
    bool last_ok, scheduled;
    bool waits;                      /* the scheduled one waits for a quiet moment */
    bool held;                       /* only a command may replace the file */
    bool began_held;                 /* the running child was started while `held` was on */
    volatile sig_atomic_t child_pid; /* for the signal handler; 0: none */
    ino_t emptied;                   /* file that FLUSHALL wrote while a child was being killed; 0: none */
    /* Temporary files. The names are formatted early, because the signal handler needs them. */
    char own_file[RDB_TEMPORARY_NAME_SIZE], child_file[RDB_TEMPORARY_NAME_SIZE];
    /* Of the running child, or the last one: `dir` and `dbfilename` may change meanwhile. */
    char folder[PATH_MAX]; /* "" if the working directory has no name */
    sds file;              /* owns: path of its snapshot; NULL before the first child */
} snapshot = {.last_ok = true, .last_took_s = -1};

/* Asserts the invariants, at both ends of the functions of the header. A child for replicas (repl/primary/full_sync.c)
 * writes a snapshot as well, but was not started here. */
static void snapshotCheck(void) {
    debugAssert(!snapshot.child_pid || (childRunning() == CHILD_RDB && snapshot.child_pid == childPid()));
    debugAssert(!snapshot.child_pid || (snapshot.file && *snapshot.child_file));
    debugAssert(snapshot.last_ok == !diskGateSnapshotFailed());
    debugAssert(!snapshot.began_held || snapshot.held || !snapshot.child_pid);
    debugAssert(!snapshot.emptied || snapshot.child_pid);
    debugAssert(!snapshot.waits || snapshot.scheduled);
    debugAssert(snapshot.last_took_s >= -1 && snapshot.saves >= 0);
}

static int64_t nowS(void) { return clockWallUs() / US_PER_S; }

static void setOk(bool ok) {
    if (snapshot.last_ok && !ok) snapshot.reminded_s = nowS();
    snapshot.last_ok = ok;
    diskGateSetSnapshotFailed(!ok);
}

void snapshotInit(void) {
    snapshot.last_save_s = snapshot.last_try_s = nowS();
    rdbTemporaryName(snapshot.own_file, getpid());
}

bool snapshotHasSavePoints(void) { return persist_settings.save_point_count > 0; }

void snapshotHold(bool on) {
    assertMainRole();
    snapshotCheck();
    snapshot.held = on;
    if (on) snapshot.began_held = false; /* a child that is running writes an older dataset */
}

bool snapshotAtShutdown(void) {
    if (!snapshotHasSavePoints()) return false;
    if (snapshot.held)
        serverLog(LL_WARNING,
                  "No snapshot is saved: the dataset is what a failed load has left, and %s may be the last copy "
                  "of the previous one.",
                  persist_settings.dbfilename);
    return !snapshot.held;
}

/* ---- The file --------------------------------------------------------------------------------------------- */

static bool (*fill_replication)(rdbReplication *out); /* const after startup */
static void (*on_end)(bool ok, const char *file);     /* const after startup */

void snapshotSetReplication(bool (*fill)(rdbReplication *out)) { fill_replication = fill; }

void snapshotOnEnd(void (*fn)(bool ok, const char *file)) { on_end = fn; }

static bool writeFile(void) {
    rdbSaveOptions options = rdbSaveDefaults();
    rdbReplication replication;
    if (fill_replication && fill_replication(&replication)) options.replication = &replication;
    options.progress = childProgress;
    options.version = rdbSaveVersion(false);
    return rdbSaveFile(persist_settings.dbfilename, &options);
}

bool snapshotWriteNow(void) {
    assertMainRole();
    snapshotCheck();
    if (!writeFile()) return false;
    serverLog(LL_NOTICE, "DB saved on disk");
    store_stats.dirty = snapshot.dirty_at_fork = 0;
    snapshot.last_save_s = nowS();
    snapshot.held = false;
    setOk(true);
    snapshotCheck();
    return true;
}

static sds inFolder(const char *name) {
    if (!*snapshot.folder) return sdsNew(name);
    return sdsCatPrintf(sdsEmpty(), "%s/%s", snapshot.folder, name);
}

/* ---- The child ---------------------------------------------------------------------------------------------- */

static bool childWork(void *arg) {
    unused(arg);
    if (!writeFile()) return false;
    serverLog(LL_NOTICE, "DB saved on disk");
    return true;
}

static void childSucceeded(const childEnd *how) {
    serverLog(LL_NOTICE, "Background saving terminated with success (%zu MB copied on write)", how->cow_bytes / MB);
    store_stats.dirty -= snapshot.dirty_at_fork;
    if (store_stats.dirty < 0) store_stats.dirty = 0; /* DEBUG RELOAD has reset it meanwhile */
    snapshot.last_cow_bytes = how->cow_bytes;
    snapshot.last_save_s = nowS();
    if (snapshot.began_held) snapshot.held = false;
    setOk(true);
}

static ino_t currentInode(void) {
    struct stat st;
    return stat(persist_settings.dbfilename, &st) == 0 ? st.st_ino : 0;
}

/* A child that was killed may have renamed its file just before, over the one that FLUSHALL wrote. Then another
 * snapshot is scheduled. */
static void checkEmptiedFile(void) {
    if (!snapshot.emptied) return;
    if (currentInode() != snapshot.emptied) snapshot.scheduled = true;
    snapshot.emptied = 0;
}

static void childFailed(const childEnd *how) {
    removeInBackground(inFolder(snapshot.child_file));
    if (how->on_purpose) {
        serverLog(LL_NOTICE, "Background saving was cancelled");
        return;
    }
    if (how->signal) serverLog(LL_WARNING, "Background saving terminated by signal %d", how->signal);
    else serverLog(LL_WARNING, "Background saving error");
    setOk(false);
}

static void childEnded(void *arg, const childEnd *how) {
    unused(arg);
    debugAssert(snapshot.child_pid == how->pid && snapshot.file && childRunning() == CHILD_NONE);
    snapshot.child_pid = 0;
    checkEmptiedFile();
    snapshot.last_took_s = nowS() - snapshot.began_s;
    if (how->ok) childSucceeded(how);
    else childFailed(how);
    if (on_end) on_end(how->ok, snapshot.file);
    snapshotCheck();
}

/* Forks the child. Returns false with errno if that fails. */
static bool snapshotBegin(void) {
    childJob job = {
        .purpose = CHILD_RDB, .cpulist = persist_settings.bgsave_cpulist, .work = childWork, .ended = childEnded};
    debugAssert(!snapshot.child_pid && childRunning() == CHILD_NONE);
    snapshotCheck();
    snapshot.scheduled = snapshot.waits = false;
    snapshot.last_try_s = nowS();
    snapshot.dirty_at_fork = store_stats.dirty;
    snapshot.began_held = snapshot.held;
    if (!getcwd(snapshot.folder, sizeof(snapshot.folder))) snapshot.folder[0] = '\0';
    sdsFree(snapshot.file);
    snapshot.file = inFolder(persist_settings.dbfilename);
    if (!childStart(&job)) {
        serverLog(LL_WARNING, "Can't save in background: fork: %s", strerror(errno));
        setOk(false);
        return false;
    }
    snapshot.began_s = snapshot.last_try_s;
    rdbTemporaryName(snapshot.child_file, childPid());
    snapshot.child_pid = childPid();
    snapshot.saves++;
    serverLog(LL_NOTICE, "Background saving started by pid %d", (int)childPid());
    snapshotCheck();
    return true;
}

bool snapshotStart(void) {
    assertMainThread();
    return snapshotBegin();
}

void snapshotAbandon(void) {
    assertMainThread();
    if (childRunning() != CHILD_RDB) return;
    serverLog(LL_WARNING, "There is a child saving an .rdb. Killing it!");
    childKillAndWait();
    debugAssert(!snapshot.child_pid);
    sds path = inFolder(snapshot.child_file);
    unlink(path);
    sdsFree(path);
}

void snapshotAbandonFromSignal(void) {
    pid_t pid = (pid_t)snapshot.child_pid;
    unlink(snapshot.own_file);
    if (!pid) return;
    kill(pid, SIGKILL);
    unlink(snapshot.child_file);
}

void snapshotAllFlushed(void) {
    assertMainRole();
    if (forkedIsCopy()) return;                   /* the file is the parent's, whose dataset was not flushed */
    if (childRunning() == CHILD_RDB) childKill(); /* even if it is for replicas and does not write this file */
    if (snapshotHasSavePoints() && snapshotWriteNow() && snapshot.child_pid) snapshot.emptied = currentInode();
    snapshotCheck();
}

/* ---- The tick ------------------------------------------------------------------------------------------------- */

static const savePoint *duePoint(int64_t now_s) {
    for (int i = 0; i < persist_settings.save_point_count; i++) {
        const savePoint *p = &persist_settings.save_points[i];
        if (store_stats.dirty >= p->changes && now_s - snapshot.last_save_s > p->seconds) return p;
    }
    return NULL;
}

static void logReminder(int64_t now_s) {
    if (snapshot.last_ok || now_s - snapshot.reminded_s < REMIND_EVERY_S) return;
    snapshot.reminded_s = now_s;
    serverLog(LL_WARNING,
              "No snapshot has been saved for %lld seconds, because saving fails. The last attempt, %lld seconds "
              "ago, has logged why. Changes since the last snapshot are in memory only.",
              (long long)(now_s - snapshot.last_save_s), (long long)(now_s - snapshot.last_try_s));
}

/* Returns how long a snapshot may wait for a quiet moment. One that a save point asks for waits at most a tenth of the
 * point's time, so that what a crash can lose hardly grows. */
static long long waitBoundMs(const savePoint *point) {
    long long bound_ms = persist_settings.save_when_quiet_s * 1000;
    if (!point || point->seconds >= persist_settings.save_when_quiet_s * POINT_SHARE) return bound_ms;
    return point->seconds * 1000 / POINT_SHARE;
}

void snapshotTick(void) {
    assertMainThread();
    snapshotCheck();
    childTick();
    quietTick();
    forkOutlookTick();
    snapshotCheck();
    int64_t now_s = nowS();
    logReminder(now_s);
    if (childRunning() != CHILD_NONE) return;
    if (!snapshot.last_ok && now_s - snapshot.last_try_s <= RETRY_AFTER_S) return;
    const savePoint *point = snapshot.held ? NULL : duePoint(now_s);
    if (!point && !snapshot.scheduled) return;
    bool now = quietMayFork(waitBoundMs(point));
    snapshot.waits = !now && snapshot.scheduled;
    if (!now) return;
    if (point) serverLog(LL_NOTICE, "%lld changes in %lld seconds. Saving...", point->changes, point->seconds);
    (void)snapshotBegin();
}

/* ---- INFO ----------------------------------------------------------------------------------------------------- */

snapshotFigures snapshotFiguresNow(void) {
    bool running = childRunning() == CHILD_RDB;
    return (snapshotFigures){.in_progress = running || snapshot.waits,
                             .last_ok = snapshot.last_ok,
                             .last_save_s = snapshot.last_save_s,
                             .last_took_s = snapshot.last_took_s,
                             .current_took_s = running ? nowS() - snapshot.began_s : -1,
                             .saves = snapshot.saves,
                             .last_cow_bytes = snapshot.last_cow_bytes};
}

void snapshotResetStats(void) { snapshot.saves = 0; }

/* ---- Commands --------------------------------------------------------------------------------------------------- */

void saveCommand(client *c) {
    snapshotCheck();
    if (childRunning() == CHILD_RDB) {
        addReplyError(c, "Background save already in progress");
        return;
    }
    snapshot.saves++;
    if (snapshotWriteNow()) addReplyOk(c);
    else addReplyError(c, "-ERR");
}

static void cancelSave(client *c) {
    if (childRunning() == CHILD_RDB) {
        childKill();
        addReplyStatus(c, "Background saving cancelled");
    } else if (snapshot.scheduled) {
        snapshot.scheduled = snapshot.waits = false;
        addReplyStatus(c, "Scheduled background saving cancelled");
    } else {
        addReplyError(c, "Background saving is currently not in progress or scheduled");
    }
}

/* Within a transaction or a script the snapshot is only scheduled; so it is while another child runs, with SCHEDULE. */
static void bgsave(client *c, bool schedule) {
    bool within_unit = c->flags & CLIENT_MULTI || scriptContextIsRunning();
    if (childRunning() == CHILD_RDB) {
        addReplyError(c, "Background save already in progress");
    } else if (within_unit || (schedule && childRunning() != CHILD_NONE)) {
        snapshot.scheduled = true;
        addReplyStatus(c, "Background saving scheduled");
    } else if (childRunning() != CHILD_NONE) {
        addReplyError(c, "Another child process is active (AOF?): can't BGSAVE right now. Use BGSAVE SCHEDULE in order "
                         "to schedule a BGSAVE whenever possible.");
    } else if (snapshotBegin()) {
        addReplyStatus(c, "Background saving started");
    } else {
        addReplyError(c, "-ERR");
    }
}

void bgsaveCommand(client *c) {
    bool schedule = c->argc == 2 && sliceIs(c->argv[1], "schedule");
    if (c->argc == 1 || schedule) bgsave(c, schedule);
    else if (c->argc == 2 && sliceIs(c->argv[1], "cancel")) cancelSave(c);
    else addReplySyntaxError(c);
}

void lastsaveCommand(client *c) { addReplyLongLong(c, snapshot.last_save_s); }
