/* aof_thread.c -- the thread that alone touches the append-only files while the server runs.
 *
 * It works in the order of the AOF queue: it writes the bytes up to the offset of the next job, then does that job.
 *
 *   wait -> write all that was published, up to the next job -> the job -> sync if it is due -> wait
 *
 * With `always` it sleeps until main wakes it, because a reply waits for it, and it syncs itself, since the next write
 * would need the next sync anyway; before that it may wait for more writes (aof_gather.c). Otherwise it polls every
 * POLL_MS, so that main makes no system call, and after IDLE_MS without work it sleeps until main publishes. The sync
 * of each second runs in the background (aof_sync.c), and writes continue meanwhile.
 *
 * A write that fails or is short is cut off again and retried each second, and main refuses writes meanwhile. Bytes
 * that a failed sync covered may be lost although a later sync succeeds: the system drops what it could not write. So
 * no later offset counts as synced either, until a new base contains all of it. With `always` both errors end the
 * process: the reply must not be sent, and the command cannot be undone.
 *
 * A log that is turned on while the server runs has no files at first. Its bytes go to a temporary increment beside
 * those of an older log, which is left untouched. The log exists from the moment when the manifest that names base and
 * increment is renamed; the increment was synced before. An error before that makes the attempt fail. So the log is in
 * one of these states, which moveLog() alone changes:
 *   FIRST --base--> SOUND <------------------base------------------.
 *     |               |                                            |
 *   error       sync failed     .------------cut------------> MENDABLE
 *     v               v         |                                  |
 *   LOST           BROKEN ------'  <---------sync failed-----------'
 * A cut that fails leads from SOUND to SOUND_UNCUT, and from BROKEN or MENDABLE to BROKEN_UNCUT: no increment begins
 * where the base that is being made ends, so that base is refused. A cut that succeeds leads back, to SOUND or
 * MENDABLE.
 *
 * Not here    the system calls (aof_system.c), the queue of bytes (aof_queue.c), what is in them (aof.c).
 * Owns        the manifest, the descriptor of the increment, jobs that are not done.
 * Threads     main and this one; the struct notes which of them writes each field. Hand-overs: queue.published and
 *             `jobs` (main to thread), `finished` and the atomics of progress (thread to main), all seq_cst or release.
 * Invariants  1. synced <= written <= published; none of them decreases.
 *             2. Bytes after a cut go to a file that the manifest on disk names, and all bytes before the cut are
 *                synced.
 *             3. In FIRST and LOST no manifest on disk names a file of this thread, and its files are removed when it
 *                ends.
 *             4. synced advances only by a sync that succeeded, and in no state that is BROKEN or MENDABLE.
 *             5. No byte beyond a job's offset is written before the job is done.
 * Tests       tests/unit/persist/aof/aof_thread_test.c, tests/persist/aof.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "aof_thread.h"

#include "aof_files.h"
#include "aof_gather.h"
#include "aof_sync.h"
#include "aof_system.h"
#include "clock.h"
#include "log.h"
#include "panic.h"
#include "thread.h"
#include "zmalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PARTS_MAX 64 /* of one write: 4 MiB */
#define POLL_MS 1
#define IDLE_MS 20
#define SECOND_MS 1000 /* between two syncs of everysec, and before a failed write is retried */
#define ERROR_LOG_MS 30000
#define GATHER_MAX_US 5000

typedef enum {
    LOG_FIRST, /* the increment is a temporary file that no manifest names */
    LOG_LOST,  /* the same after an error: nothing more is written, all jobs but END fail */
    LOG_SOUND, /* all that was synced is safe */
    LOG_SOUND_UNCUT,
    LOG_MENDABLE, /* only syncs before the last cut have failed: the next base has what they covered */
    LOG_BROKEN,   /* a sync of this increment has failed: a base that is being made does not have what it covered */
    LOG_BROKEN_UNCUT,
    LOG_STATES
} logState;

typedef enum { LOG_ERROR, LOG_SYNC_FAILED, LOG_CUT, LOG_CUT_FAILED, LOG_BASE, LOG_EVENTS } logEvent;

struct aofThread {
    aofQueue queue; /* fields of main and of the thread; its header says which */

    /* const after the start */
    sds folder, stem; /* own */
    holdSequence written_seq, synced_seq;
    uint64_t second_ms;
    pthread_t thread;

    /* atomic: written by main, read by the thread */
    alignas(CACHE_LINE) _Atomic(aofJob *) jobs; /* release: a stack of jobs that the thread has not taken yet */
    _Atomic int policy;
    _Atomic uint64_t no_sync_from;
    _Atomic bool report_writes; /* seq_cst, against `written` */

    /* atomic: written by the thread, read by main */
    alignas(CACHE_LINE) _Atomic uint64_t written; /* seq_cst */
    _Atomic uint64_t synced;
    _Atomic int write_error, sync_error;
    _Atomic int state; /* logState; relaxed: only moveLog() stores it */
    _Atomic bool syncing;
    _Atomic long long incr_size;
    _Atomic(aofJob *) finished; /* release: a stack */
    _Atomic bool asleep;        /* seq_cst, against queue.published and `jobs` */
    _Atomic uint64_t wake_at;   /* main wakes the thread at this number of units; seq_cst, stored before `asleep` */

