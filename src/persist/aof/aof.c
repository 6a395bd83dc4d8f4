/* aof.c -- the append-only file on main: turns what is propagated into bytes, and makes replies wait for them.
 *
 * A sink of propagate.h appends to the queue of the AOF thread: one copy of the command's own bytes, and SELECT where
 * the database changes. Before replies are sent main publishes how far the thread may write (one store); it does
 * nothing else for the disk.
 *
 * always: every client with output waits until everything that was appended so far is synced, a reader too, as it may
 * have seen what is not safe yet. Main goes on with the next loop iteration meanwhile, so one sync serves all commands
 * of the iterations that run during it (group commit).
 *
 * everysec, no: replies are sent at once, unless the thread has fallen behind: if a write is late by WRITE_LAG_MS, or
 * by LAG_MS during a sync, for which a write may have to wait; or, with everysec, if a sync is late by LAG_MS. Then
 * replies wait as with always, until the thread has caught up. So the loss of acknowledged writes has a bound that does
 * not depend on the disk. For clients that do not wait for replies the bound is QUEUE_MAX: then writes are paused.
 * Replies of commands that took SLOW_NS wait for the write as well: a millisecond more does not matter to them, and the
 * writes of a long script survive kill -9 once its reply is read.
 *
 * A log that is turned on while the server runs begins with a rewrite: from the fork on the thread writes a temporary
 * increment (`first`), and replies wait for that as the policy says. But there is no log before base and increment have
 * their names: until then an error of the disk is not reported to clients. An attempt that fails is abandoned (its
 * thread, `ending_thread`, then ends by itself), and another one follows.
 *
 *   OFF -- wanted --> WAITING for the fork --> FIRST -- switched --> ON     FIRST, ON: there is a thread
 *    ^                  ^---- abandoned ---'                         |
 *    '------- appendonly no; suspended; the end of the process ------'
 *
 * Not here    system calls (aof_thread.c); what is propagated (engine/propagate.c); reading (aof_load.c).
 * Owns        the state of the log on main.
 * Threads     main.
 * Invariants  1. Only complete units are published (aof_queue.h), even while a unit is being appended.
 *             2. While the log is on each propagated item is in the queue, in its order.
 *             3. Writes are paused for the log only while `queue_waiter` waits, and then there is a thread.
 *             4. An error of the disk is recorded here, and in GATE_DISK, only in state ON.
 *             5. A thread that is leaving has no successor before it has ended.
 * Cost        off: nothing. On: a copy per command; per flush a store and a few loads.
 * Tests       tests/persist/aof.tcl, tests/persist/turn_on.tcl, tests/unit/persist/aof/aof_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "aof.h"

#include "aof_files.h"
#include "aof_load.h"
#include "aof_thread.h"
#include "call.h"
#include "clock.h"
#include "db.h"
#include "disk_gate.h"
#include "engine_settings.h"
#include "evict.h"
#include "libraries.h"
#include "log.h"
#include "panic.h"
#include "pause.h"
#include "resp_format.h"
#include "setting.h"
#include "snapshot.h"
#include "yield.h"
#include "zmalloc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define LAG_MS 1500      /* an everysec sync begins a second after the last one; the rest is for the disk */
#define WRITE_LAG_MS 250 /* the thread polls each millisecond; the rest is for a busy machine or disk */
#define SLOW_NS 5000000
#define MARK_MS 10    /* resolution of the age of unsafe bytes */
#define MARKS_MAX 256 /* a power of two */
#define QUEUE_MAX ((uint64_t)64 << 20)
#define QUEUE_LOW (QUEUE_MAX / 2) /* below it writes are allowed again */
#define WAIT_US 500
#define STOP_HOOKS_MAX 2

/* The reason why replies wait although the policy is not always: a late write, or a late sync. */
typedef enum { ON_TIME, WRITE_LATE, SYNC_LATE } lateness;

/* All bytes before `offset` were appended before `ms`. */
typedef struct ageMark {
    uint64_t offset, ms;
} ageMark;

