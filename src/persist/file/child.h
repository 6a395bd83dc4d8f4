/* child.h -- a forked child that writes the dataset as it was at one moment: its start, what it tells, its end.
 *
 * One child at a time, for one purpose. It tells by a pipe how far it is and how much memory its being there has cost,
 * and it ends with its parent, however that ends.
 *
 * Runs on: main's own thread (a child is killed when the thread that has forked it ends); what reads only, main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_CHILD_H
#define PERSIST_CHILD_H

#include "ae.h"

#include <sys/types.h>

typedef enum { CHILD_NONE, CHILD_RDB, CHILD_AOF } childPurpose;

/* How a child has ended. */
typedef struct childEnd {
    pid_t pid;
    bool ok;               /* its work said so */
    bool on_purpose;       /* by childKill(), or by anybody's SIGUSR1 */
    int exit_code, signal; /* 0: none */
    size_t cow_bytes;      /* the most that it has told */
} childEnd;

typedef struct childJob {
    childPurpose purpose;
    const char *cpulist;                           /* borrowed for the call; NULL or "": where its parent may run */
    bool (*work)(void *arg);                       /* in the child: false makes it a failure */
    void (*ended)(void *arg, const childEnd *how); /* in the parent, on main's own thread: it is gone */
    void *arg;                                     /* borrowed until ended() has returned */
    bool has_output;                               /* the child keeps `output`, as CHILD_OUTPUT_FD */
    int output;                                    /* borrowed */
} childJob;
#define CHILD_OUTPUT_FD 4

/* What INFO shows of the child that runs; zeros without one. */
typedef struct childFigures {
    size_t cow_bytes, cow_peak_bytes; /* private to it, or to us, because a page was written to */
    uint64_t cow_age_s;               /* since that was looked at */
    size_t keys_done, keys_total;
} childFigures;

/* Boot. `loop` hears the pipes. `settle` is called in each child: what its process is called, whom the kernel shall
 * kill first. */
void childInit(aeEventLoop *loop, void (*settle)(childPurpose purpose));

/* Who hears that a child lives, or does no more. Boot only. */
void childOnLife(void (*fn)(bool lives));

/* Fork, and let the child do the job; `job` is copied. False with errno, and nothing has happened. Not while there is
 * one. From here to its end pages are shared (store/shared_pages.h, replyCopyShared()). */
bool childStart(const childJob *job) must_check;
/* DEBUG PAUSE-AFTER-FORK: this process stops behind each fork, for tests of what happens meanwhile. */
void childSetPauseAfterFork(bool on);
childPurpose childRunning(void);
pid_t childPid(void); /* 0: none */
/* Tell it to end (SIGUSR1); it has ended when the job's ended() has been called. Any holder of main's role. */
void childKill(void);
/* The same, and wait until it has. */
void childKillAndWait(void);
/* Each tick: look whether it has ended without telling. */
void childTick(void);
childFigures childFiguresNow(void);

/* Forks since the start, or CONFIG RESETSTAT; the last one's duration. */
long long childForks(void);
uint64_t childLastForkUs(void);
void childResetStats(void);

/* For who writes the dataset (rdbSaveOptions.progress), every few keys: so many are written. Does nothing outside of a
 * child; `unused_arg` is. */
void childProgress(void *unused_arg, size_t keys);

#endif