    /* thread */
    alignas(CACHE_LINE) aofManifest *manifest; /* owns; NULL before AOF_JOB_FIRST has read it */
    aofJob *next_job;                          /* owns: jobs that were taken, in their order */
    aofSync sync;                              /* the sync in the background */
    int fd;                                    /* -1: there is no increment yet */
    off_t size;                                /* of the increment; the next byte is written there */
    size_t seals;                              /* increments between the last cut and this one */
    off_t sealed_size;                         /* their bytes */
    uint64_t sync_tried;                       /* the last sync, successful or not, covered this offset */
    uint64_t units, units_synced; /* complete units: published at the last aofThreadStep(); covered by the last sync */
    aofGather gather;
    uint64_t last_work_ms, last_sync_ms, last_try_ms, last_error_log_ms;
    int state_error; /* errno that led to LOST, or that failed the cut of an UNCUT state */
    bool ended;

    pthread_mutex_t lock; /* no other lock is taken under it; used only for waiting */
    pthread_cond_t wake;

    /* main */
    aofJob *done; /* owns: jobs that came back, in their order */
};

/* --- the state of the log -------------------------------------------------------------------------------- */

static_assert(offsetof(aofThread, jobs) % CACHE_LINE == 0 && offsetof(aofThread, written) % CACHE_LINE == 0 &&
                  offsetof(aofThread, manifest) % CACHE_LINE == 0,
              "what main writes, what the thread publishes and what is the thread's alone lie on lines of their own");

static logState stateOf(const aofThread *t) { return (logState)atomic_load_explicit(&t->state, memory_order_relaxed); }

static bool isFirst(const aofThread *t) { return stateOf(t) <= LOG_LOST; }

static bool isLost(const aofThread *t) { return stateOf(t) == LOG_LOST; }

static bool isUncut(logState state) { return state == LOG_SOUND_UNCUT || state == LOG_BROKEN_UNCUT; }

/* Returns whether a sync has failed whose bytes no base contains yet. */
static bool isBroken(const aofThread *t) {
    logState state = stateOf(t);
    return state >= LOG_MENDABLE || (state == LOG_LOST && atomic_load_explicit(&t->sync_error, memory_order_relaxed));
}

/* Asserts the conditions of each state. The thread calls it at both ends of aofThreadStep(). */
static void checkState(const aofThread *t) {
    logState state = stateOf(t);
    bool write_failed = atomic_load(&t->write_error), sync_failed = atomic_load(&t->sync_error);
    switch (state) {
    case LOG_FIRST:
        debugAssert(!write_failed && !sync_failed && t->state_error == 0);
        debugAssert(t->fd >= 0 || (t->size == 0 && !t->manifest));
        break;
    case LOG_LOST:
        debugAssert(t->state_error != 0);
        debugAssert(atomic_load(&t->sync_error) || t->sync_tried == atomic_load(&t->synced));
        break;
    default:
        debugAssert(state < LOG_STATES && t->fd >= 0);
        debugAssert(aofManifestLastIncr(t->manifest) && aofManifestBase(t->manifest));
        debugAssert(isUncut(state) == (t->state_error != 0));
        /* The offset of the last sync is published as synced exactly while no sync has failed. */
        debugAssert(isBroken(t) || (t->sync_tried == atomic_load(&t->synced) && !sync_failed));
    }
    unused(write_failed), unused(sync_failed);
}

static void threadCheck(const aofThread *t) {
    uint64_t written = atomic_load(&t->written), synced = atomic_load(&t->synced);
    debugAssert(synced <= t->sync_tried && t->sync_tried <= written);
    debugAssert(written == t->queue.consumed && written <= atomic_load(&t->queue.published));
    debugAssert(t->size >= 0 && atomic_load(&t->incr_size) == t->size);
    debugAssert(t->units_synced <= t->units);
    debugAssert(atomic_load(&t->syncing) == aofSyncIsUnderWay(&t->sync));
    debugAssert(!aofSyncIsUnderWay(&t->sync) || (t->sync.fd == t->fd && t->sync.covers <= written && !t->ended));
    for (const aofJob *job = t->next_job; job; job = job->next) {
        debugAssert(job->offset >= written || isLost(t));
        debugAssert(!job->next || job->next->offset >= job->offset);
    }
    checkState(t);
    unused(written), unused(synced);
}

/* Asserts the conditions on main at both ends of its functions: its half of the queue, and the bounds of the thread's
 * progress. */
static void mainCheck(const aofThread *t) {
    uint64_t synced = atomic_load(&t->synced), written = atomic_load(&t->written);
    const aofQueue *s = &t->queue;
    debugAssert(synced <= written && written <= atomic_load(&s->published));
    debugAssert(atomic_load(&s->published) <= s->whole && s->whole <= s->appended);
    debugAssert(s->used <= AOF_BLOCK_BYTES && s->tail && !s->tail->next);
    debugAssert(atomic_load(&s->published_units) <= s->units);
    unused(synced), unused(written), unused(s);
}

