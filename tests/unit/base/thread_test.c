/* thread_test.c -- the properties of a thread that threadStart() has started.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "thread.h"
#include "unit.h"

#include "panic.h"
#include "thread_suspend.h"

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static struct {
    char name[32];
    int cpus, nice;
    sigset_t blocked;
    stack_t signal_stack;
    void *arg;
} seen;

static void lookAtSelf(void *arg) {
    cpu_set_t set;
    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof(set), &set);
    seen.cpus = CPU_COUNT(&set);
    seen.nice = getpriority(PRIO_PROCESS, 0);
    seen.arg = arg;
    pthread_getname_np(pthread_self(), seen.name, sizeof(seen.name));
    pthread_sigmask(SIG_BLOCK, NULL, &seen.blocked);
    sigaltstack(NULL, &seen.signal_stack);
}

static void runPlan(threadPlan plan) {
    pthread_t id;
    CHECK_EQ_INT(threadStart(&id, &plan, lookAtSelf, &seen), 0);
    pthread_join(id, NULL);
}

TEST(thread_blocks_all_signals_but_those_of_a_fault) {
    static const int open_ones[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SUSPEND_SIGNAL};
    static const int blocked[] = {SIGTERM, SIGINT, SIGHUP, SIGALRM, SIGUSR1, SIGUSR2, SIGCHLD, SIGPIPE};
    sigset_t before, after;
    pthread_sigmask(SIG_BLOCK, NULL, &before);
    runPlan((threadPlan){.name = "masked"});
    for (size_t i = 0; i < array_len(open_ones); i++) CHECK(!sigismember(&seen.blocked, open_ones[i]));
    for (size_t i = 0; i < array_len(blocked); i++) CHECK(sigismember(&seen.blocked, blocked[i]));
    pthread_sigmask(SIG_BLOCK, NULL, &after);
    for (int sig = 1; sig < SIGRTMIN; sig++) CHECK(sigismember(&before, sig) == sigismember(&after, sig));
}

TEST(thread_has_its_name_argument_and_signal_stack) {
    runPlan((threadPlan){.name = "a name that is too long"});
    CHECK_EQ_STR(seen.name, "a name that is ");
    CHECK(seen.arg == &seen);
    CHECK(!(seen.signal_stack.ss_flags & SS_DISABLE) && seen.signal_stack.ss_size >= 65536);
}

TEST(thread_gives_way_by_its_plan) {
    int before = getpriority(PRIO_PROCESS, 0);
    runPlan((threadPlan){.name = "nice", .nice = 3});
    CHECK_EQ_INT(seen.nice, before + 3 > 19 ? 19 : before + 3);
    CHECK_EQ_INT(getpriority(PRIO_PROCESS, 0), before);
}

static int pinnedCount(const char *cpulist) {
    runPlan((threadPlan){.name = "pinned", .cpulist = cpulist});
    return seen.cpus;
}

TEST(thread_is_pinned_to_its_list_of_processors) {
    int all = pinnedCount("");
    cpu_set_t set;
    CHECK_EQ_INT(pinnedCount(NULL), all);
    sched_getaffinity(0, sizeof(set), &set);
    if (!CPU_ISSET(0, &set)) return;
    CHECK_EQ_INT(pinnedCount("0"), 1);
    CHECK_EQ_INT(pinnedCount(" 0-3:4 "), 1);
    CHECK_EQ_INT(pinnedCount("0-1023"), all);
    /* Not a list of processors: ignored. */
    static const char *const odd[] = {"x", "0,", "0-", "3-1", "0-1:0", "99999999999", "0;1", "-1"};
    for (size_t i = 0; i < array_len(odd); i++) CHECK_EQ_INT(pinnedCount(odd[i]), all);
}

static atomic_bool may_end;

static void waitForEnd(void *arg) {
    unused(arg);
    while (!atomic_load(&may_end)) usleep(1000);
}

/* A thread appears under its name in the stacks, and continues afterwards. */
TEST(thread_is_known_to_those_that_ask_for_stacks) {
    pthread_t id;
    threadStack s;
    bool found = false;
    CHECK_EQ_INT(threadStart(&id, &(threadPlan){.name = "known"}, waitForEnd, NULL), 0);
    for (int i = 0; i < 5000 && !found; i++) {
        threadStacksAsk(panicHoldsMainRole, 1000);
        for (size_t at = 0; threadStackGet(at, &s); at++) found |= s.answered && !strcmp(s.name, "known");
        if (!found) usleep(1000); /* it may not have started yet */
    }
    CHECK(found);
    atomic_store(&may_end, true);
    pthread_join(id, NULL);
}