static struct {
    holdSequence written_seq, synced_seq; /* const after startup */
    aofThread *thread;                    /* owns; NULL while the log is off, or not begun */
    aofThread *ending_thread;             /* owns: an abandoned attempt's thread, until it has ended */
    bool wanted;                          /* the value of appendonly that has been applied */
    bool suspended;                       /* appendonly is yes, but the files stay as they are */
    off_t suspended_size;                 /* size of the files at that moment */
    bool first;                           /* the log is being turned on: the thread writes a temporary increment */
    aofQueue *queue;                      /* borrowed from the thread */
    sds folder;                           /* owns: absolute, of the running log */
    uint64_t begin;                       /* offset at which the queue of the next thread begins */
    int dbid;                             /* of the last SELECT in the increment; -1: none */
    int64_t stamped_s;                    /* of the last timestamp in it */
    bool inside;                          /* between two items of a unit */
    bool child_running;
    int error;                             /* errno of a failed write or sync, as GATE_DISK has it; 0: none */
    off_t base_size, older_size;           /* bytes of the base; of the increments before the last one */
    off_t settled_size;                    /* bytes of all files after the last rewrite or the start */
    aofDoneFn *cut_done, *switch_done;     /* callbacks of a rewrite */
    bool held;                             /* a backup is copying: see aofHoldFiles() */
    aofJob *held_switch;                   /* owns: of a rewrite that has ended meanwhile */
    bool deletion_held;                    /* there may be history that was not deleted meanwhile */
    aofListedFn *listed;                   /* callback of a backup; NULL while the thread has no job of it */
    const aofJob *last_cut;                /* borrowed from the thread: the cut whose result cut_done is for */
    void (*first_failed)(int error);       /* NULL once it was called */
    const aofJob *awaited;                 /* borrowed from the thread: job that main waits for */
    bool awaited_ok;                       /* whether the last awaited job succeeded */
    aofTurnOnFn *turn_on;                  /* const after startup */
    void (*on_begin)(void);                /* const after startup */
    void (*on_stop[STOP_HOOKS_MAX])(void); /* const after startup */
    bool ending;                           /* the thread takes no more jobs */
    long long delayed_sync;
    lateness late;
    uint64_t command_ns;      /* engine_stats.command_ns at the last flush */
    uint64_t written_awaited; /* offset that replies or `queue_waiter` wait for to be written */
    bool writes_reported;
    holdEntry queue_waiter; /* waits until the queue is short again */
    ageMark marks[MARKS_MAX];
    unsigned first_mark, marks_count;
} aof;

/* Asserts the invariants, at both ends of the functions of the header. They also hold when a callback is called in the
 * middle of a change, as it may call aofAbandonFirst(). */
static void aofCheck(void) {
    debugAssert(!aof.thread == !aof.queue && (!aof.queue || aof.queue == aofThreadQueue(aof.thread)));
    debugAssert(!aof.first || (aof.thread && !aof.ending));
    debugAssert(!aof.ending_thread || !aof.thread);
    debugAssert(!aof.suspended || !aof.wanted);
    debugAssert(!aof.first_failed || aof.first);
    debugAssert(aof.thread || (!aof.cut_done && !aof.awaited && !aof.ending && !aof.queue_waiter.reached));
    debugAssert(!aof.last_cut == !aof.cut_done);
    debugAssert(!aof.held_switch || (aof.held && aof.thread && aof.switch_done));
    debugAssert(aof.held || !aof.deletion_held);
    debugAssert(aof.thread || !aof.listed);
    debugAssert(aof.thread || aof.ending_thread || !aof.switch_done);
    debugAssert(aof.error == 0 || (aof.thread && !aof.first));
    debugAssert(aof.marks_count <= MARKS_MAX && aof.first_mark < MARKS_MAX);
    if (!aof.thread) return;
    const aofQueue *s = aof.queue;
    debugAssert(s->whole <= s->appended && (aof.inside || s->whole == s->appended));
    debugAssert(aof.dbid >= -1 && aof.dbid < dbCount());
    debugAssert(aof.written_awaited <= s->appended || aof.written_awaited <= aof.begin);
    unused(s);
}

/* --- the sink of propagated commands ---------------------------------------------------------------------------- */

static void appendSelect(int dbid) {
    char text[RESP_SELECT_MAX];
    aofQueueAppend(aof.queue, text, respSelect(text, dbid));
    aof.dbid = dbid;
}

/* Appends the second in which the next item was executed, if it differs from the last timestamp. */
static void appendTimestamp(void) {
    int64_t now_s = storeNowMs() / 1000;
    if (now_s == aof.stamped_s) return;
    char text[48];
    int n = snprintf(text, sizeof(text), "#TS:%lld\r\n", (long long)now_s);
    aofQueueAppend(aof.queue, text, (size_t)n);
    aof.stamped_s = now_s;
}

static void aofTakeItem(const propagateItem *item) {
    assertMainRole();
    aofCheck();
    debugAssert(item->count > 0 && item->dbid < dbCount());
    if (unlikely(persist_settings.aof_timestamp_enabled) && !aof.inside) appendTimestamp();
    if (unlikely(item->dbid != aof.dbid) && item->dbid >= 0) appendSelect(item->dbid);
    for (uint32_t i = 0; i < item->count; i++) aofQueueAppend(aof.queue, item->pieces[i].ptr, item->pieces[i].len);
    aof.inside = !item->ends_unit;
    if (item->ends_unit) aofQueueEndUnit(aof.queue);
    client *writer = aof.inside ? NULL : callCurrentClient();
    if (writer) propagateNoteWrite(writer, PROPAGATE_AOF, aof.queue->appended);
    debugAssert(!writer || propagateWriteEnd(writer, PROPAGATE_AOF) == aof.queue->whole);
    aofCheck();
}

