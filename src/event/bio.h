/* bio.h -- background threads for work that must not stop main: closing files, fsync, freeing.
 *
 * Each kind of job has its own thread and runs in the order of submission. Jobs are pushed under a
 * mutex: they are rare and large.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef EVENT_BIO_H
#define EVENT_BIO_H

#include "platform.h"

typedef enum { BIO_CLOSE_FILE, BIO_FSYNC, BIO_LAZY_FREE, BIO_KINDS } bioKind;

/* Start the threads, which run until the process ends; `cpulist` (may be NULL or "") pins them. Boot, once, after
 * signals are set up. */
void bioInit(const char *cpulist);
/* Run fn(arg) on the kind's thread. fn takes ownership of arg. Any thread but the kind's own. */
void bioSubmit(bioKind kind, void (*fn)(void *arg), void *arg);
/* The same without an allocation: `job` is the caller's, and nobody here touches it once its `fn` is called. */
typedef struct bioJob {
    void (*fn)(void *arg);
    void *arg;
    struct bioJob *next; /* bio.c's, as the next */
    bool is_made;
} bioJob;
void bioSubmitJob(bioKind kind, bioJob *job);
/* In a forked child, which has none of the threads: from now on jobs run at once, in the call that submits them. */
void bioRunInline(void);
/* Jobs not finished. Any thread. */
size_t bioPending(bioKind kind);
/* Wait until all jobs submitted so far have finished. */
void bioDrain(bioKind kind);

#endif
