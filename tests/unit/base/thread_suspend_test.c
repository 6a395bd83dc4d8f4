/* thread_suspend_test.c -- threads that are suspended permanently, each test in a process of its own.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "thread_suspend.h"
#include "unit.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 4

static char output[4096];

static _Atomic int begun;
static _Atomic long laps;
static long plain[THREADS]; /* written by one thread and read by the one that stops it, with nothing in between */
static _Thread_local bool is_odd;

static bool askOdd(void) { return is_odd; }

/* Under a sanitizer a thread handles a signal only when it calls a function. */
static void *workMain(void *arg) {
    size_t i = (size_t)(uintptr_t)arg;
    is_odd = i % 2;
    prctl(PR_SET_NAME, i % 2 ? "odd" : "even");
    threadSuspendRegister();
    atomic_fetch_add(&begun, 1);
    for (;;) {
        for (int lap = 0; lap < 1000; lap++) plain[i]++;
        atomic_fetch_add(&laps, 1);
        sched_yield();
    }
    return NULL;
}

static void start(pthread_t *t, void *(*body)(void *arg), size_t i) {
    pthread_create(t, NULL, body, (void *)(uintptr_t)i);
    pthread_detach(*t);
}

static void startWorkers(void) {
    pthread_t t;
    for (size_t i = 0; i < THREADS; i++) start(&t, workMain, i);
    while (begun < THREADS || laps < 10) usleep(1000);
}

static void stopWorkers(void *arg) {
    unused(arg);
    threadSuspendRegister();
    startWorkers();
    threadSuspendOthers(askOdd);
    long seen = laps, values[THREADS];
    memcpy(values, plain, sizeof(values));
    usleep(200000);
    CHECK_EQ_INT(laps, seen);
    CHECK_MEM(plain, values, sizeof(values));
    suspendedThread t;
    int stopped = 0, odd = 0;
    for (size_t i = 0; threadSuspendGet(i, &t); i++) {
        stopped += t.stopped && t.context && t.id != getpid();
        odd += t.stopped && t.answer && !strcmp(t.name, "odd");
        if (!t.answer) CHECK_EQ_STR(t.name, "even");
    }
    CHECK_EQ_INT(stopped, THREADS);
    CHECK_EQ_INT(odd, THREADS / 2);
}

TEST(parking_stops_all_threads_that_have_begun) {
    int status = unitInChild(stopWorkers, NULL, output, sizeof(output));
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK_EQ_STR(output, "");
}

static void *deafMain(void *arg) {
    sigset_t all;
    threadSuspendRegister();
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    atomic_fetch_add(&begun, 1);
    for (;;) pause();
    return arg;
}

static void stopDeaf(void *arg) {
    pthread_t t;
    unused(arg);
    startWorkers();
    start(&t, deafMain, 0);
    while (begun < THREADS + 1) usleep(1000);
    threadSuspendOthers(askOdd);
    suspendedThread p;
    int stopped = 0, all = 0;
    for (size_t i = 0; threadSuspendGet(i, &p); i++) all++, stopped += p.stopped;
    CHECK_EQ_INT(all, THREADS + 1);
    CHECK_EQ_INT(stopped, THREADS);
}

TEST(parking_does_not_wait_for_ever) {
    int status = unitInChild(stopDeaf, NULL, output, sizeof(output));
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK_EQ_STR(output, "");
}

static void *endingMain(void *arg) {
    threadSuspendRegister();
    threadSuspendUnregister();
    return arg;
}

static void stopNobody(void *arg) {
    pthread_t t;
    unused(arg);
    threadSuspendRegister();
    for (int i = 0; i < 2000; i++) { /* more than the table has slots */
        pthread_create(&t, NULL, endingMain, NULL);
        pthread_join(t, NULL);
    }
    threadSuspendOthers(askOdd);
    suspendedThread p;
    CHECK(!threadSuspendGet(0, &p));
}

TEST(parking_forgets_threads_that_have_ended) {
    int status = unitInChild(stopNobody, NULL, output, sizeof(output));
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK_EQ_STR(output, "");
}

static _Atomic bool late_has_passed;

static void *lateMain(void *arg) {
    threadSuspendRegister();
    late_has_passed = true;
    return arg;
}

static void stopThenStart(void *arg) {
    pthread_t t;
    unused(arg);
    threadSuspendOthers(askOdd);
    start(&t, lateMain, 0);
    usleep(200000);
    CHECK(!late_has_passed);
}

TEST(parking_stops_a_thread_that_begins_later) {
    int status = unitInChild(stopThenStart, NULL, output, sizeof(output));
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK_EQ_STR(output, "");
}

/* The child of a process with threads has a single thread, with another id: there is nothing to suspend. */
static void stopInFork(void *arg) {
    unused(arg);
    threadSuspendRegister();
    startWorkers();
    pid_t child = fork();
    if (child == 0) {
        suspendedThread p;
        threadSuspendOthers(askOdd);
        _exit(threadSuspendGet(0, &p) ? 1 : 0);
    }
    int status = -1;
    CHECK_EQ_INT(waitpid(child, &status, 0), child);
    CHECK_EQ_INT(status, 0);
}

TEST(parking_in_a_child_knows_its_one_thread) {
    int status = unitInChild(stopInFork, NULL, output, sizeof(output));
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK_EQ_STR(output, "");
}