static const propagateSink aof_sink = {.target = PROPAGATE_AOF, .take = aofTakeItem};

/* --- whether replies may be sent ------------------------------------------------------------------------------ */

static const ageMark *markAt(unsigned i) { return &aof.marks[(aof.first_mark + i) % MARKS_MAX]; }

static void dropMarks(uint64_t safe) {
    while (aof.marks_count > 1 && markAt(1)->offset <= safe) {
        aof.first_mark = (aof.first_mark + 1) % MARKS_MAX;
        aof.marks_count--;
    }
}

/* Returns an upper bound of the age of the oldest complete unit after offset `safe`; 0 if there is none. */
static uint64_t ageAfter(uint64_t safe, uint64_t now_ms) {
    unsigned i = aof.marks_count;
    if (aof.queue->whole <= safe || i == 0) return 0;
    while (i > 1 && markAt(i - 1)->offset > safe) i--;
    return now_ms - markAt(i - 1)->ms;
}

/* Records the time at which the bytes after `before` are appended. While all marks are in use nothing is recorded, and
 * later bytes seem as old as the last mark. */
static void aofMark(uint64_t before, uint64_t now_ms) {
    if (aof.marks_count == MARKS_MAX) return;
    if (aof.marks_count && now_ms - markAt(aof.marks_count - 1)->ms < MARK_MS) return;
    debugAssert(!aof.marks_count || markAt(aof.marks_count - 1)->offset <= before);
    aof.marks[(aof.first_mark + aof.marks_count) % MARKS_MAX] = (ageMark){before, now_ms};
    aof.marks_count++;
}

/* Makes the thread report each write, but only while something waits for one. */
static void updateWriteReports(const aofProgress *p) {
    bool waited = aof.written_awaited > p->written;
    if (likely(waited == aof.writes_reported)) return;
    aof.writes_reported = waited;
    aofThreadReportWrites(aof.thread, waited);
    /* The thread may have written them before it knew that it has to report writes. */
    if (waited) holdReached(aof.written_seq, aofThreadProgress(aof.thread).written);
}

static void awaitWritten(const aofProgress *p, uint64_t offset) {
    if (aof.written_awaited < offset) aof.written_awaited = offset;
    updateWriteReports(p);
}

static void endDiskPause(void) {
    unpauseClients(PAUSE_FOR_DISK);
    holdCancel(&aof.queue_waiter);
}

static void onQueueShort(holdEntry *w) {
    unused(w);
    endDiskPause();
}

/* Pauses writes if the disk is too slow for what clients send. */
static void pauseIfFull(const aofProgress *p) {
    if (likely(aof.queue->appended - p->written <= QUEUE_MAX) || aof.queue_waiter.reached || p->write_error) return;
    pauseClients(PAUSE_FOR_DISK, PAUSE_WRITES, PAUSE_WITHOUT_END);
    uint64_t offset = aof.queue->appended - QUEUE_LOW;
    holdWait(&aof.queue_waiter, aof.written_seq, offset, onQueueShort);
    awaitWritten(p, offset);
}

/* Lets go replies that wait for a disk that has failed. */
static void releaseReplies(void) {
    holdRelease(aof.written_seq);
    holdRelease(aof.synced_seq);
}

/* Records a new error of the thread, or that it has none any more. */
static void checkErrors(const aofProgress *p) {
    if (unlikely(aof.first)) return; /* aofTick() handles errors then */
    int error = p->write_error ? p->write_error : p->sync_error;
    if (likely(error == aof.error)) return;
    aof.error = error;
    diskGateSetAofError(error);
    if (p->write_error) endDiskPause();
    if (error) releaseReplies();
}

static bool syncsHeldBack(void) { return aof.child_running && persist_settings.no_appendfsync_on_rewrite; }

static void applySyncsHeldBack(void) {
    if (!aof.thread) return;
    aofThreadSetNoSyncFrom(aof.thread, syncsHeldBack() ? aof.queue->appended : UINT64_MAX);
}

/* Returns whether the commands since the last flush took so long that waiting for the write adds little to it. */
static bool commandsWereSlow(void) {
    bool slow = engine_stats.command_ns - aof.command_ns >= SLOW_NS;
    aof.command_ns = engine_stats.command_ns;
    return slow;
}

/* Returns whether replies must wait because a write or a sync is late. They do not wait for a disk that has failed,
 * because writes are refused then. */
static lateness latenessOf(const aofProgress *p, bool by_sync, bool slow, uint64_t now_ms) {
    if (p->write_error || p->sync_error) return ON_TIME;
    if (unlikely(slow) && p->written < aof.queue->whole) return WRITE_LATE;
    dropMarks(by_sync ? p->synced : p->written);
    if (by_sync && ageAfter(p->synced, now_ms) > LAG_MS) return SYNC_LATE;
    return ageAfter(p->written, now_ms) > (p->syncing ? LAG_MS : WRITE_LAG_MS) ? WRITE_LATE : ON_TIME;
}