/* Moves the log to its next state; `error` is the errno of a failure. */
static void moveLog(aofThread *t, logEvent event, int error) {
    static const uint8_t next[LOG_STATES][LOG_EVENTS] = {
        /*                    ERROR             SYNC_FAILED       CUT           CUT_FAILED        BASE */
        [LOG_FIRST] = {LOG_LOST, LOG_LOST, LOG_STATES, LOG_STATES, LOG_SOUND},
        [LOG_LOST] = {LOG_LOST, LOG_LOST, LOG_STATES, LOG_STATES, LOG_STATES},
        [LOG_SOUND] = {LOG_SOUND, LOG_BROKEN, LOG_SOUND, LOG_SOUND_UNCUT, LOG_SOUND},
        [LOG_SOUND_UNCUT] = {LOG_SOUND_UNCUT, LOG_BROKEN_UNCUT, LOG_SOUND, LOG_SOUND_UNCUT, LOG_STATES},
        [LOG_MENDABLE] = {LOG_MENDABLE, LOG_BROKEN, LOG_MENDABLE, LOG_BROKEN_UNCUT, LOG_SOUND},
        [LOG_BROKEN] = {LOG_BROKEN, LOG_BROKEN, LOG_MENDABLE, LOG_BROKEN_UNCUT, LOG_BROKEN},
        [LOG_BROKEN_UNCUT] = {LOG_BROKEN_UNCUT, LOG_BROKEN_UNCUT, LOG_MENDABLE, LOG_BROKEN_UNCUT, LOG_STATES},
    };
    logState from = stateOf(t), to = (logState)next[from][event];
    serverAssert(to < LOG_STATES);
    if ((to == LOG_LOST && from != LOG_LOST) || event == LOG_CUT_FAILED) t->state_error = error ? error : EINVAL;
    else if (event == LOG_CUT) t->state_error = 0;
    atomic_store_explicit(&t->state, (int)to, memory_order_relaxed);
}

/* --- called by main -------------------------------------------------------------------------------------- */

static void wakeThread(aofThread *t) {
    if (!atomic_load(&t->asleep)) return;
    pthread_mutex_lock(&t->lock);
    atomic_store(&t->asleep, false);
    pthread_cond_signal(&t->wake);
    pthread_mutex_unlock(&t->lock);
}

aofQueue *aofThreadQueue(aofThread *t) { return &t->queue; }

void aofThreadPublish(aofThread *t) {
    assertMainRole();
    mainCheck(t);
    if (aofQueuePublish(&t->queue) && t->queue.units >= atomic_load(&t->wake_at)) wakeThread(t);
    mainCheck(t);
}

static void aofThreadPush(_Atomic(aofJob *) *stack, aofJob *job) {
    job->next = atomic_load_explicit(stack, memory_order_relaxed);
    while (!atomic_compare_exchange_weak(stack, &job->next, job)) continue;
}

/* Takes all jobs of a stack, the oldest first. */
static aofJob *takeAll(_Atomic(aofJob *) *stack) {
    aofJob *newest = atomic_exchange(stack, NULL), *oldest = NULL;
    while (newest) {
        aofJob *next = newest->next;
        newest->next = oldest;
        oldest = newest;
        newest = next;
    }
    return oldest;
}

void aofThreadSubmit(aofThread *t, aofJob *job) {
    assertMainRole();
    mainCheck(t);
    /* It has no result yet, and it has a file exactly if its type needs one. */
    debugAssert(!job->next && !job->ok && !job->error && (job->type == AOF_JOB_SWITCH_BASE) == (job->path != NULL));
    aofQueuePublish(&t->queue);
    job->offset = t->queue.whole;
    aofThreadPush(&t->jobs, job);
    wakeThread(t);
    mainCheck(t);
}

aofJob *aofJobCreate(aofJobType type) {
    aofJob *job = zcalloc(1, sizeof(*job));
    job->type = type;
    return job;
}

void aofJobFree(aofJob *job) {
    sdsFree(job->path);
    aofListingFree(job->listing);
    zfree(job);
}

aofJob *aofThreadFinished(aofThread *t) {
    mainCheck(t);
    if (!t->done && atomic_load_explicit(&t->finished, memory_order_relaxed)) t->done = takeAll(&t->finished);
    aofJob *job = t->done;
    if (!job) return NULL;
    t->done = job->next;
    debugAssert(!t->done || t->done->offset >= job->offset);
    debugAssert(job->ok == (job->error == 0));
    return job;
}

void aofThreadSetPolicy(aofThread *t, fsyncPolicy policy) {
    atomic_store(&t->policy, (int)policy);
    wakeThread(t);
}

void aofThreadSetNoSyncFrom(aofThread *t, uint64_t from) {
    atomic_store(&t->no_sync_from, from);
    wakeThread(t);
}

void aofThreadReportWrites(aofThread *t, bool on) { atomic_store(&t->report_writes, on); }

aofProgress aofThreadProgress(const aofThread *t) {
    return (aofProgress){.written = atomic_load(&t->written),
                         .synced = atomic_load(&t->synced),
                         .write_error = atomic_load_explicit(&t->write_error, memory_order_relaxed),
                         .sync_error = atomic_load_explicit(&t->sync_error, memory_order_relaxed),
                         .sync_broken = isBroken(t),
                         .syncing = atomic_load_explicit(&t->syncing, memory_order_relaxed),
                         .incr_size = atomic_load_explicit(&t->incr_size, memory_order_relaxed)};
}

/* --- writing --------------------------------------------------------------------------------------------- */

static bool mayLogError(aofThread *t, uint64_t now_ms) {
    if (t->last_error_log_ms && now_ms - t->last_error_log_ms < ERROR_LOG_MS) return false;
    t->last_error_log_ms = now_ms;
    return true;
}

/* Wakes main, which checks for errors then. */
static void notifyMain(aofThread *t) { holdPublish(t->synced_seq, atomic_load(&t->synced)); }

static bool syncsAlways(const aofThread *t) { return atomic_load(&t->policy) == FSYNC_ALWAYS; }

/* Returns whether an error ends the process, because held replies might never be sent. */
static bool exitsOnErrors(const aofThread *t) { return syncsAlways(t) && !isFirst(t); }

