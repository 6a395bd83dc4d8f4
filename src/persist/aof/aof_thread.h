/* aof_thread.h -- the thread that alone touches the append-only files while the server runs.
 *
 * Main appends bytes to its stream and gives it jobs; a job has a place in the stream, and is done when all before it
 * is written. The thread tells how far it has written and synced by two sequences (client/reply_hold.h), whose
 * offsets are those of the stream.
 *
 * A thread can begin without files, for a log that is turned on while the server runs: AOF_JOB_FIRST makes a temporary
 * increment, and AOF_JOB_SWITCH_BASE gives it its place together with its base. Until then the log is not there: an
 * error with `always` ends nothing but this try, and AOF_JOB_END removes the increment.
 *
 * Runs on: main, all of it.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_AOF_THREAD_H
#define PERSIST_AOF_THREAD_H

#include "aof_manifest.h"
#include "aof_queue.h"
#include "persist_settings.h"
#include "reply_hold.h"

typedef struct aofThread aofThread;

typedef struct aofThreadOptions {
    const char *folder, *stem; /* appenddirname (a path), appendfilename; copied */
    aofManifest *manifest;     /* taken: as it stands on the disk; its last increment is open as fd. NULL: none yet */
    int fd;                    /* taken; -1: none yet */
    off_t size;                /* of that increment */
    uint64_t begin;            /* offset of the first byte to come; the sequences have reached it */
    holdSequence written_seq, synced_seq;
    fsyncPolicy policy;
    const char *cpulist; /* may be NULL */
    /* for tests; 0: as usual */
    uint64_t second_ms;     /* how long a second is */
    uint64_t gather_max_us; /* how long a sync with `always` may wait for more */
} aofThreadOptions;

typedef enum {
    AOF_JOB_FIRST,       /* from here on the first increment, a temporary file; only as the first job of a thread */
    AOF_JOB_CUT,         /* from here on the next increment */
    AOF_JOB_WRITE,       /* write all before it now; not ok where the disk does not take it, which is not waited for */
    AOF_JOB_SYNC,        /* sync what is written, whatever the policy says */
    AOF_JOB_SWITCH_BASE, /* the file `path` becomes the next base; all increments but the last are history. A first
                          * increment gets its name here; if that fails all its files are removed */
    AOF_JOB_DELETE,      /* delete what is history */
    AOF_JOB_END          /* write and sync the rest and end the thread */
} aofJobType;

/* Main makes one (zmalloc) and gives it away; it comes back through aofThreadFinished(). */
typedef struct aofJob {
    struct aofJob *next;
    aofJobType type;
    uint64_t offset;    /* filled in: where in the stream */
    sds path;           /* owns; SWITCH_BASE: the complete and synced file, on the same file system */
    const char *ending; /* SWITCH_BASE: "rdb" or "aof" */
    bool received;      /* SWITCH_BASE of a first increment: `path` came from a primary, as the server's log says */
    bool ok;            /* from here on: the thread's answer */
    int error;          /* errno, when not ok */
    off_t base_size;    /* SWITCH_BASE */
    off_t incr_size;    /* CUT: of the increment that ends there */
} aofJob;

/* Start it. NULL with errno when the system gives no thread; then nothing was taken. */
aofThread *aofThreadStart(const aofThreadOptions *o) must_check;
/* Wait for its end, behind AOF_JOB_END; jobs can be taken then. And free everything. */
void aofThreadWaitForEnd(aofThread *t);
void aofThreadFree(aofThread *t);

/* The stream to append to. */
aofQueue *aofThreadQueue(aofThread *t);
/* All complete units that were appended may be written; wakes the thread if it sleeps. */
void aofThreadPublish(aofThread *t);
/* Give it a job, to be done after all complete units that were appended. */
void aofThreadSubmit(aofThread *t, aofJob *job);
/* The next job that is done, or NULL; who takes it frees it (aofJobFree). */
aofJob *aofThreadFinished(aofThread *t);
aofJob *aofJobCreate(aofJobType type);
void aofJobFree(aofJob *job);

void aofThreadSetPolicy(aofThread *t, fsyncPolicy policy);
/* From offset `from` on nothing is synced but by jobs, until it is told another: no-appendfsync-on-rewrite while a
 * child lives. UINT64_MAX: all is synced. */
void aofThreadSetNoSyncFrom(aofThread *t, uint64_t from);
/* Tell of each write through written_seq, too. Else it is only told of syncs. */
void aofThreadReportWrites(aofThread *t, bool on);

/* How far it is. */
typedef struct aofProgress {
    uint64_t written, synced;
    int write_error, sync_error; /* errno of what does not work at present, or 0 */
    bool sync_broken;            /* a sync has failed: `synced` stays until another base is there */
    bool syncing;                /* a sync is under way */
    off_t incr_size;             /* bytes of the increment that is written to */
} aofProgress;
aofProgress aofThreadProgress(const aofThread *t);

#endif