static void setLate(lateness late) {
    if (late == aof.late) return;
    if (late == SYNC_LATE) {
        aof.delayed_sync++;
        serverLog(
            LL_NOTICE,
            "The append-only file has not been synced for more than %d ms (disk is busy?): replies wait for the sync.",
            LAG_MS);
    }
    aof.late = late;
}

bool aofBeforeReplies(holdSequence *seq, uint64_t *offset) {
    assertMainRole();
    if (!aof.thread) return false;
    aofCheck();
    uint64_t before = atomic_load_explicit(&aof.queue->published, memory_order_relaxed), now_ms = 0;
    bool always = persist_settings.appendfsync == FSYNC_ALWAYS, held_back = syncsHeldBack(), slow = commandsWereSlow();
    if (aof.queue->whole != before) {
        now_ms = clockMonotonicMs();
        aofMark(before, now_ms);
        aofThreadPublish(aof.thread);
    }
    aofProgress p = aofThreadProgress(aof.thread);
    checkErrors(&p);
    updateWriteReports(&p);
    pauseIfFull(&p);
    bool by_sync = persist_settings.appendfsync != FSYNC_NO && !held_back && !p.sync_broken;
    uint64_t safe = by_sync ? p.synced : p.written;
    if (safe >= aof.queue->whole) {
        setLate(ON_TIME);
        return false;
    }
    setLate(always ? (by_sync ? ON_TIME : WRITE_LATE)
                   : latenessOf(&p, by_sync, slow, now_ms ? now_ms : clockMonotonicMs()));
    if (!always && aof.late == ON_TIME) return false;
    *seq = aof.late == WRITE_LATE ? aof.written_seq : aof.synced_seq;
    *offset = aof.queue->whole;
    if (aof.late == WRITE_LATE) awaitWritten(&p, *offset);
    debugAssert(*offset > safe && *offset <= atomic_load_explicit(&aof.queue->published, memory_order_relaxed));
    aofCheck();
    return true;
}

bool aofIsSynced(uint64_t offset) { return aofIsOn() && holdIsReached(aof.synced_seq, offset); }

uint64_t aofEnd(void) {
    serverAssert(aofIsOn());
    return aof.queue->appended;
}

void aofWhenSynced(holdEntry *w, uint64_t offset, void (*reached)(holdEntry *w)) {
    serverAssert(aofIsOn()); /* the offset may be one that is never reached: propagateLoseWrites() */
    holdWait(w, aof.synced_seq, offset, reached);
}

/* --- on and off ------------------------------------------------------------------------------------------------ */

/* Loads the log, or begins an empty one. Returns the manifest, or NULL after logging why. */
static aofManifest *findAndLoad(const char *stem, bool hide_user_data) {
    aofLoaded loaded = {.base_size = 0};
    aofManifest *m = aofFilesFind(aof.folder, stem);
    if (!m) return NULL;
    bool ok = m->count > 0 ? aofLoad(aof.folder, m, hide_user_data, &loaded) : aofFilesBegin(aof.folder, stem, m);
    aof.base_size = loaded.base_size;
    aof.older_size = aofManifestLastIncr(m) ? loaded.incrs_size - loaded.last_size : 0;
    aof.settled_size = aof.base_size;
    if (ok) return m;
    aofManifestFree(m);
    return NULL;
}

static void beginQueue(void) {
    aof.queue = aofThreadQueue(aof.thread);
    debugAssert(aof.queue->appended == aof.begin); /* offsets only grow, from one thread to the next */
    debugAssert(!aof.queue_waiter.reached && !aof.error);
    aof.dbid = -1;
    aof.stamped_s = 0;
    aof.inside = aof.writes_reported = false;
    aof.late = ON_TIME;
    aof.marks_count = 0;
    propagateAddSink(&aof_sink);
}

/* Starts the thread; the files are those of `o`. Returns false after logging why. */
static bool startThread(aofThreadOptions o) {
    o.folder = aof.folder;
    o.stem = persist_settings.appendfilename;
    o.begin = aof.begin;
    o.written_seq = aof.written_seq;
    o.synced_seq = aof.synced_seq;
    o.policy = (fsyncPolicy)persist_settings.appendfsync;
    aof.thread = aofThreadStart(&o);
    if (aof.thread) beginQueue();
    else serverLog(LL_WARNING, "Can't start the thread that writes the append-only file: %s", strerror(errno));
    return aof.thread != NULL;
}

