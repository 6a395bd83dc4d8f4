/* thread.c -- the one way to start a thread of this program.
 *
 * Not here    the work of a thread; when it ends.
 * Owns        the arguments of a new thread, until it runs.
 * Threads     any.
 * Tests       tests/unit/base/thread_test.c, tests/server/signals.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "thread.h"
#include "panic.h"
#include "zmalloc.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef __linux__
#include <sys/prctl.h>
#include <sys/resource.h>
#endif

/* The arguments of a new thread. */
typedef struct newThread {
    char name[THREAD_NAME_SIZE];
    char *cpulist; /* owned; may be NULL */
    int nice;
    void (*run)(void *arg);
    void *arg;
} newThread;

static void setName(const char *name) {
#ifdef __linux__
    prctl(PR_SET_NAME, name);
#elif defined(__APPLE__)
    pthread_setname_np(name);
#endif
}

/* Adds `steps` to the nice value of the calling thread. */
static void addNice(int steps) {
#ifdef __linux__ /* elsewhere, the nice value is that of the whole process */
    errno = 0;
    int now = getpriority(PRIO_PROCESS, 0);
    if (now != -1 || errno == 0) setpriority(PRIO_PROCESS, 0, now + steps);
#else
    unused(steps);
#endif
}

#ifdef __linux__
/* Reads a number at *p and moves past it. Returns false if there is none or it is no CPU. */
static bool takeCpu(const char **p, long *cpu) {
    char *end;

    if (**p < '0' || **p > '9') return false;
    errno = 0;
    *cpu = strtol(*p, &end, 10);
    *p = end;
    return errno == 0 && *cpu < CPU_SETSIZE;
}

/* Reads "n", "a-b" or "a-b:step" and adds it to the set. Returns false if it is malformed. */
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
void threadSetCpuAffinity(const char *cpulist) { unused(cpulist); }
#endif

static void newThreadFree(newThread *b) {
    zfree(b->cpulist);
    zfree(b);
}

/* Sets the name before panicThreadInit(), which copies it for reports. */
static void *threadMain(void *arg) {
    newThread start = *(newThread *)arg;
    setName(start.name);
    if (start.nice) addNice(start.nice);
    threadSetCpuAffinity(start.cpulist);
    panicThreadInit();
    zmallocThreadInit();
    newThreadFree(arg);
    start.run(start.arg);
    zmallocThreadExit();
    panicThreadExit();
    return NULL;
}

int threadStart(pthread_t *id, const threadPlan *plan, void (*run)(void *arg), void *arg) {
    newThread *b = zcalloc(1, sizeof(*b));
    snprintf(b->name, sizeof(b->name), "%s", plan->name);
    b->cpulist = plan->cpulist ? zstrdup(plan->cpulist) : NULL;
    b->nice = plan->nice;
    b->run = run;
    b->arg = arg;
    sigset_t before;
    panicBlockOtherSignals(&before);
    int error = pthread_create(id, NULL, threadMain, b);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error) newThreadFree(b);
    return error;
}

void threadAdopt(void) {
    panicThreadInit();
    zmallocThreadInit();
}
