/* child.h -- a forked child that writes the dataset as it was at the fork: start, progress reports, end.
 *
 * At most one child runs at a time, for one purpose. It reports through a pipe how many keys it has written and how
 * much memory copy-on-write has cost. It ends with its parent, even if the parent is killed.
 *
 * Runs on: main's own thread (the kernel kills a child when the thread that forked it ends); functions that only read,
 * main.
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
    bool ok;               /* its job returned true */
    bool on_purpose;       /* SIGUSR1 ended it, from childKill() or a user */
    int exit_code, signal; /* exit status, or signal that ended it; 0 if none */
    size_t cow_bytes;      /* peak of the copy-on-write size that it reported */
} childEnd;

typedef struct childJob {
    childPurpose purpose;
    const char *cpulist;                           /* borrowed for the call; NULL or "": same as parent */
    bool (*work)(void *arg);                       /* runs in the child; returns false if it failed */
    void (*ended)(void *arg, const childEnd *how); /* called in the parent after the child's end */
    void *arg;                                     /* borrowed until ended() has returned */
    bool has_output;                               /* `output` stays open in the child, as CHILD_OUTPUT_FD */
    int output;                                    /* borrowed */
} childJob;
#define CHILD_OUTPUT_FD 4

/* INFO fields of the running child; all zero if there is none. */
typedef struct childFigures {
    size_t cow_bytes, cow_peak_bytes; /* memory duplicated because parent or child wrote to a page */
    uint64_t cow_age_s;               /* since the child measured it */
    size_t keys_done, keys_total;
} childFigures;

/* Call at startup. `loop` watches the pipes. `settle` runs in each child and sets its process title and its OOM
 * score. */
void childInit(aeEventLoop *loop, void (*settle)(childPurpose purpose));

/* Sets a callback that is called with true after a child was forked and with false after it has ended. Startup only. */
void childOnChange(void (*fn)(bool running));

/* Forks a child that runs the job; `job` is copied. Returns false with errno, and no effect, if that is impossible. No
 * child may be running. From here until the child's end pages count as shared (store/shared_pages.h,
 * replyCopyShared()). */
bool childStart(const childJob *job) must_check;
/* DEBUG PAUSE-AFTER-FORK: the parent stops itself (SIGSTOP) after each fork, so that a test can act while it is
 * stopped. */
void childSetPauseAfterFork(bool on);
/* Returns the purpose of the running child, or CHILD_NONE. */
childPurpose childRunning(void);
pid_t childPid(void); /* 0: none */
/* Sends SIGUSR1 to the child, if there is one. It has ended when the job's ended() was called. Needs the main role. */
void childKill(void);
/* Like childKill(), and waits for the end of the child. ended() has been called when it returns. */
void childKillAndWait(void);
/* Call at each tick: detects a child that ended without the event loop noticing it. */
void childTick(void);
childFigures childFiguresNow(void);

/* Returns how many children were forked since startup or CONFIG RESETSTAT. */
long long childForks(void);
/* Returns how long the last fork took. */
uint64_t childLastForkUs(void);
/* Resets both, for CONFIG RESETSTAT. */
void childResetStats(void);

/* Call after every few keys while the dataset is written (rdbSaveOptions.progress), with the number of keys written so
 * far. Does nothing in a process that is not a child. `unused_arg` is ignored. */
void childProgress(void *unused_arg, size_t keys);

#endif