/* Call when `bytes` bytes have been written to the file. */
static void onWritten(aofThread *t, size_t bytes) {
    debugAssert(bytes > 0 && t->fd >= 0 && !isLost(t));
    t->size += (off_t)bytes;
    atomic_store_explicit(&t->incr_size, (long long)t->size, memory_order_relaxed);
    aofQueueConsume(&t->queue, bytes);
    atomic_store(&t->written, t->queue.consumed);
    if (atomic_load(&t->report_writes)) holdPublish(t->written_seq, t->queue.consumed);
}

/* Call when only `n` of `expected` bytes were written, or `n` is -1 with errno. Cuts them off, so that the file still
 * ends with a whole unit; if that fails they count as written. */
static void onWriteFailed(aofThread *t, ssize_t n, size_t expected, uint64_t now_ms) {
    int error = n < 0 ? errno : ENOSPC;
    if (mayLogError(t, now_ms)) {
        if (n < 0) serverLog(LL_WARNING, "Error writing to the AOF file: %s", strerror(error));
        else
            serverLog(LL_WARNING, "Short write while writing to the AOF file: (nwritten=%lld, expected=%lld)",
                      (long long)n, (long long)expected);
    }
    if (n > 0 && aofSystemNow()->truncate(t->fd, t->size) != 0) {
        serverLog(LL_WARNING, "Can't truncate the AOF file after a short write, so later writes continue after it: %s",
                  strerror(errno));
        onWritten(t, (size_t)n);
    }
    moveLog(t, LOG_ERROR, error);
    if (exitsOnErrors(t)) {
        serverLog(LL_WARNING, "Can't recover from AOF write error when the AOF fsync policy is 'always'. Exiting...");
        _exit(1);
    }
    if (!atomic_load_explicit(&t->write_error, memory_order_relaxed) || n < 0) {
        atomic_store(&t->write_error, error);
        notifyMain(t);
    }
}

static void onWriteSucceeded(aofThread *t) {
    if (likely(!atomic_load_explicit(&t->write_error, memory_order_relaxed))) return;
    serverLog(LL_NOTICE, "AOF write error looks solved. The server can write again.");
    t->last_error_log_ms = 0;
    atomic_store(&t->write_error, 0);
    notifyMain(t);
}

/* Writes the bytes before `limit`, in one system call if there are not too many. Returns whether it wrote any. With
 * `at_once` a retry after an error does not wait for its second. */
static bool writeUpTo(aofThread *t, uint64_t limit, bool at_once) {
    bool any = false;
    if (t->queue.consumed == limit || isLost(t)) return false;
    uint64_t now_ms = clockMonotonicMs();
    if (atomic_load_explicit(&t->write_error, memory_order_relaxed) && !at_once &&
        now_ms - t->last_try_ms < t->second_ms)
        return false;
    while (t->queue.consumed < limit) {
        struct iovec parts[PARTS_MAX];
        size_t bytes;
        int count = aofQueuePeek(&t->queue, limit, parts, PARTS_MAX, &bytes);
        uint64_t began_us = clockMonotonicUs();
        ssize_t n = aofSystemNow()->writev(t->fd, parts, count);
        if (n < 0 && errno == EINTR) continue;
        int error = errno;
        aofLatencyNote(AOF_LATENCY_WRITE, began_us);
        errno = error;
        t->last_try_ms = now_ms;
        if (n != (ssize_t)bytes) {
            onWriteFailed(t, n, bytes, now_ms);
            return any;
        }
        onWriteSucceeded(t);
        onWritten(t, bytes);
        any = true;
    }
    return any;
}

/* --- syncing --------------------------------------------------------------------------------------------- */

static void onSyncFailed(aofThread *t, int error) {
    moveLog(t, LOG_SYNC_FAILED, error);
    if (exitsOnErrors(t)) {
        serverLog(LL_WARNING, "Can't persist AOF for fsync error when the AOF fsync policy is 'always': %s. Exiting...",
                  strerror(error));
        _exit(1);
    }
    if (mayLogError(t, clockMonotonicMs())) serverLog(LL_WARNING, "Fail to fsync the AOF file: %s", strerror(error));
    atomic_store(&t->sync_error, error);
    notifyMain(t);
}

static void onSyncSucceeded(aofThread *t, uint64_t covered) {
    if (unlikely(atomic_load_explicit(&t->sync_error, memory_order_relaxed))) {
        serverLog(LL_NOTICE,
                  "AOF fsync error looks solved. Bytes that it covered are durable only after the next AOF rewrite.");
        t->last_error_log_ms = 0;
        atomic_store(&t->sync_error, 0);
        notifyMain(t);
    }
    if (isBroken(t)) return;
    debugAssert(covered >= atomic_load(&t->synced) && covered <= atomic_load(&t->written));
    atomic_store(&t->synced, covered);
    holdPublish(t->synced_seq, covered);
}

static void syncBegins(aofThread *t) {
    debugAssert(t->fd >= 0 && !isLost(t) && !atomic_load(&t->syncing));
    atomic_store_explicit(&t->syncing, true, memory_order_relaxed);
    t->last_sync_ms = clockMonotonicMs();
}

static void syncEnds(aofThread *t, uint64_t covered, int error) {
    debugAssert(atomic_load(&t->syncing) && covered >= t->sync_tried);
    atomic_store_explicit(&t->syncing, false, memory_order_relaxed);
    t->sync_tried = covered;
    if (error == 0) onSyncSucceeded(t, covered);
    else onSyncFailed(t, error);
}

/* Takes the result of the sync in the background; returns whether it has ended. */
static bool takeSync(aofThread *t) {
    uint64_t covered;
    int error;
    if (!aofSyncTake(&t->sync, &covered, &error)) return false;
    syncEnds(t, covered, error);
    return true;
}

