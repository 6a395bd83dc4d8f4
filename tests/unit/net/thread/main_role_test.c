/* main_role_test.c -- one thread has the main role at a time, main's own thread gets it when it waits for it, and it is
 * kept on its own thread only while that pays.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "main_policy.h"
#include "main_role.h"
#include "net_fixture.h"
#include "unit.h"

#include "object.h"
#include "panic.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

#define BORROWERS 4

static struct {
    long steps; /* changed only with the role: two owners at once would lose some (and ThreadSanitizer reports it) */
    _Atomic long acquired, passed_on;
    _Atomic bool stop;
} shared;

static void *acquirer(void *arg) {
    unsigned id = *(const unsigned *)arg;
    uint64_t seed = id + 1;
    while (!atomic_load(&shared.stop)) {
        if (!mainRoleAcquire(id)) continue;
        CHECK(panicHoldsMainRole() && !panicOnMainThread());
        CHECK_EQ_INT(object_main_owner, id);
        for (unsigned n = (unsigned)(unitRandom(&seed) % 50); n; n--) shared.steps++;
        shared.steps++;
        atomic_fetch_add(&shared.acquired, 1);
        if (unitRandom(&seed) % 8 == 0) {
            atomic_fetch_add(&shared.passed_on, 1);
            mainRoleHandOff();
        } else {
            mainRoleRelease();
        }
        CHECK(!panicHoldsMainRole());
    }
    return NULL;
}

/* Main's own thread releases the role, and acquires it again in any activity of the others; a hand-over wakes it. */
TEST(role_has_one_owner) {
    netFixtureInit();
    fixtureSuspend(true);
    pthread_t threads[BORROWERS];
    unsigned ids[BORROWERS];
    uint64_t seed = unitRandomSeed();
    shared.steps = 0;
    atomic_store(&shared.stop, false);
    uint64_t moves = mainRoleMoves();
    for (unsigned i = 0; i < BORROWERS; i++) {
        ids[i] = i + 1;
        CHECK(pthread_create(&threads[i], NULL, acquirer, &ids[i]) == 0);
    }
    long offered = 0;
    for (int i = 0; i < 20000; i++) {
        long before = shared.steps;
        mainRoleSuspend(true);
        for (unsigned spin = (unsigned)(unitRandom(&seed) % 300); spin; spin--)
            atomic_signal_fence(memory_order_seq_cst);
        if (i % 64 == 0) poll(NULL, 0, 1); /* gives the others a processor, also on a busy machine */
        if (unitRandom(&seed) % 4 == 0 && mainRoleReacquire()) CHECK(panicHoldsMainRole());
        else mainRoleResume();
        CHECK(panicHoldsMainRole());
        CHECK_EQ_INT(object_main_owner, 0);
        CHECK_EQ_INT(mainRolePeek(), ROLE_KEPT);
        offered += shared.steps != before;
        shared.steps++;
    }
    /* On a busy machine main's own thread may have been faster each time: it waits until another thread has had the
     * role. */
    long acquired = atomic_load(&shared.acquired);
    unitLimit limit = unitLimitStart(60000);
    mainRoleSuspend(true);
    while (atomic_load(&shared.acquired) == acquired && !unitLimitOver(&limit)) poll(NULL, 0, 1);
    mainRoleResume();
    offered += atomic_load(&shared.acquired) != acquired;
    atomic_store(&shared.stop, true);
    for (unsigned i = 0; i < BORROWERS; i++) pthread_join(threads[i], NULL);
    CHECK_EQ_INT(mainRoleMoves() - moves, atomic_load(&shared.acquired));
    CHECK(offered > 0);
    fixtureSuspend(false);
}

/* A role that is kept cannot be acquired; a wakeup makes main's own thread continue. */
TEST(role_kept_asleep_cannot_be_acquired) {
    netFixtureInit();
    mainRoleSuspend(false);
    CHECK_EQ_INT(mainRolePeek(), ROLE_ASLEEP);
    CHECK(!mainRoleAcquire(1));
    mainRoleWake();
    CHECK_EQ_INT(mainRolePeek(), ROLE_KEPT);
    CHECK(!mainRoleAcquire(1));
    mainRoleWake(); /* awake: nothing happens */
    CHECK(mainRoleReacquire());
    CHECK(panicHoldsMainRole());
}

/* --- when it is kept ------------------------------------------------------------------------------- */

static struct {
    monotime now;
    long long idle_ms;
    int idle_percent; /* of one processor; -1 if the system does not report it */
} machine;

static long long idleMs(void) { return machine.idle_percent < 0 ? -1 : machine.idle_ms; }

static mainLoad load = {.idle_ms = idleMs};

