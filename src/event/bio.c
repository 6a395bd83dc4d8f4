/* bio.c -- background threads for work that must not stop main: closing files, fsync, freeing.
 *
 * Each kind has its own queue and thread, so that a slow disk does not delay the freeing of memory.
 *
 * Not here    the work of a job: the caller passes the function.
 * Owns        the queues and threads; the argument of a job from bioSubmit() until its function is called.
 * Threads     bioInit(): main. bioSubmit(), bioPending(), bioDrain(): any but the kind's own. Jobs: the kind's.
 * Invariants  1. Under the lock: finished <= submitted, and submitted - finished jobs are queued or running.
 *             2. A kind's jobs start and finish in the order of submission.
 * Cost        a lock, an allocation and at most one wakeup per job.
 * Tests       tests/unit/event/bio_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "bio.h"
#include "panic.h"
#include "thread.h"
#include "zmalloc.h"

#include <pthread.h>
#include <string.h>

typedef struct bioQueue {
    alignas(CACHE_LINE) pthread_mutex_t lock; /* no other lock is taken while it is held */
    pthread_cond_t submitted_more, finished_more;
    bioJob *first, *last;         /* under lock; owns the jobs that bioSubmit() has allocated */
    uint64_t submitted, finished; /* under lock */
    bool running;                 /* main */
} bioQueue;

static bioQueue queues[BIO_KINDS];
static bool run_inline;

static const char *const thread_names[BIO_KINDS] = {
    [BIO_CLOSE_FILE] = "bio_close_file",
    [BIO_FSYNC] = "bio_aof",
    [BIO_LAZY_FREE] = "bio_lazy_free",
};

/* -------------------------------------------------------------------------------------------- jobs */

/* Waits for a job and removes it from the queue. */
static bioJob takeJob(bioQueue *queue) {
    pthread_mutex_lock(&queue->lock);
    while (!queue->first) pthread_cond_wait(&queue->submitted_more, &queue->lock);
    bioJob *node = queue->first, job = *node;
    queue->first = node->next;
    if (!queue->first) queue->last = NULL;
    pthread_mutex_unlock(&queue->lock);
    if (job.allocated) zfree(node);
    return job;
}

static void finishJob(bioQueue *queue) {
    pthread_mutex_lock(&queue->lock);
    queue->finished++;
    pthread_cond_broadcast(&queue->finished_more);
    pthread_mutex_unlock(&queue->lock);
}

/* Runs until the process ends. */
static void workerMain(void *arg) {
    bioQueue *queue = arg;
    for (;;) {
        bioJob job = takeJob(queue);
        job.fn(job.arg);
        finishJob(queue);
    }
}

void bioInit(const char *cpulist) {
    for (int kind = 0; kind < BIO_KINDS; kind++) {
        bioQueue *queue = &queues[kind];
        serverAssert(!queue->running);
        *queue = (bioQueue){.running = true};
        pthread_mutex_init(&queue->lock, NULL);
        pthread_cond_init(&queue->submitted_more, NULL);
        pthread_cond_init(&queue->finished_more, NULL);
        pthread_t thread;
        int rc = threadStart(&thread, &(threadPlan){.name = thread_names[kind], .cpulist = cpulist}, workerMain, queue);
        if (rc != 0) serverPanic("Can't initialize Background Jobs. Error message: %s", strerror(rc));
        pthread_detach(thread);
    }
}

void bioRunInline(void) { run_inline = true; }

static void submit(bioKind kind, bioJob *job) {
    bioQueue *queue = &queues[kind];
    pthread_mutex_lock(&queue->lock);
    if (queue->last) queue->last->next = job;
    else queue->first = job;
    queue->last = job;
    queue->submitted++;
    pthread_cond_signal(&queue->submitted_more);
    pthread_mutex_unlock(&queue->lock);
}

void bioSubmit(bioKind kind, void (*fn)(void *arg), void *arg) {
    if (unlikely(run_inline)) {
        fn(arg);
        return;
    }
    bioJob *job = zmalloc(sizeof(*job));
    *job = (bioJob){.fn = fn, .arg = arg, .allocated = true};
    submit(kind, job);
}

void bioSubmitJob(bioKind kind, bioJob *job) {
    if (unlikely(run_inline)) {
        job->fn(job->arg);
        return;
    }
    job->next = NULL;
    job->allocated = false;
    submit(kind, job);
}

size_t bioPending(bioKind kind) {
    bioQueue *queue = &queues[kind];

    pthread_mutex_lock(&queue->lock);
    size_t pending = (size_t)(queue->submitted - queue->finished);
    pthread_mutex_unlock(&queue->lock);
    return pending;
}

void bioDrain(bioKind kind) {
    bioQueue *queue = &queues[kind];

    pthread_mutex_lock(&queue->lock);
    uint64_t target = queue->submitted;
    while (queue->finished < target) pthread_cond_wait(&queue->finished_more, &queue->lock);
    pthread_mutex_unlock(&queue->lock);
}