static void waitForSync(aofThread *t) {
    aofSyncWait(&t->sync);
    (void)takeSync(t);
}

/* Syncs all written bytes. Returns false with errno if that fails. */
static bool syncNow(aofThread *t) {
    uint64_t covered = t->queue.consumed;
    waitForSync(t);
    syncBegins(t);
    uint64_t began_us = clockMonotonicUs();
    int error = aofSystemNow()->sync(t->fd) == 0 ? 0 : errno;
    if (syncsAlways(t)) aofLatencyNote(AOF_LATENCY_SYNC_ALWAYS, began_us);
    aofGatherSynced(&t->gather, t->units - t->units_synced, clockMonotonicUs() - began_us);
    t->units_synced = t->units;
    syncEnds(t, covered, error);
    errno = error;
    return error == 0;
}

/* Returns how many milliseconds remain until a sync is due, or -1 if there is nothing to sync. */
static int64_t msUntilSync(const aofThread *t, uint64_t now_ms) {
    bool failed = atomic_load_explicit(&t->sync_error, memory_order_relaxed) != 0;
    int policy = atomic_load(&t->policy);
    if (isLost(t) || (policy == FSYNC_NO && !failed)) return -1;
    if (t->sync_tried == t->queue.consumed && !failed) return -1;
    if (t->sync_tried >= atomic_load(&t->no_sync_from)) return -1;
    if (policy == FSYNC_ALWAYS) return 0;
    if (aofSyncIsUnderWay(&t->sync)) return -1;
    uint64_t passed = now_ms - t->last_sync_ms;
    return passed >= t->second_ms ? 0 : (int64_t)(t->second_ms - passed);
}

static bool syncIfDue(aofThread *t) {
    if (msUntilSync(t, clockMonotonicMs()) != 0) return false;
    if (syncsAlways(t)) {
        syncNow(t);
    } else {
        syncBegins(t);
        aofSyncBegin(&t->sync, t->fd, t->queue.consumed);
    }
    return true;
}

/* --- jobs ------------------------------------------------------------------------------------------------ */

/* Writes the manifest `next` to the disk (aofFilesReplaceManifest()) and takes ownership of it, also on failure. */
static bool adoptManifest(aofThread *t, aofManifest *next, bool *replaced) {
    bool ok = aofFilesReplaceManifest(t->folder, t->stem, next, replaced);
    int error = errno;
    aofManifestFree(ok ? t->manifest : next);
    if (ok) t->manifest = next;
    errno = error;
    return ok;
}

/* Writes the manifest of before a failed step again, because the step may have reached the disk. If that fails as well,
 * or power is lost, the manifest on disk may name the files of the step; so their numbers are not used again. */
static void restoreManifest(aofThread *t, long long base_seq, long long incr_seq) {
    bool replaced;
    int error = errno;
    t->manifest->base_seq = base_seq;
    t->manifest->incr_seq = incr_seq;
    if (!adoptManifest(t, aofManifestDup(t->manifest), &replaced))
        serverLog(LL_WARNING, "Can't restore the previous AOF manifest in %s: %s", t->folder, strerror(errno));
    errno = error;
}

/* Bytes before the cut are synced before any byte after it is written, so that also after a power failure the log is a
 * prefix of what was appended. The next increment is created before a manifest names it. */
static bool beginIncr(aofThread *t, aofJob *job) {
    const aofSystem *sys = aofSystemNow();
    bool replaced = false;
    if (t->sync_tried != t->queue.consumed && !syncNow(t)) return false;
    aofManifest *next = aofManifestDup(t->manifest);
    aofManifestAddIncr(next, t->stem);
    long long base_seq = next->base_seq, incr_seq = next->incr_seq;
    sds path = aofPath(t->folder, aofManifestLastIncr(next)->name);
    int fd = sys->open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0644);
    bool ok = false;
    debugAssert(t->sync_tried == t->queue.consumed && t->queue.consumed == job->offset);
    if (fd < 0 || aofSyncFolder(t->folder) != 0) aofManifestFree(next);
    else ok = adoptManifest(t, next, &replaced);
    int error = errno;
    if (ok) {
        serverLog(LL_NOTICE, "Creating AOF incr file %s on %s", aofManifestLastIncr(t->manifest)->name,
                  job->type == AOF_JOB_SEAL ? "BACKUP SEAL" : "background rewrite");
        sys->close(t->fd);
        t->fd = fd;
        job->incr_size = t->size;
        t->size = 0;
        atomic_store_explicit(&t->incr_size, 0, memory_order_relaxed);
    } else if (fd >= 0) {
        sys->close(fd);
        if (replaced)
            restoreManifest(t, base_seq, incr_seq); /* the file stays: a loss of power may restore its manifest */
        else sys->unlink(path);
    }
    sdsFree(path);
    errno = error;
    return ok;
}

static bool doCut(aofThread *t, aofJob *job) {
    if (!beginIncr(t, job)) return false;
    t->seals = 0;
    t->sealed_size = 0;
    return true;
}

/* Lists the files. Fails if the disk has not accepted all bytes before the job, or may have lost some. */
static bool doList(aofThread *t, aofJob *job) {
    bool written = t->queue.consumed >= job->offset, sealed = job->type == AOF_JOB_SEAL;
    errno = written || !atomic_load(&t->write_error) ? EIO : atomic_load(&t->write_error);
    if (!written || isBroken(t)) return false;
    if (sealed && t->size > 0) { /* without bytes, what is before it is sealed already */
        if (!beginIncr(t, job)) return false;
        t->seals++;
        t->sealed_size += job->incr_size;
    }
    job->listing = aofListingMake(t->folder, t->stem, t->manifest, sealed, t->size);
    return job->listing != NULL;
}