/* Starts the thread on the manifest's last increment. Takes ownership of the manifest. */
static bool continueLog(aofManifest *m, const char *stem) {
    bool history = m->incrs > m->history;
    aofThreadOptions o = {.manifest = m};
    o.fd = aofFilesOpenIncr(aof.folder, stem, m, &o.size);
    if (o.fd < 0 || !startThread(o)) {
        aofManifestFree(m);
        return false;
    }
    if (history) aofThreadSubmit(aof.thread, aofJobCreate(AOF_JOB_DELETE));
    return true;
}

bool aofStart(bool hide_user_data) {
    assertMainThread();
    debugAssert(!aof.thread);
    if (!persist_settings.appendonly) return true;
    const char *stem = persist_settings.appendfilename;
    sdsFree(aof.folder);
    aof.folder = aofFolderPath(persist_settings.appenddirname);
    aofManifest *m = aof.folder ? findAndLoad(stem, hide_user_data) : NULL;
    aof.wanted = m != NULL; /* not earlier: while it is read it is neither on nor being turned on */
    bool started = m && continueLog(m, stem);
    aofCheck();
    return started;
}

static void reportResult(aofDoneFn **done, const aofJob *job) {
    aofDoneFn *fn = *done;
    debugAssert(job->ok == (job->error == 0));
    *done = NULL;
    if (fn) fn(job->ok, job->error);
}

/* Deletes the files that are history, now or when they are not held any more. */
static void deleteHistory(void) {
    aof.deletion_held |= aof.held;
    if (aof.held || persist_settings.aof_disable_auto_gc || aof.ending || !aofIsOn()) return;
    aofThreadSubmit(aof.thread, aofJobCreate(AOF_JOB_DELETE));
}

static void onNewBase(const aofJob *job) {
    aof.base_size = job->base_size;
    aof.older_size = job->incr_size;
    aof.settled_size = aof.base_size + aof.older_size + aofThreadProgress(aof.thread).incr_size;
    deleteHistory();
}

static void onSwitched(const aofJob *job) {
    bool begins = aof.first;
    aof.first = false;
    aof.first_failed = NULL;
    onNewBase(job);
    if (begins && !aof.ending && aof.on_begin) aof.on_begin();
}

static void reportFirstFailed(int error) {
    void (*fn)(int) = aof.first_failed;
    aof.first_failed = NULL;
    if (fn) fn(error);
}

static void onListed(aofJob *job) {
    aofListedFn *fn = aof.listed;
    aofListing *listing = job->listing;
    aof.older_size += job->incr_size;
    aof.listed = NULL;
    job->listing = NULL;
    fn(listing, job->error);
}

static void onFinished(aofJob *job) {
    if (job == aof.awaited) {
        aof.awaited = NULL;
        aof.awaited_ok = job->ok;
    }
    switch (job->type) {
    case AOF_JOB_FIRST:
        if (!job->ok) reportFirstFailed(job->error);
        break;
    case AOF_JOB_CUT:
        if (job->ok) aof.older_size += job->incr_size;
        if (job != aof.last_cut) break; /* of a rewrite that ended before its cut was done */
        aof.last_cut = NULL;
        reportResult(&aof.cut_done, job);
        break;
    case AOF_JOB_SWITCH_BASE:
        if (job->ok) onSwitched(job);
        reportResult(&aof.switch_done, job);
        break;
    case AOF_JOB_END:
        if (!job->ok)
            serverLog(LL_WARNING, "Can't write the rest of the append-only file in %s: %s. It lacks the last commands.",
                      aof.folder, strerror(job->error));
        break;
    case AOF_JOB_WRITE:
        if (!job->ok)
            serverLog(LL_WARNING, "Can't write all commands to the append-only file in %s: %s", aof.folder,
                      strerror(job->error));
        break;
    case AOF_JOB_LIST:
    case AOF_JOB_SEAL: onListed(job); break;
    case AOF_JOB_SYNC:
    case AOF_JOB_DELETE: break;
    }
}

/* Handles the jobs that the thread has finished. */
static void takeFinished(void) {
    for (aofJob *job; aof.thread && (job = aofThreadFinished(aof.thread)) != NULL;) {
        onFinished(job);
        aofJobFree(job);
    }
}

bool aofIsOn(void) { return aof.thread && !aof.first; }

bool aofIsTurningOn(void) { return aof.wanted && !aofIsOn(); }

bool aofIsEnabled(void) { return persist_settings.appendonly && !aof.suspended; }

void aofCut(aofDoneFn *done) {
    assertMainThread();
    assertOutsideYield();
    serverAssert(aofIsOn() && !aof.inside);
    debugAssert(!aof.switch_done);
    aofCheck();
    aof.cut_done = done;
    aof.dbid = -1;
    aof.stamped_s = 0;
    aofJob *job = aofJobCreate(AOF_JOB_CUT);
    aof.last_cut = job;
    aofThreadSubmit(aof.thread, job);
    aofCheck();
}

