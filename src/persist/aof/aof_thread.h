/* aof_thread.h -- the thread that alone touches the append-only files while the server runs.
 *
 * Main appends bytes to the AOF queue and gives the thread jobs. A job has an offset in the queue, and is done when all
 * bytes before it are written. The thread reports the offsets up to which it has written and synced by two sequences
 * (client/reply_hold.h), whose offsets are those of the queue.
 *
 * A thread can begin without files, for a log that is turned on while the server runs: AOF_JOB_FIRST makes a temporary
 * increment, and AOF_JOB_SWITCH_BASE renames it and its base and writes the manifest. Until then there is no log: an
 * error with `always` ends this attempt and not the process, and AOF_JOB_END removes the increment.
 *
 * Runs on: main, all of it.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_AOF_THREAD_H
#define PERSIST_AOF_THREAD_H

#include "aof_listing.h"
#include "aof_manifest.h"
#include "aof_queue.h"
#include "persist_settings.h"
#include "reply_hold.h"

typedef struct aofThread aofThread;

typedef struct aofThreadOptions {
    const char *folder, *stem; /* appenddirname (a path), appendfilename; copied */
    aofManifest *manifest;     /* takes ownership: that on disk, whose last increment is open as fd; NULL: none yet */
    int fd;                    /* takes ownership; -1: none yet */
    off_t size;                /* of that increment */
    uint64_t begin;            /* offset of the next byte; the sequences have reached it */
    holdSequence written_seq, synced_seq;
    fsyncPolicy policy;
    const char *cpulist; /* may be NULL */
    /* for tests; 0: the default */
    uint64_t second_ms;     /* milliseconds that count as a second */
    uint64_t gather_max_us; /* how long a sync with `always` may wait for more units */
} aofThreadOptions;

typedef enum {
    AOF_JOB_FIRST,       /* begin the first increment, a temporary file; only as the first job of a thread */
    AOF_JOB_CUT,         /* begin the next increment at this offset */
    AOF_JOB_WRITE,       /* write all before it now, and fail if the disk does not accept it */
    AOF_JOB_SYNC,        /* sync what is written, whatever the policy is */
    AOF_JOB_SWITCH_BASE, /* the file `path` becomes the next base; all increments but the last are history. A first
                          * increment gets its name here; if that fails all its files are removed */
    AOF_JOB_DELETE,      /* delete the files that are history */
    AOF_JOB_LIST,        /* list the files for a backup. Fails at once if the disk does not accept what is before it */
    AOF_JOB_SEAL,        /* the same, after the increment was synced and the next one was begun; the base that is being
                          * made begins at the last CUT nevertheless */
    AOF_JOB_END          /* write and sync the rest and end the thread */
} aofJobType;

/* Made by aofJobCreate(). aofThreadSubmit() takes ownership, aofThreadFinished() returns it to the caller. */
typedef struct aofJob {
    struct aofJob *next;
    aofJobType type;
    uint64_t offset;    /* set by aofThreadSubmit(): its position in the queue */
    sds path;           /* owns; for SWITCH_BASE: the complete and synced file, on the same file system */
    const char *ending; /* for SWITCH_BASE: "rdb" or "aof" */
    bool received;      /* for SWITCH_BASE of a first increment: log that `path` came from a primary */
    bool ok;            /* from here on: results, set by the thread */
    int error;          /* errno if not ok */
    off_t base_size;    /* for SWITCH_BASE */
    off_t incr_size;    /* for CUT and SEAL: of the increment that ends there; for SWITCH_BASE: of those between the cut
                         * and the last one */
    aofListing *listing; /* owns; for LIST and SEAL */
} aofJob;

/* Starts the thread. Returns NULL with errno if the system cannot start one; then it has not taken ownership of
 * anything in `o`. */
aofThread *aofThreadStart(const aofThreadOptions *o) must_check;
/* Waits until the thread has ended; call after AOF_JOB_END was submitted. Jobs can still be taken then. aofThreadFree()
 * frees it with all jobs that were not taken. */
void aofThreadWaitForEnd(aofThread *t);
void aofThreadFree(aofThread *t);

/* Returns the queue to append to. */
aofQueue *aofThreadQueue(aofThread *t);
/* Lets the thread write all complete units that were appended, and wakes it if it sleeps. */
void aofThreadPublish(aofThread *t);
/* Publishes all complete units that were appended, and gives the thread a job to do after them. Takes `job`. */
void aofThreadSubmit(aofThread *t, aofJob *job);
/* Returns the next job that is done, or NULL. The caller frees it with aofJobFree(). */
aofJob *aofThreadFinished(aofThread *t);
/* Returns a job without results; the caller sets the fields that its type needs. */
aofJob *aofJobCreate(aofJobType type);
void aofJobFree(aofJob *job);

/* Changes the policy, and wakes the thread. */
void aofThreadSetPolicy(aofThread *t, fsyncPolicy policy);
/* Sets the offset from which on only jobs sync, until the next call: for no-appendfsync-on-rewrite while a child runs.
 * With UINT64_MAX the policy alone decides. */
void aofThreadSetNoSyncFrom(aofThread *t, uint64_t from);
/* Sets whether the thread publishes each write in written_seq. Without it only syncs are published, in synced_seq. */
void aofThreadReportWrites(aofThread *t, bool on);

/* How far the thread has come. */
typedef struct aofProgress {
    uint64_t written, synced;
    int write_error, sync_error; /* errno of the last write or sync if it failed, else 0 */
    bool sync_broken;            /* a sync has failed: `synced` does not advance before there is a new base */
    bool syncing;                /* a sync is running */
    off_t incr_size;             /* bytes of the current increment */
} aofProgress;
/* Returns the progress. Its fields are read one after the other, so later ones may be newer. */
aofProgress aofThreadProgress(const aofThread *t);

/* --- aof_latency.c ------------------------------------------------------------------------------------ */
typedef enum { AOF_LATENCY_WRITE, AOF_LATENCY_SYNC_ALWAYS, AOF_LATENCY_EVENTS } aofLatencyEvent;

/* Records the duration of an event that began at `began_us` (monotonic clock) and ends now. Any thread. */
void aofLatencyNote(aofLatencyEvent event, uint64_t began_us);
/* Call at each tick. Adds to LATENCY, for each event, the longest duration since the last call if it reaches the
 * threshold. Main. */
void aofLatencyReport(void);

#endif
