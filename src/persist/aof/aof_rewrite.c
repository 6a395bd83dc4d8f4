/* aof_rewrite.c -- rewrites the log from the dataset, so that it does not grow without bound.
 *
 *   begin: fork ---- child writes temp-rewriteaof-PID.aof, renames it to temp-rewriteaof-bg-PID.aof ----> ended
 *        `-- cut: what main appends from here on goes to the next increment          (ok)  |
 *                                                                                          v
 *   settled <-- history is deleted <-- manifest names it <-- the AOF thread makes it the base
 *
 * Until the manifest names the new base, the old base and all increments are the log, and they remain so if any step
 * fails. The cut is at the fork: main executes nothing between the two. If the thread cannot create the next increment,
 * the child is killed, and the log continues in the old one.
 *
 * The first rewrite of a log that is turned on while the server runs has nothing to cut: appending begins at the fork,
 * in a temporary increment, and the AOF thread renames base and increment. If it fails, another one begins at the next
 * tick; after the third failure in a row there are waits between them. A replica that has received its dataset as a
 * file needs no child: that file is the base.
 *
 * Without a log there is nothing to cut either: the base is made nevertheless, and renamed in the background.
 *
 * Not here    the contents of the base (rdb_save.c, aof_base.c); files and manifest (aof_thread.c, aof_files.c).
 * Owns        the schedule, the figures; the temporary file of a child that has failed.
 * Threads     main; takeBase() a background thread.
 *   IDLE --aofRewriteBegin()--> WRITING --child ended well--> TAKING_BASE --the thread has answered--> IDLE
 *    ^                   |    '--the same, no log--> TAKING_ALONE --background work is done----'
 *    '------ failed -----'    IDLE --useReceived()--> TAKING_BASE
 *
 * Invariants  1. One rewrite at a time, from aofRewriteBegin() to aofRewriteSettle(). The state is WRITING exactly
 *                while the child exists.
 *             2. The first base of a log has with_log set; so has one that a primary has sent, which is always a first
 *                one.
 *             3. A success resets the count of failures.
 * Tests       tests/persist/rewrite.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "aof_rewrite.h"

#include "aof.h"
#include "aof_files.h"
#include "aof_system.h"
#include "bio.h"
#include "call.h"
#include "child.h"
#include "clock.h"
#include "durable_file.h"
#include "log.h"
#include "panic.h"
#include "persist_settings.h"
#include "quiet_moment.h"
#include "script_context.h"
#include "rdb_save.h"
#include "reply.h"
#include "zmalloc.h"

#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FAILURES_FREE 3 /* in a row without a wait; later automatic ones wait 1, 2, 4 ... minutes */
#define WAIT_MAX_S 3600
#define NOT_YET_S (-(int64_t)WAIT_MAX_S)
#define US_PER_S 1000000
#define MB ((size_t)1 << 20)
#define NAME_SIZE 48

/* TAKING_BASE: the AOF thread renames the base; TAKING_ALONE: background work does, as there is no log. */
typedef enum { IDLE, WRITING, TAKING_BASE, TAKING_ALONE } rewriteState;

static struct {
    rewriteState state;
    bool scheduled, last_ok, as_commands;
    bool with_log, first; /* at its start there was a log; it makes the first base of a log */
    bool received;        /* there is no child: a primary has sent the base */
    bool incr_failed;     /* the bytes after the fork cannot be written */
    int64_t began_s, last_end_s;
    long long last_took_s; /* -1: none yet */
    long long started, failures;
    size_t last_cow_bytes;
    char folder[PATH_MAX]; /* where the child writes; `dir` may change meanwhile */
} rewrite = {.last_ok = true, .last_took_s = -1};

/* Asserts the invariants, at both ends of the functions of the header and of callbacks. childEnded() changes the state
 * a moment after the child has ended. */
static void rewriteCheck(void) {
    debugAssert((rewrite.state == WRITING) == (childRunning() == CHILD_AOF));
    debugAssert(rewrite.state != TAKING_BASE || rewrite.with_log);
    debugAssert(rewrite.state != TAKING_ALONE || (!rewrite.with_log && !rewrite.incr_failed));
    debugAssert(!rewrite.first || rewrite.with_log);
    debugAssert(!rewrite.received || (rewrite.first && !rewrite.as_commands && rewrite.state != WRITING));
    debugAssert(rewrite.failures >= 0 && (!rewrite.last_ok || rewrite.failures == 0));
    debugAssert(rewrite.started >= 0 && rewrite.last_took_s >= -1);
}

static int64_t nowS(void) { return clockWallUs() / US_PER_S; }