void aofSwitchBase(char *path, const char *ending, bool received, aofDoneFn *done) {
    serverAssert(aof.thread);
    debugAssert(!aof.switch_done && !aof.ending);
    aofCheck();
    aofJob *job = aofJobCreate(AOF_JOB_SWITCH_BASE);
    job->path = path;
    job->ending = ending;
    job->received = received;
    aof.switch_done = done;
    if (aof.held && !aof.first) aof.held_switch = job;
    else aofThreadSubmit(aof.thread, job);
    aofCheck();
}

/* --- backups ---------------------------------------------------------------------------------------------------- */

static void submitHeldSwitch(void) {
    aofJob *job = aof.held_switch;
    aof.held_switch = NULL;
    if (job) aofThreadSubmit(aof.thread, job);
}

void aofHoldFiles(bool hold) {
    assertMainRole();
    aofCheck();
    debugAssert(aof.held != hold);
    aof.held = hold;
    if (!hold) {
        bool deletes = aof.deletion_held;
        aof.deletion_held = false;
        submitHeldSwitch();
        if (deletes) deleteHistory();
    }
    aofCheck();
}

bool aofFilesAreHeld(void) { return aof.held; }

void aofList(bool seal, aofListedFn *done) {
    assertMainRole();
    serverAssert(aofIsOn() && !aof.inside && !aof.listed);
    aofCheck();
    aof.listed = done;
    if (seal) { /* the next item begins an increment */
        aof.dbid = -1;
        aof.stamped_s = 0;
    }
    aofThreadSubmit(aof.thread, aofJobCreate(seal ? AOF_JOB_SEAL : AOF_JOB_LIST));
    aofCheck();
}

void aofOnTurnOn(aofTurnOnFn *fn) {
    debugAssert(!aof.turn_on);
    aof.turn_on = fn;
}

void aofOnBegin(void (*fn)(void)) {
    serverAssert(!aof.on_begin);
    aof.on_begin = fn;
}

void aofOnStop(void (*fn)(void)) {
    int i = 0;
    while (i < STOP_HOOKS_MAX && aof.on_stop[i]) i++;
    serverAssert(i < STOP_HOOKS_MAX);
    aof.on_stop[i] = fn;
}

/* Releases replies that wait for offsets of a log that has ended. */
static void releaseAll(uint64_t end) {
    holdReached(aof.written_seq, end);
    holdReached(aof.synced_seq, end);
    debugAssert(!aof.thread && end == aof.begin);
}

/* --- the first rewrite ------------------------------------------------------------------------------------------ */

/* Handles the end of the thread of an abandoned attempt. If its base was switched to nevertheless, the log counts as
 * turned off after that. */
static void takeEndedThread(bool wait) {
    if (!aof.ending_thread) return;
    if (wait) aofThreadWaitForEnd(aof.ending_thread);
    bool ended = wait;
    for (aofJob *job; (job = aofThreadFinished(aof.ending_thread)) != NULL; aofJobFree(job)) {
        if (job->type == AOF_JOB_SWITCH_BASE) reportResult(&aof.switch_done, job);
        ended |= job->type == AOF_JOB_END;
    }
    if (!ended) return;
    if (!wait) aofThreadWaitForEnd(aof.ending_thread); /* returns soon: the thread has done its last job */
    aofThreadFree(aof.ending_thread);
    aof.ending_thread = NULL;
}

bool aofMayBeginFirst(void) {
    takeEndedThread(false);
    return !aof.thread && !aof.ending_thread;
}

bool aofBeginFirst(void (*failed)(int error)) {
    assertMainThread();
    serverAssert(aofIsTurningOn() && aofMayBeginFirst());
    aofCheck();
    sdsFree(aof.folder);
    aof.folder = aofFolderPath(persist_settings.appenddirname);
    if (!aof.folder) return false;
    if (!startThread((aofThreadOptions){.fd = -1})) return false;
    aof.first = true;
    aof.first_failed = failed;
    aof.base_size = aof.older_size = aof.settled_size = 0;
    applySyncsHeldBack();
    aofThreadSubmit(aof.thread, aofJobCreate(AOF_JOB_FIRST));
    aofCheck();
    return true;
}

void aofAbandonFirst(void) {
    assertMainThread();
    aofCheck();
    if (!aof.thread || !aof.first) return;
    serverAssert(!aof.ending_thread);
    debugAssert(!aof.cut_done && !aof.error);
    propagateRemoveSink(&aof_sink);
    aofThreadSubmit(aof.thread, aofJobCreate(AOF_JOB_END));
    aof.begin = aof.queue->appended;
    aof.ending_thread = aof.thread;
    aof.thread = NULL;
    aof.queue = NULL;
    aof.first = false;
    aof.first_failed = NULL;
    releaseAll(aof.begin);
    aofCheck();
}

/* Abandons the attempt on an error of the disk: while there is no log clients are not affected by it. */
static void checkFirst(void) {
    if (!aof.thread || !aof.first) return;
    aofProgress p = aofThreadProgress(aof.thread);
    if (p.write_error || p.sync_error) reportFirstFailed(p.write_error ? p.write_error : p.sync_error);
}