/* The new base has everything before the last cut, so syncs that failed before it do not matter any more. Bytes after
 * the cut are synced here, so that `synced` can advance again. */
static bool doSwitchBase(aofThread *t, aofJob *job) {
    const aofSystem *sys = aofSystemNow();
    struct stat st;
    bool replaced = false;
    if (isUncut(stateOf(t))) { /* main did not know that when it submitted the job */
        aofRemoveFile(job->path);
        errno = t->state_error;
        return false;
    }
    aofManifest *next = aofManifestDup(t->manifest);
    aofManifestSwitchBase(next, t->stem, job->ending, t->seals + 1);
    long long base_seq = next->base_seq, incr_seq = next->incr_seq;
    sds path = aofPath(t->folder, aofManifestBase(next)->name);
    bool moved = sys->rename(job->path, path) == 0;
    bool ok = moved && aofSyncFolder(t->folder) == 0;
    if (ok) ok = adoptManifest(t, next, &replaced);
    else aofManifestFree(next);
    int error = errno;
    if (!ok && replaced) restoreManifest(t, base_seq, incr_seq);
    else if (!ok) aofRemoveFile(moved ? path : job->path);
    if (ok && stat(path, &st) == 0) job->base_size = st.st_size;
    if (ok) job->incr_size = t->sealed_size;
    if (ok) {
        bool mended = stateOf(t) == LOG_MENDABLE;
        moveLog(t, LOG_BASE, 0);
        if (mended) syncNow(t);
    }
    sdsFree(path);
    errno = error;
    return ok;
}

static sds firstPath(const aofThread *t) {
    sds name = sdsCatPrintf(sdsEmpty(), "temp-%s.incr", t->stem), path = aofPath(t->folder, name);
    sdsFree(name);
    return path;
}

static bool doFirst(aofThread *t) {
    debugAssert(stateOf(t) == LOG_FIRST && t->fd < 0 && t->size == 0);
    if (!t->manifest) t->manifest = aofFilesInspect(t->folder, t->stem);
    if (!t->manifest) return false;
    sds path = firstPath(t);
    t->fd = aofSystemNow()->open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0644);
    int error = errno;
    if (t->fd >= 0) serverLog(LL_NOTICE, "Creating AOF incr file temp-%s.incr on background rewrite", t->stem);
    else serverLog(LL_WARNING, "Can't open or create append-only dir %s: %s", t->folder, strerror(error));
    sdsFree(path);
    errno = error;
    return t->fd >= 0;
}

/* Restores what the folder had before, and syncs it: the manifest of an older log, or none. */
static bool restoreFolder(aofThread *t) {
    bool replaced;
    if (t->manifest->count > 0) return adoptManifest(t, aofManifestDup(t->manifest), &replaced);
    sds name = aofManifestName(t->stem), path = aofPath(t->folder, name);
    bool ok = aofSystemNow()->unlink(path) == 0 && aofSyncFolder(t->folder) == 0;
    sdsFree(name);
    sdsFree(path);
    return ok;
}

/* Removes the files of a log that could not be begun, under each name that they may have by now. They are kept if the
 * manifest on the disk may name them. */
static void removeFirst(aofThread *t, const char *const *paths, size_t count, bool replaced) {
    if (replaced && !restoreFolder(t)) {
        serverLog(LL_WARNING, "Can't restore the previous AOF manifest in %s: %s", t->folder, strerror(errno));
        return;
    }
    for (size_t i = 0; i < count; i++) aofRemoveFile(paths[i]);
}

/* Renames the first increment and its base, and writes the manifest that names them. The increment is synced before, so
 * the new log has from the start all writes that were acknowledged since the increment was begun. */
static bool doSwitchFirst(aofThread *t, aofJob *job) {
    debugAssert(stateOf(t) == LOG_FIRST && t->manifest && t->fd >= 0);
    const aofSystem *sys = aofSystemNow();
    struct stat st;
    bool replaced = false;
    aofManifest *next = aofManifestDup(t->manifest);
    aofFilesSkipTaken(t->folder, t->stem, next);
    aofManifestSwitchBase(next, t->stem, job->ending, 0);
    aofManifestAddIncr(next, t->stem);
    sds base = aofPath(t->folder, aofManifestBase(next)->name), from = firstPath(t);
    sds incr = aofPath(t->folder, aofManifestLastIncr(next)->name);
    bool ok = syncNow(t) && sys->rename(job->path, base) == 0 && sys->rename(from, incr) == 0 &&
              aofSyncFolder(t->folder) == 0;
    if (ok) ok = adoptManifest(t, next, &replaced);
    else aofManifestFree(next);
    int error = errno;
    if (ok) {
        if (job->received)
            serverLog(LL_NOTICE, "Reused RDB file from primary sync as AOF base file: %s",
                      aofManifestBase(t->manifest)->name);
        serverLog(LL_NOTICE, "The append-only file is enabled: base file %s, incr file %s",
                  aofManifestBase(t->manifest)->name, aofManifestLastIncr(t->manifest)->name);
        moveLog(t, LOG_BASE, 0);
        if (stat(base, &st) == 0) job->base_size = st.st_size;
    } else {
        moveLog(t, LOG_ERROR, error);
        removeFirst(t, (const char *const[]){job->path, from, base, incr}, 4, replaced);
    }
    sdsFree(base);
    sdsFree(from);
    sdsFree(incr);
    errno = error;
    return ok;
}

