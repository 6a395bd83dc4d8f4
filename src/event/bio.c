/* bio.c -- background threads for work that must not stop main: closing files, fsync, freeing.
 *
 * One queue and one thread per kind, so that a slow disk does not hold up the freeing of memory.
 *
 * Not here    what a job does: the submitter brings the function.
 * Owns        the queues and threads; a job's argument from bioSubmit() until its function takes it.
 * Threads     bioInit(): main. bioSubmit(), bioPending(), bioDrain(): any but the kind's own. Jobs: the kind's.
 * Invariants  1. Under the lock: finished <= submitted, and submitted - finished jobs are queued or running.
 *             2. A kind's jobs start and finish in the order of submission.
 * Cost        a lock, an allocation and at most one wake-up per job.
 * Tests       tests/unit/event/bio_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "bio.h"
#include "panic.h"
#include "zmalloc.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <sys/prctl.h>
#include <sys/resource.h>
#endif

#define THREAD_NAME_SIZE 16 /* the system's limit, NUL included */

typedef struct bioQueue {
    alignas(CACHE_LINE) pthread_mutex_t lock; /* a leaf: nothing else is locked while it is held */
    pthread_cond_t submitted_more, finished_more;
    bioJob *first, *last;         /* under lock; owns those that are made here */
    uint64_t submitted, finished; /* under lock */
    bool running;                 /* main */
} bioQueue;

static bioQueue queues[BIO_KINDS];
static char *thread_cpulist; /* owns; const after bioInit() */
static bool run_inline;

static const char *const thread_names[BIO_KINDS] = {
    [BIO_CLOSE_FILE] = "bio_close_file",
    [BIO_FSYNC] = "bio_aof",
    [BIO_LAZY_FREE] = "bio_lazy_free",
};

/* ----------------------------------------------------------------------------------------- threads */

void threadSetName(const char *name) {
    char cut[THREAD_NAME_SIZE];

    snprintf(cut, sizeof(cut), "%s", name);
#ifdef __linux__
    prctl(PR_SET_NAME, cut);
#elif defined(__APPLE__)
    pthread_setname_np(cut);
#endif
}

void threadGiveWay(int steps) {
#ifdef __linux__ /* elsewhere this is the process's */
    errno = 0;
    int now = getpriority(PRIO_PROCESS, 0);
    if (now != -1 || errno == 0) setpriority(PRIO_PROCESS, 0, now + steps);
#else
    unused(steps);
#endif
}

#ifdef __linux__
/* Read a number at *p and move behind it. False when there is none or it is no CPU. */
static bool takeCpu(const char **p, long *cpu) {
    char *end;

    if (**p < '0' || **p > '9') return false;
    errno = 0;
    *cpu = strtol(*p, &end, 10);
    *p = end;
    return errno == 0 && *cpu < CPU_SETSIZE;
}

/* Read "n", "a-b" or "a-b:step" and add it to the set. */
static bool takeCpuRange(const char **p, cpu_set_t *set) {
    long from, to, step = 1;

    if (!takeCpu(p, &from)) return false;
    to = from;
    if (**p == '-') {
        ++*p;
        if (!takeCpu(p, &to)) return false;
        if (**p == ':') {
            ++*p;
            if (!takeCpu(p, &step) || step == 0) return false;
        }
    }
    for (long cpu = from; cpu <= to; cpu += step) CPU_SET((size_t)cpu, set);
    return from <= to;
}

void threadSetCpuAffinity(const char *cpulist) {
    cpu_set_t set;

    if (!cpulist || !*cpulist) return;
    CPU_ZERO(&set);
    for (const char *p = cpulist;;) {
        while (*p == ' ') p++;
        if (!takeCpuRange(&p, &set)) return;
        while (*p == ' ') p++;
        if (!*p) break;
        if (*p++ != ',') return;
    }
    sched_setaffinity(0, sizeof(set), &set);
}
#else
void threadSetCpuAffinity(const char *cpulist) {
    unused(cpulist);
}
#endif

/* -------------------------------------------------------------------------------------------- jobs */

/* Wait for a job and take it out of the queue. */
static bioJob takeJob(bioQueue *queue) {
    pthread_mutex_lock(&queue->lock);
    while (!queue->first) pthread_cond_wait(&queue->submitted_more, &queue->lock);
    bioJob *node = queue->first, job = *node;
    queue->first = node->next;
    if (!queue->first) queue->last = NULL;
    pthread_mutex_unlock(&queue->lock);
    if (job.is_made) zfree(node);
    return job;
}

static void finishJob(bioQueue *queue) {
    pthread_mutex_lock(&queue->lock);
    queue->finished++;
    pthread_cond_broadcast(&queue->finished_more);
    pthread_mutex_unlock(&queue->lock);
}

/* Runs until the process ends. */
static void *workerMain(void *arg) {
    bioKind kind = (bioKind)(uintptr_t)arg;
    bioQueue *queue = &queues[kind];

    threadSetName(thread_names[kind]);
    threadSetCpuAffinity(thread_cpulist);
    panicThreadInit();
    zmallocThreadInit();
    for (;;) {
        bioJob job = takeJob(queue);
        job.fn(job.arg);
        finishJob(queue);
    }
    return NULL;
}

void bioInit(const char *cpulist) {
    sigset_t before;

    thread_cpulist = cpulist && *cpulist ? zstrdup(cpulist) : NULL;
    panicBlockOtherSignals(&before);
    for (int kind = 0; kind < BIO_KINDS; kind++) {
        bioQueue *queue = &queues[kind];
        serverAssert(!queue->running);
        *queue = (bioQueue){.running = true};
        pthread_mutex_init(&queue->lock, NULL);
        pthread_cond_init(&queue->submitted_more, NULL);
        pthread_cond_init(&queue->finished_more, NULL);
        pthread_t thread;
        int rc = pthread_create(&thread, NULL, workerMain, (void *)(uintptr_t)kind);
        if (rc != 0) serverPanic("Can't initialize Background Jobs. Error message: %s", strerror(rc));
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void bioRunInline(void) {
    run_inline = true;
}

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
    *job = (bioJob){.fn = fn, .arg = arg, .is_made = true};
    submit(kind, job);
}

void bioSubmitJob(bioKind kind, bioJob *job) {
    if (unlikely(run_inline)) {
        job->fn(job->arg);
        return;
    }
    job->next = NULL;
    job->is_made = false;
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