/* --- the end ---------------------------------------------------------------------------------------------------- */

/* Waits until the thread has done all jobs and written all bytes. Returns false if it could not write them. */
static bool waitForThread(void) {
    debugAssert(!aof.awaited);
    aofJob *job = aofJobCreate(AOF_JOB_WRITE);
    aof.awaited = job;
    aofThreadSubmit(aof.thread, job);
    for (;;) {
        takeFinished();
        if (!aof.awaited) return aof.awaited_ok;
        usleep(WAIT_US);
    }
}

bool aofWriteAll(void) {
    assertMainThread();
    return !aofIsOn() || waitForThread();
}

static void stopThread(void) {
    aof.ending = true;
    propagateRemoveSink(&aof_sink);
    serverLog(LL_NOTICE, "Calling fsync() on the AOF file.");
    submitHeldSwitch();
    aofThreadSubmit(aof.thread, aofJobCreate(AOF_JOB_END));
    uint64_t end = aof.queue->appended;
    aofThreadWaitForEnd(aof.thread);
    takeFinished();
    debugAssert(!aof.cut_done && !aof.switch_done && aof.queue->appended == end);
    aofThreadFree(aof.thread);
    aof.thread = NULL;
    aof.queue = NULL;
    aof.ending = aof.first = false;
    aof.first_failed = NULL;
    aof.begin = end;
    aof.error = 0;
    diskGateSetAofError(0);
    releaseAll(end);
}

static void callStopHooks(void) {
    for (int i = 0; i < STOP_HOOKS_MAX && aof.on_stop[i]; i++) aof.on_stop[i]();
}

void aofStop(void) {
    assertMainThread();
    aofCheck();
    if (aof.thread) callStopHooks();
    if (aof.thread) stopThread();
    takeEndedThread(true);
    debugAssert(!aof.thread && !aof.ending_thread);
    aofCheck();
}

/* --- loading again ---------------------------------------------------------------------------------------------- */

/* Returns the manifest on disk, or NULL after logging why. */
static aofManifest *manifestToLoad(const char *folder) {
    if (aof.thread && !waitForThread()) return NULL;
    aofManifest *m = aofFilesRead(folder, persist_settings.appendfilename);
    if (!m || m->count > 0) return m;
    serverLog(LL_WARNING, "There is no append-only file to load in %s", folder);
    aofManifestFree(m);
    return NULL;
}

/* Empties the dataset. Libraries are removed too, because a log without an RDB preamble loads libraries that must not
 * exist yet. */
static void emptyDataset(void) {
    dbEmpty(-1, false);
    librariesClear();
}

static bool replaceDataset(const char *folder, const aofManifest *m, bool hide_user_data) {
    aofLoaded loaded;
    if (aof.thread) propagateRemoveSink(&aof_sink);
    emptyDataset();
    bool ok = aofLoad(folder, m, hide_user_data, &loaded);
    if (!ok) emptyDataset(); /* an empty dataset is better than half of one */
    if (aof.thread) propagateAddSink(&aof_sink);
    return ok;
}

aofReloadEnd aofReload(bool hide_user_data) {
    assertMainThread();
    bool turning_on = aofIsTurningOn();
    aofReloadEnd end = AOF_RELOAD_NO_FILES;
    if (turning_on) { /* the base that is being made has the old dataset */
        callStopHooks();
        aofAbandonFirst();
        takeEndedThread(true);
    }
    sds folder = aof.thread ? sdsDup(aof.folder) : aofFolderPath(persist_settings.appenddirname);
    aofManifest *m = folder ? manifestToLoad(folder) : NULL;
    if (m) end = replaceDataset(folder, m, hide_user_data) ? AOF_RELOAD_DONE : AOF_RELOAD_BROKEN;
    aofManifestFree(m);
    sdsFree(folder);
    bool taken;
    if (turning_on && end != AOF_RELOAD_BROKEN) (void)aof.turn_on(NULL, &taken);
    aofCheck();
    return end;
}

/* --- settings ----------------------------------------------------------------------------------------------------- */

/* Applies a change of appendonly at run time. To turn it on, the dataset must become the base of a new log: that is a
 * rewrite. If it is turned off during that rewrite, the rewrite is abandoned without waiting for the disk. */
static bool applyEnabled(const char **err) {
    bool was_on = aofIsOn();
    aofCheck();
    if (persist_settings.appendonly == (aof.wanted || aof.suspended)) return true;
    aof.suspended = false;
    if (persist_settings.appendonly == aof.wanted) return true;
    aof.wanted = persist_settings.appendonly;
    if (aof.wanted) {
        bool taken;
        if (aof.turn_on && aof.turn_on(NULL, &taken)) return true;
        aof.wanted = false;
        *err = "Unable to turn on AOF. Check server logs.";
        return false;
    }
    if (was_on) {
        aofStop();
    } else {
        callStopHooks();
        aofAbandonFirst();
    }
    debugAssert(!aof.thread && !aof.wanted);
    aofCheck();
    return true;
}