/* Returns how long the next automatic rewrite waits after the last. */
static int64_t retryWaitS(void) {
    if (rewrite.failures < FAILURES_FREE) return 0;
    long long more = rewrite.failures - FAILURES_FREE, wait_s = more < 6 ? 60LL << more : WAIT_MAX_S;
    return wait_s < WAIT_MAX_S ? wait_s : WAIT_MAX_S;
}

static void aofRewriteSettle(bool ok) {
    debugAssert(!ok || rewrite.state == TAKING_BASE || rewrite.state == TAKING_ALONE);
    rewrite.state = IDLE;
    rewrite.last_ok = ok;
    rewrite.failures = ok ? 0 : rewrite.failures + 1;
    rewrite.last_end_s = nowS();
    if (ok && rewrite.received) return; /* the AOF thread has logged it */
    if (ok) serverLog(LL_NOTICE, "Background AOF rewrite finished successfully");
    else if (aofIsTurningOn())
        serverLog(LL_WARNING, "The append-only file could not be enabled yet. The next attempt begins in %lld seconds.",
                  (long long)retryWaitS());
    else if (retryWaitS())
        serverLog(LL_WARNING,
                  "Background AOF rewrite has failed %lld times in a row. The next automatic one begins in %lld "
                  "seconds at the earliest.",
                  rewrite.failures, (long long)retryWaitS());
}

/* ---- The files of a child ---- */

static void formatName(char out[NAME_SIZE], bool complete, pid_t pid) {
    snprintf(out, NAME_SIZE, "temp-rewriteaof-%s%d.aof", complete ? "bg-" : "", (int)pid);
}

static sds pathOf(bool complete, pid_t pid) {
    char name[NAME_SIZE];
    formatName(name, complete, pid);
    return aofPath(rewrite.folder, name);
}

/* ---- Without a log: a background thread renames the base ---- */

typedef struct baseTaking {
    sds folder, path; /* own */
    const char *ending;
} baseTaking;

static _Atomic int base_taken; /* by takeBase(), with release: 1 if it has succeeded, -1 if it has failed */

static void takeBase(void *arg) {
    baseTaking *b = arg;
    bool ok = aofFilesTakeBase(b->folder, persist_settings.appendfilename, b->path, b->ending);
    if (!ok) unlink(b->path);
    sdsFree(b->folder);
    sdsFree(b->path);
    zfree(b);
    atomic_store_explicit(&base_taken, ok ? 1 : -1, memory_order_release);
}

/* ---- The child's end ---- */

static void onSwitched(bool ok, int error) {
    if (!ok) serverLog(LL_WARNING, "Can't install the rewritten AOF as base file: %s", strerror(error));
    if (rewrite.first && !ok) aofAbandonFirst();
    debugAssert(rewrite.state == TAKING_BASE);
    aofRewriteSettle(ok);
    rewriteCheck();
}

static const char *baseEnding(void) { return rewrite.as_commands ? "aof" : "rdb"; }

static void useBase(pid_t pid) {
    debugAssert(rewrite.state == WRITING && childRunning() == CHILD_NONE && *rewrite.folder);
    rewrite.state = rewrite.with_log ? TAKING_BASE : TAKING_ALONE;
    if (rewrite.with_log) {
        aofSwitchBase(pathOf(true, pid), baseEnding(), false, onSwitched);
        return;
    }
    baseTaking *b = zcalloc(1, sizeof(*b));
    b->folder = aofPath(rewrite.folder, persist_settings.appenddirname);
    b->path = pathOf(true, pid);
    b->ending = baseEnding();
    atomic_store_explicit(&base_taken, 0, memory_order_relaxed);
    bioSubmit(BIO_FSYNC, takeBase, b);
}

/* Returns whether the base can be used: the bytes after the fork are being written, and the log is still wanted. */
static bool baseIsUsable(void) { return !rewrite.incr_failed && (!rewrite.first || aofIsTurningOn()); }

static void childEnded(void *arg, const childEnd *how) {
    unused(arg);
    debugAssert(rewrite.state == WRITING);
    rewrite.last_took_s = nowS() - rewrite.began_s;
    if (how->ok && baseIsUsable()) {
        serverLog(LL_NOTICE, "Background AOF rewrite terminated with success (%zu MB copied on write)",
                  how->cow_bytes / MB);
        rewrite.last_cow_bytes = how->cow_bytes;
        useBase(how->pid);
        rewriteCheck();
        return;
    }
    removeInBackground(pathOf(false, how->pid));
    removeInBackground(pathOf(true, how->pid));
    if (rewrite.first) aofAbandonFirst();
    if ((how->on_purpose || how->ok) && !rewrite.incr_failed) {
        serverLog(LL_NOTICE, "Background AOF rewrite was cancelled");
        rewrite.state = IDLE;
        rewriteCheck();
        return;
    }
    if (how->signal) serverLog(LL_WARNING, "Background AOF rewrite terminated by signal %d", how->signal);
    else serverLog(LL_WARNING, "Background AOF rewrite terminated with error");
    aofRewriteSettle(false);
}