/* Ends a thread whose log was never turned on: removes the temporary increment. */
static bool endFirst(aofThread *t) {
    if (t->fd >= 0) {
        sds path = firstPath(t);
        aofSystemNow()->unlink(path);
        aofSystemNow()->close(t->fd);
        sdsFree(path);
    }
    t->ended = true;
    return true;
}

static bool doDelete(aofThread *t) {
    bool replaced;
    aofFilesDeleteHistory(t->folder, t->manifest);
    aofManifest *next = aofManifestDup(t->manifest);
    aofManifestDropHistory(next);
    return adoptManifest(t, next, &replaced);
}

static bool doEnd(aofThread *t) {
    if (isFirst(t)) return endFirst(t);
    int error = t->queue.consumed == atomic_load(&t->queue.published) ? 0 : atomic_load(&t->write_error);
    bool ok = (t->sync_tried == t->queue.consumed && !atomic_load(&t->sync_error)) || syncNow(t);
    if (!error && !ok) error = errno;
    if (!error && isBroken(t)) error = EIO;
    aofSystemNow()->close(t->fd);
    t->ended = true;
    errno = error;
    return error == 0;
}

/* Fails a job because the increment is lost. */
static void failJob(const aofThread *t, aofJob *job) {
    debugAssert(isLost(t) && job->type != AOF_JOB_END);
    if (job->path) aofRemoveFile(job->path);
    job->error = t->state_error;
}

static void doJob(aofThread *t, aofJob *job) {
    if (job->type != AOF_JOB_DELETE) waitForSync(t);
    if (isLost(t) && job->type != AOF_JOB_END) {
        failJob(t, job);
        return;
    }
    errno = 0;
    switch (job->type) {
    case AOF_JOB_FIRST:
        job->ok = doFirst(t);
        if (!job->ok) moveLog(t, LOG_ERROR, errno);
        break;
    case AOF_JOB_CUT:
        job->ok = doCut(t, job);
        moveLog(t, job->ok ? LOG_CUT : LOG_CUT_FAILED, errno);
        break;
    case AOF_JOB_WRITE:
        job->ok = t->queue.consumed >= job->offset;
        errno = atomic_load(&t->write_error);
        break;
    case AOF_JOB_SYNC: job->ok = syncNow(t); break;
    case AOF_JOB_SWITCH_BASE: job->ok = isFirst(t) ? doSwitchFirst(t, job) : doSwitchBase(t, job); break;
    case AOF_JOB_DELETE: job->ok = doDelete(t); break;
    case AOF_JOB_LIST:
    case AOF_JOB_SEAL: job->ok = doList(t, job); break;
    case AOF_JOB_END: job->ok = doEnd(t); break;
    }
    job->error = job->ok ? 0 : errno;
}

static aofJob *firstJob(aofThread *t) {
    aofJob **last = &t->next_job;
    if (atomic_load_explicit(&t->jobs, memory_order_relaxed)) {
        while (*last) last = &(*last)->next;
        *last = takeAll(&t->jobs);
    }
    return t->next_job;
}

/* Returns whether the job is done at once, even if the disk has not accepted the bytes before it. */
static bool isImmediate(const aofJob *job) {
    return job && (job->type == AOF_JOB_END || job->type == AOF_JOB_WRITE || job->type == AOF_JOB_LIST ||
                   job->type == AOF_JOB_SEAL);
}

/* Does the job if all bytes before it are written, if it is one for now, or if the log is lost. */
static bool jobIfDue(aofThread *t, aofJob *job) {
    if (!job || (t->queue.consumed < job->offset && !isImmediate(job) && !isLost(t))) return false;
    t->next_job = job->next;
    doJob(t, job);
    aofThreadPush(&t->finished, job);
    notifyMain(t);
    return true;
}

/* --- the thread ------------------------------------------------------------------------------------------ */

static uint64_t publishedUnits(const aofThread *t) {
    return atomic_load_explicit(&t->queue.published_units, memory_order_relaxed);
}

/* Does all work that is due; returns whether there was any. `published` is read before the jobs are taken: main
 * publishes up to a job, submits it, and then publishes more, so the thread never writes beyond a job that it has not
 * seen. */
static bool aofThreadStep(aofThread *t) {
    threadCheck(t);
    bool done = takeSync(t);
    uint64_t limit = atomic_load(&t->queue.published);
    aofJob *job = firstJob(t);
    t->units = publishedUnits(t);
    if (job) limit = job->offset;
    bool end = job && job->type == AOF_JOB_END;
    if (!(end && isFirst(t))) done |= writeUpTo(t, limit, isImmediate(job));
    done |= jobIfDue(t, job);
    if (!t->ended) done |= syncIfDue(t);
    threadCheck(t);
    return done;
}

/* Returns whether there is a job, a finished sync or a publication that the thread has not handled. */
static bool hasWork(aofThread *t) {
    if (atomic_load(&t->jobs) || aofSyncHasEnded(&t->sync)) return true;
    return atomic_load(&t->queue.published) != t->queue.consumed && !atomic_load(&t->write_error) && !t->next_job &&
           !isLost(t);
}

/* Returns how many milliseconds the thread may sleep if main gives it nothing; -1 for no limit. */
static int64_t msUntilDue(aofThread *t) {
    uint64_t now_ms = clockMonotonicMs();
    int64_t due = msUntilSync(t, now_ms);
    if (!atomic_load_explicit(&t->write_error, memory_order_relaxed) || isLost(t)) return due;
    uint64_t passed = now_ms - t->last_try_ms;
    int64_t retry = passed >= t->second_ms ? 0 : (int64_t)(t->second_ms - passed);
    return due < 0 || retry < due ? retry : due;
}