static bool applyPolicy(const char **err) {
    if (!aof.thread) return true;
    bool always = persist_settings.appendfsync == FSYNC_ALWAYS;
    if (always && aofThreadProgress(aof.thread).sync_broken) {
        *err = "An fsync of the append-only file has failed. Run BGREWRITEAOF before appendfsync is set to always.";
        return false;
    }
    aofThreadSetPolicy(aof.thread, (fsyncPolicy)persist_settings.appendfsync);
    /* Replies may wait for a sync that the new policy would not start. */
    if (!always) aofThreadSubmit(aof.thread, aofJobCreate(AOF_JOB_SYNC));
    return true;
}

static bool applyNoSync(const char **err) {
    unused(err);
    applySyncsHeldBack();
    return true;
}

/* Deletes history that was kept so far. */
static bool applyAutoGc(const char **err) {
    unused(err);
    deleteHistory();
    return true;
}

void aofSetChildRunning(bool running) {
    assertMainRole();
    debugAssert(aof.child_running != running);
    aof.child_running = running;
    applySyncsHeldBack();
    aofCheck();
}

/* --- keeping the files ------------------------------------------------------------------------------------------ */

/* A load that fails leaves an empty dataset. The files may then be the last copy of the previous dataset, so nothing
 * that the server does by itself may replace them: neither a rewrite of the log nor a snapshot. */

/* Stops the log and leaves its files as they are. CONFIG SET appendonly no ends the suspension too. */
static void suspendLog(void) {
    assertMainThread();
    if (!aof.wanted) return;
    aofCheck();
    bool was_on = aofIsOn();
    aof.suspended_size = was_on ? aofFiguresNow().current_size : 0;
    aof.wanted = false;
    aof.suspended = true;
    callStopHooks();
    if (was_on) stopThread();
    else aofAbandonFirst();
    debugAssert(!aof.thread);
    aofCheck();
}

/* Turns a suspended log on again, with the present dataset. */
static bool resumeLog(const char *received) {
    assertMainThread();
    if (!aof.suspended) return false;
    debugAssert(!aof.thread && aof.turn_on);
    bool taken = false;
    aof.suspended = false;
    aof.wanted = true;
    (void)aof.turn_on(received, &taken); /* if the attempt fails, a tick tries again */
    debugAssert(!taken || received);
    aofCheck();
    return taken;
}

void keepFilesBegin(void) {
    suspendLog();
    snapshotHold(true);
}

bool keepFilesEnd(const char *received) {
    snapshotHold(false);
    return resumeLog(received);
}

/* --- tick and INFO fields --------------------------------------------------------------------------------------- */

void aofTick(void) {
    aofCheck();
    takeEndedThread(false);
    takeFinished();
    checkFirst();
    if (aof.thread) {
        aofProgress p = aofThreadProgress(aof.thread);
        checkErrors(&p); /* a reply that waits is the last one of its client: nothing else may come */
    }
    aofCheck();
    if (!aof.queue) return;
    aofQueueTrim(aof.queue);
    aofLatencyReport();
}

/* Returns the memory of the queue, which eviction does not count: evicting keys would only append to the queue. Blocks
 * for reuse are not counted either, because a small dataset would be evicted to make up for them. */
static size_t replStreamMemory(void) { return aof.thread ? aofQueueMemory(aof.queue) : 0; }

aofFigures aofFiguresNow(void) {
    aofFigures f = {.write_ok = aof.error == 0, .delayed_sync = aof.delayed_sync};
    if (aof.suspended) f.base_size = aof.settled_size, f.current_size = aof.suspended_size;
    if (!aof.thread) return f;
    aofProgress p = aofThreadProgress(aof.thread);
    debugAssert(p.written <= aof.queue->appended && p.synced <= p.written);
    f.buffer_length = (size_t)(aof.queue->appended - p.written);
    f.buffer_memory = replStreamMemory();
    f.base_size = aof.settled_size;
    f.current_size = aof.base_size + aof.older_size + p.incr_size;
    f.pending_sync = p.syncing;
    return f;
}

void aofResetStats(void) { aof.delayed_sync = 0; }

void aofInit(void) {
    aof.written_seq = holdSequenceAdd();
    aof.synced_seq = holdSequenceAdd();
    evictAddUncounted(replStreamMemory);
    settingOnApply("appendonly", applyEnabled);
    settingOnApply("appendfsync", applyPolicy);
    settingOnApply("no-appendfsync-on-rewrite", applyNoSync);
    settingOnApply("aof-disable-auto-gc", applyAutoGc);
}
