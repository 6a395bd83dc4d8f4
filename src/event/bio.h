/* bio.h -- background threads for work that must not stop main: closing files, fsync, freeing.
 *
 * Each kind of job has a thread of its own, which runs them in the order of submission. The queues have a mutex,
 * because jobs are rare and large.
 *
 * Runs on: any thread but the kind's own, except where a function says otherwise.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef EVENT_BIO_H
#define EVENT_BIO_H

#include "platform.h"

typedef enum { BIO_CLOSE_FILE, BIO_FSYNC, BIO_LAZY_FREE, BIO_KINDS } bioKind;

/* Starts the threads, which run until the process ends; `cpulist` (may be NULL or "") pins them. Call once, at startup,
 * after signals are set up. */
void bioInit(const char *cpulist);
/* Runs fn(arg) on the kind's thread. fn takes ownership of arg. */
void bioSubmit(bioKind kind, void (*fn)(void *arg), void *arg);
/* A job in memory of the caller, so that submitting it allocates nothing. */
typedef struct bioJob {
    void (*fn)(void *arg);
    void *arg;
    struct bioJob *next; /* used by bio.c only, like the next one */
    bool allocated;      /* allocated by bio.c */
} bioJob;
/* Runs the job's function on the kind's thread. The caller sets `fn` and `arg`, owns the job, and keeps it until `fn`
 * is called; bio.c does not access it after that. */
void bioSubmitJob(bioKind kind, bioJob *job);
/* Makes later jobs run within the call that submits them. Call in a forked child, which has none of the threads. */
void bioRunInline(void);
/* Returns the number of jobs that are queued or running. */
size_t bioPending(bioKind kind);
/* Waits until all jobs submitted before the call have finished. */
void bioDrain(bioKind kind);

#endif