/* Waits for `us` microseconds, or, if `us` is negative, until the thread is woken. */
static void waitFor(aofThread *t, int64_t us) {
    struct timespec until;
    if (us < 0) {
        pthread_cond_wait(&t->wake, &t->lock);
        return;
    }
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += us / 1000000;
    until.tv_nsec += (us % 1000000) * 1000;
    if (until.tv_nsec >= 1000000000) until.tv_sec++, until.tv_nsec -= 1000000000;
    pthread_cond_timedwait(&t->wake, &t->lock, &until);
}

/* Sleeps until main wakes the thread or work is due. The thread sets `asleep` and then looks for work; main publishes
 * and then reads `asleep`. So one of the two sees the other's store. */
static void sleepUntilWoken(aofThread *t) {
    pthread_mutex_lock(&t->lock);
    atomic_store(&t->asleep, true);
    int64_t due = msUntilDue(t);
    if (due != 0 && !hasWork(t)) waitFor(t, due < 0 ? due : due * 1000);
    atomic_store(&t->asleep, false);
    pthread_mutex_unlock(&t->lock);
}

/* Waits a moment before the next sync, because clients that the last sync has released may write again at once. */
static void aofThreadGather(aofThread *t) {
    uint64_t more, us = aofGatherBegin(&t->gather, &more);
    if (us == 0) return;
    uint64_t before = publishedUnits(t);
    pthread_mutex_lock(&t->lock);
    atomic_store(&t->wake_at, before + more);
    atomic_store(&t->asleep, true);
    (void)atomic_load(&t->queue.published); /* either main has seen `asleep`, or its units are seen here */
    if (publishedUnits(t) < before + more && !atomic_load(&t->jobs)) waitFor(t, (int64_t)us);
    atomic_store(&t->asleep, false);
    atomic_store(&t->wake_at, 0);
    pthread_mutex_unlock(&t->lock);
    aofGatherEnd(&t->gather, more, publishedUnits(t) - before);
}

static void aofThreadRest(aofThread *t, bool worked) {
    uint64_t now_ms = clockMonotonicMs();
    if (worked) t->last_work_ms = now_ms;
    if (syncsAlways(t)) {
        if (worked) aofThreadGather(t); /* then aofThreadStep() again: what arrived during a sync needs the next one */
        else sleepUntilWoken(t);
    } else if (now_ms - t->last_work_ms < IDLE_MS) {
        nanosleep(&(struct timespec){.tv_nsec = POLL_MS * 1000000}, NULL);
    } else {
        sleepUntilWoken(t);
    }
}

static void syncHasEnded(void *arg) { wakeThread(arg); }

static void threadMain(void *arg) {
    aofThread *t = arg;
    while (!t->ended) {
        bool worked = aofThreadStep(t);
        if (!t->ended) aofThreadRest(t, worked);
    }
}

/* --- start and end --------------------------------------------------------------------------------------- */

static void initWait(aofThread *t) {
    pthread_condattr_t monotonic;
    pthread_mutex_init(&t->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&t->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

static void freeAll(aofThread *t) {
    serverAssert(!t->next_job && !atomic_load(&t->jobs));
    for (aofJob *job; (job = aofThreadFinished(t)) != NULL;) aofJobFree(job);
    aofManifestFree(t->manifest);
    aofQueueDestroy(&t->queue);
    pthread_mutex_destroy(&t->lock);
    pthread_cond_destroy(&t->wake);
    sdsFree(t->folder);
    sdsFree(t->stem);
    zfree(t);
}

aofThread *aofThreadStart(const aofThreadOptions *o) {
    debugAssert(!o->manifest == (o->fd < 0) && o->size >= 0);
    aofThread *t = zmallocAligned(alignof(aofThread), sizeof(*t));
    memset(t, 0, sizeof(*t));
    aofQueueInit(&t->queue, o->begin);
    t->sync_tried = o->begin;
    atomic_init(&t->written, o->begin);
    atomic_init(&t->synced, o->begin);
    t->folder = sdsNew(o->folder);
    t->stem = sdsNew(o->stem);
    t->written_seq = o->written_seq;
    t->synced_seq = o->synced_seq;
    t->second_ms = o->second_ms ? o->second_ms : SECOND_MS;
    t->manifest = o->manifest;
    t->fd = o->fd;
    atomic_init(&t->state, o->fd < 0 ? LOG_FIRST : LOG_SOUND);
    t->size = o->size;
    atomic_init(&t->incr_size, (long long)o->size);
    atomic_init(&t->policy, (int)o->policy);
    atomic_init(&t->no_sync_from, UINT64_MAX);
    aofSyncInit(&t->sync, syncHasEnded, t);
    aofGatherInit(&t->gather, o->gather_max_us ? o->gather_max_us : GATHER_MAX_US);
    t->last_work_ms = t->last_sync_ms = clockMonotonicMs();
    initWait(t);
    int rc = threadStart(&t->thread, &(threadPlan){.name = "aof", .cpulist = o->cpulist}, threadMain, t);
    if (rc == 0) return t;
    t->manifest = NULL; /* not taken */
    freeAll(t);
    errno = rc;
    return NULL;
}

void aofThreadWaitForEnd(aofThread *t) { pthread_join(t->thread, NULL); }

void aofThreadFree(aofThread *t) {
    serverAssert(t->ended);
    freeAll(t);
}