/* Runs a window of 25 ms in which main was busy for `busy` percent and executed `commands`. */
static void window(unsigned busy, long long commands) {
    static double ticks_per_ns;
    if (ticks_per_ns == 0) {
        monotime a = clockTicks();
        poll(NULL, 0, 5);
        monotime b = clockTicks();
        ticks_per_ns = (double)(b - a) / (double)clockTicksToNs(b - a);
    }
    machine.now += (monotime)(25e6 * ticks_per_ns);
    machine.idle_ms += machine.idle_percent / 4;
    load.busy_ns += 250000ull * busy;
    load.commands += commands;
    mainPolicyCheck(machine.now, &load);
}

/* Runs up to `max` windows until the dedicated state is `dedicated`. Returns their number, or -1. */
static int windowsUntil(bool dedicated, int max) {
    for (int i = 0; i < max; i++) {
        if (mainPolicyIsDedicated() == dedicated) return i;
        window(90, 1000);
    }
    return -1;
}

/* Ends the effects of earlier tests, such as a long pause between trials: nothing is requested. */
static void startQuiet(void) {
    netFixtureInit();
    machine.now = clockTicks();
    machine.idle_percent = 100;
    load.busy_ns = net_stats.busy_ns;
    load.commands = net_stats.executed;
    for (int i = 0; i < 2500; i++) window(10, 10);
    CHECK(windowsUntil(true, 10) >= 0);
    for (int i = 0; i < 10; i++) window(90, 1500); /* it pays: the pause is reset */
    for (int i = 0; i < 10; i++) window(10, 10);
    CHECK(!mainPolicyIsDedicated());
}

TEST(policy_tries_and_undoes_what_does_not_pay) {
    startQuiet();
    for (int i = 0; i < 100; i++) window(60, 1000);
    CHECK(!mainPolicyIsDedicated()); /* not necessary */
    CHECK(windowsUntil(true, 10) >= 2);
    for (int i = 0; i < 10; i++) window(90, 1010); /* one percent */
    CHECK(!mainPolicyIsDedicated());
    int rest = windowsUntil(true, 1000); /* the next trial comes after a second, and after two if it fails */
    CHECK(rest >= 20 && rest < 60);
    for (int i = 0; i < 4; i++) window(90, 900);
    CHECK(!mainPolicyIsDedicated());
    int longer = windowsUntil(true, 1000);
    CHECK(longer > rest + 20);
    for (int i = 0; i < 50; i++) window(90, 1500); /* it pays */
    CHECK(mainPolicyIsDedicated());
    ioOwner few = {.commands = 3}, many = {.commands = 300};
    CHECK(!mainPolicyWakes(&few)); /* no wakeup for a few commands */
    CHECK(mainPolicyWakes(&many));
    for (int i = 0; i < 50; i++) window(i % 2 ? 30 : 60, 700); /* at the limit */
    CHECK(mainPolicyIsDedicated());
    for (int i = 0; i < 10; i++) window(20, 300);
    CHECK(!mainPolicyIsDedicated());
    CHECK(!mainPolicyWakes(&many));
}

TEST(policy_tries_nothing_where_no_processor_is_idle) {
    startQuiet();
    machine.idle_percent = 20;
    CHECK_EQ_INT(windowsUntil(true, 200), -1);
    machine.idle_percent = -1; /* not known: only a trial tells */
    CHECK(windowsUntil(true, 20) >= 0);
    for (int i = 0; i < 10; i++) window(90, 1500);
    for (int i = 0; i < 10; i++) window(10, 10);
}

/* The processor that main had to itself is used by others now. */
TEST(policy_goes_back_when_processors_are_no_longer_idle) {
    startQuiet();
    CHECK(windowsUntil(true, 20) >= 0);
    for (int i = 0; i < 10; i++) window(90, 1500);
    CHECK(mainPolicyIsDedicated());
    machine.idle_percent = 30; /* neither idle nor busy: nothing is tried */
    CHECK_EQ_INT(windowsUntil(false, 200), -1);
    machine.idle_percent = 0;
    CHECK(windowsUntil(false, 20) >= 0);
    for (int i = 0; i < 4; i++) window(90, 700); /* worse without it */
    CHECK(mainPolicyIsDedicated());
    CHECK(windowsUntil(false, 100) >= 20); /* after a pause */
    for (int i = 0; i < 4; i++) window(90, 990);
    CHECK(!mainPolicyIsDedicated()); /* equally good: the threads execute from now on */
    CHECK_EQ_INT(windowsUntil(true, 200), -1);
}

/* --- an I/O thread, about itself --------------------------------------------------------------------- */

/* A thread that has sent no commands has no replies to wait for. */
TEST(policy_waits_for_answers_to_commands_only) {
    mainWatch w = {0};
    ioOwner none = {.reads = 3}, some = {.commands = 1};
    mainWatchAdd(&w, &none);
    CHECK_EQ_INT(w.notified_at, 0);
    CHECK(!mainWatchSpins(&w));
    mainWatchAdd(&w, &some);
    CHECK(w.notified_at != 0);
    CHECK(mainWatchPollsAgain(&w, &some, true)); /* here there is one */
    CHECK_EQ_INT(w.notified_at, 0);
    CHECK(!mainWatchSpins(&w));
}