/* ---- The child's start ---- */

static bool childWork(void *arg) {
    char temporary[NAME_SIZE], complete[NAME_SIZE];
    unused(arg);
    rdbSaveOptions options = rdbSaveDefaults();
    options.is_aof_base = true;
    options.as_commands = rewrite.as_commands ? &aof_base_commands : NULL;
    options.version = rewrite.as_commands ? 0 : rdbSaveVersion(true);
    options.incremental_sync = persist_settings.aof_rewrite_incremental_fsync;
    options.temporary = temporary;
    options.progress = childProgress;
    formatName(temporary, false, getpid());
    formatName(complete, true, getpid());
    return rdbSaveFile(complete, &options);
}

static void abandonRewrite(void) {
    debugAssert(rewrite.state == WRITING);
    rewrite.incr_failed = true;
    childKill();
}

static void onCut(bool ok, int error) {
    debugAssert(!rewrite.first || rewrite.state == IDLE);
    if (ok || rewrite.state == IDLE) return;
    serverLog(LL_WARNING, "Can't create the next AOF incr file: %s. The rewrite is abandoned.", strerror(error));
    if (rewrite.state == WRITING) abandonRewrite();
}

/* Kills the child if the increment fails. While the base is being renamed the thread's answer to that job reports the
 * error. */
static void onFirstFailed(int error) {
    if (rewrite.state != WRITING) return;
    serverLog(LL_WARNING, "Can't write the first AOF incr file: %s. The rewrite is abandoned.", strerror(error));
    abandonRewrite();
    aofAbandonFirst();
}

/* Forks the child. Returns false, and logs a line, if that fails. */
static bool aofRewriteBegin(void) {
    childJob job = {
        .purpose = CHILD_AOF, .cpulist = persist_settings.aof_rewrite_cpulist, .work = childWork, .ended = childEnded};
    debugAssert(rewrite.state == IDLE && childRunning() == CHILD_NONE);
    rewrite.scheduled = rewrite.incr_failed = rewrite.received = false;
    rewrite.first = aofIsTurningOn();
    rewrite.with_log = rewrite.first || aofIsOn();
    rewrite.as_commands = !persist_settings.aof_use_rdb_preamble;
    rewrite.began_s = rewrite.last_end_s = nowS();
    if (!getcwd(rewrite.folder, sizeof(rewrite.folder))) rewrite.folder[0] = '\0';
    if (!childStart(&job)) {
        serverLog(LL_WARNING, "Can't rewrite append only file in background: fork: %s", strerror(errno));
        aofRewriteSettle(false);
        return false;
    }
    rewrite.state = WRITING;
    rewrite.started++;
    serverLog(LL_NOTICE, "Background append only file rewriting started by pid %d", (int)childPid());
    /* The log is divided at the fork: the base does not have the commands that main appends from here on. */
    if (rewrite.first && !aofBeginFirst(onFirstFailed)) abandonRewrite();
    else if (!rewrite.first && rewrite.with_log) aofCut(onCut);
    rewriteCheck();
    return true;
}

/* ---- When ---- */

static bool mayTryAgain(int64_t now_s) { return now_s - rewrite.last_end_s >= retryWaitS(); }

/* Returns whether no rewrite, remainder of an abandoned one, or other child is running, and no backup copies the
 * files. A log that is being turned on does not wait for a backup: its files are new. */
static bool mayBegin(void) {
    if (aofFilesAreHeld() && !aofIsTurningOn()) return false;
    return rewrite.state == IDLE && childRunning() == CHILD_NONE && (!aofIsTurningOn() || aofMayBeginFirst());
}

/* Returns by how many percent the log has grown if a rewrite is due, else 0. */
static long long dueGrowth(int64_t now_s) {
    aofFigures f = aofFiguresNow();
    if (!aofIsOn() || !persist_settings.auto_aof_rewrite_percentage || !mayTryAgain(now_s)) return 0;
    if (f.current_size <= persist_settings.auto_aof_rewrite_min_size) return 0;
    long long base = f.base_size ? f.base_size : 1, growth = (f.current_size - base) * 100 / base;
    return growth < persist_settings.auto_aof_rewrite_percentage ? 0 : growth;
}

/* Begins a rewrite that is due or scheduled. The first base of a log does not wait for a quiet moment, because until it
 * is written nothing is promised. */
