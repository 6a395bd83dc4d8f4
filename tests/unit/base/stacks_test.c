/* stacks_test.c -- the stacks of running threads, in the log.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include "log.h"
#include "thread_suspend.h"
#include "thread.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static atomic_bool stop;
static _Atomic long laps;
static _Atomic int begun;

static void __attribute__((noinline)) goRound(void) {
    while (!atomic_load(&stop)) {
        atomic_fetch_add(&laps, 1);
        usleep(100);
    }
}

static void work(void *arg) {
    unused(arg);
    atomic_fetch_add(&begun, 1);
    goRound();
    atomic_fetch_add(&laps, 1);
}

/* A thread that blocks signals, like one that waits for a disk. */
static void workDeaf(void *arg) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SUSPEND_SIGNAL);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    work(arg);
}

static const char *logOf(void (*first)(void *), const char *reason) {
    static char text[65536], path[64];
    pthread_t ids[2];
    stop = false;
    begun = 0;
    snprintf(path, sizeof(path), "/tmp/stacks_test.%d", (int)getpid());
    CHECK_EQ_INT(threadStart(&ids[0], &(threadPlan){.name = "first"}, first, NULL), 0);
    CHECK_EQ_INT(threadStart(&ids[1], &(threadPlan){.name = "second"}, work, NULL), 0);
    while (begun < 2) usleep(1000);
    stacksInit();
    logSetFile(path);
    stacksLog(reason);
    logSetFile("");
    long seen = laps;
    for (int i = 0; i < 10000 && laps < seen + 10; i++) usleep(1000);
    CHECK(laps >= seen + 10); /* both continue */
    stop = true;
    for (int i = 0; i < 2; i++) pthread_join(ids[i], NULL);
    FILE *f = fopen(path, "r");
    text[f ? fread(text, 1, sizeof(text) - 1, f) : 0] = '\0';
    if (f) fclose(f);
    unlink(path);
    return text;
}

TEST(stacks_of_all_threads_are_logged_and_they_go_on) {
    for (int again = 0; again < 2; again++) {
        const char *text = logOf(work, "a reason");
        CHECK(strstr(text, "# a reason\n"));
        CHECK(strstr(text, " first\n"));
        CHECK(strstr(text, " second\n"));
        CHECK(strstr(text, "# 2/2 expected stacktraces.\n"));
        CHECK(strstr(text, "STACK TRACE DONE"));
    }
}

TEST(stacks_of_a_thread_that_does_not_answer_are_left_out) {
    const char *text = logOf(workDeaf, "a reason");
    CHECK(strstr(text, " first: did not respond\n"));
    CHECK(strstr(text, "# 1/2 expected stacktraces.\n"));
}