static void beginIfDue(void) {
    bool turning_on = aofIsTurningOn();
    long long growth = turning_on ? 0 : dueGrowth(nowS());
    if (!growth && !rewrite.scheduled && !(turning_on && mayTryAgain(nowS()))) return;
    if (!turning_on && !quietMayFork(persist_settings.save_when_quiet_s * 1000)) return;
    if (growth) serverLog(LL_NOTICE, "Starting automatic rewriting of AOF on %lld%% growth", growth);
    (void)aofRewriteBegin();
}

void aofRewriteTick(void) {
    rewriteCheck();
    if (rewrite.state == TAKING_ALONE) {
        int result = atomic_load_explicit(&base_taken, memory_order_acquire);
        if (result) aofRewriteSettle(result > 0);
    }
    if (mayBegin()) beginIfDue();
    rewriteCheck();
}

/* Returns whether a log can be created on the disk; logs the reason if not. */
static bool canCreateLog(void) {
    sds folder = aofFolderPath(persist_settings.appenddirname);
    bool ok = folder && aofFilesTry(folder, persist_settings.appendfilename);
    sdsFree(folder);
    return ok;
}

/* Makes a snapshot that the primary has sent the first base, so that no child has to write the same dataset again.
 * Returns false, with the file unchanged, if that is not possible now. */
static bool useReceived(const char *file) {
    if (!persist_settings.aof_use_rdb_preamble || rewrite.state != IDLE || !aofMayBeginFirst()) return false;
    if (!aofBeginFirst(onFirstFailed)) return false;
    rewrite.first = rewrite.with_log = rewrite.received = true;
    rewrite.scheduled = rewrite.incr_failed = rewrite.as_commands = false;
    rewrite.state = TAKING_BASE;
    aofSwitchBase(sdsNew(file), baseEnding(), true, onSwitched);
    rewriteCheck();
    return true;
}

/* Begins to turn the log on. The disk is checked before the client gets its reply. A child that is already making a
 * base is killed, because that base lacks what is appended from here on. In the middle of a unit there is no fork; a
 * tick begins the rewrite then. */
static bool turnOn(const char *received, bool *taken) {
    const client *c = callCurrentClient();
    debugAssert(aofIsTurningOn());
    *taken = false;
    rewrite.last_end_s = NOT_YET_S;
    if (!canCreateLog()) {
        rewrite.last_ok = false;
        return false;
    }
    if (received && useReceived(received)) {
        *taken = true;
        return true;
    }
    if (childRunning() == CHILD_AOF) childKill();
    if (mayBegin() && !(c && c->flags & CLIENT_MULTI) && !scriptContextIsRunning()) return aofRewriteBegin();
    serverLog(LL_NOTICE, "The append-only file is being enabled: its first rewrite begins when no transaction or child "
                         "process is running");
    return true;
}

bool aofRewriteIsFirst(void) { return rewrite.state != IDLE && rewrite.first && aofIsTurningOn(); }

void aofRewriteAbandon(void) {
    if (childRunning() == CHILD_AOF) {
        serverLog(LL_WARNING, "There is a child rewriting the AOF. Killing it!");
        childKillAndWait();
    }
    rewrite.scheduled = false;
    debugAssert(rewrite.state != WRITING);
    rewriteCheck();
}

void aofRewriteInit(void) {
    aofOnTurnOn(turnOn);
    aofOnStop(aofRewriteAbandon);
}

aofRewriteFigures aofRewriteFiguresNow(void) {
    bool running = rewrite.state != IDLE;
    return (aofRewriteFigures){.in_progress = running,
                               .scheduled = rewrite.scheduled || (!running && aofIsTurningOn()),
                               .last_ok = rewrite.last_ok,
                               .last_took_s = rewrite.last_took_s,
                               .current_took_s = running ? nowS() - rewrite.began_s : -1,
                               .started = rewrite.started,
                               .failures = rewrite.failures,
                               .last_cow_bytes = rewrite.last_cow_bytes};
}

void aofRewriteResetStats(void) { rewrite.started = rewrite.failures = 0; }

/* ---- The command ---- */

void bgrewriteaofCommand(client *c) {
    rewriteCheck();
    if (rewrite.state != IDLE) {
        addReplyError(c, "Background append only file rewriting already in progress");
        return;
    }
    rewrite.failures = 0;
    if (!mayBegin() || c->flags & CLIENT_MULTI || scriptContextIsRunning()) {
        rewrite.scheduled = true;
        addReplyStatus(c, "Background append only file rewriting scheduled");
    } else if (aofRewriteBegin()) {
        addReplyStatus(c, "Background append only file rewriting started");
    } else {
        addReplyError(c,
                      "Can't execute an AOF background rewriting. Please check the server logs for more information.");
    }
}
