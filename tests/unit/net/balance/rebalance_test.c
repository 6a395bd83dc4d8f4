/* rebalance_test.c -- real threads and connections with simulated work: the test sets their counters and decides when a
 * window ends, so that nothing depends on the load of the machine.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "net_fixture.h"

#include "panic.h"
#include "processors.h"
#include "rebalance.h"
#include "unit.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#define CLIENTS_MAX 1400
#define WINDOW_NS 10000000u

static struct {
    clientIo *ios[CLIENTS_MAX];
    int peers[CLIENTS_MAX], n;
    double wants[CLIENTS_MAX]; /* share of a thread's time */
    monotime now;
    double ticks_per_ns;
    mainLoad load;
    double idle; /* idle processors as the system reports them; negative: not reported */
    double idle_ms;
} world;

static long long idleMs(void) { return world.idle < 0 ? -1 : (long long)world.idle_ms; }

static void setThreads(int n, bool always) {
    const char *err = NULL;
    net_settings.io_threads = n;
    net_settings.io_threads_always_active = always;
    CHECK(netApplyThreads(&err));
    fixtureTurn();
}

static bool settled(void *arg) {
    unused(arg);
    for (int i = 0; i < world.n; i++)
        if (world.ios[i] && world.ios[i]->moving_to) return false;
    return true;
}

/* Spreads `clients` evenly over threads 1 to `threads`; only the test runs loop iterations. */
static void prepare(int threads, int clients) {
    netFixtureInit();
    monotime a = clockTicks();
    poll(NULL, 0, 5);
    monotime b = clockTicks();
    world.ticks_per_ns = (double)(b - a) / (double)clockTicksToNs(b - a);
    if (world.now < b) world.now = b;
    world.idle = -1;
    world.load = (mainLoad){.commands = net_stats.executed, .idle_ms = idleMs};
    setThreads(threads + 1, true);
    world.n = clients;
    for (int i = 0; i < clients; i++) {
        world.ios[i] = fixtureConnect(&world.peers[i], false)->io;
        world.wants[i] = 0;
    }
    CHECK(fixtureUntil(settled, NULL, 10000));
    fixtureSuspend(true);
}

static void end(void) {
    fixtureSuspend(false);
    for (int i = 0; i < world.n; i++)
        if (world.ios[i]) close(world.peers[i]);
    CHECK(fixtureUntil(fixtureNoClients, NULL, 20000));
    setThreads(1, false);
    CHECK(fixtureUntil(fixtureOnlyMain, NULL, 10000));
}

static unsigned homeOf(int i) { return ioThreadId(world.ios[i]->home); }

/* Simulates the work of a thread in a window: each connection gets the same share of its demand, if the thread cannot
 * do all. */
static void work(unsigned t) {
    double sum = 0;
    for (int i = 0; i < world.n; i++)
        if (world.ios[i] && homeOf(i) == t) sum += world.wants[i];
    double part = sum > 1 ? 1 / sum : 1;
    for (int i = 0; i < world.n; i++)
        if (world.ios[i] && homeOf(i) == t)
            netCounterAdd(&world.ios[i]->work, (uint64_t)(world.wants[i] * part * WINDOW_NS));
    netCounterAdd(&ioThreadOwner(ioThreadGet(t))->stats.active_ns, (uint64_t)((sum > 1 ? 1 : sum) * WINDOW_NS));
}

static void deliver(void) {
    unitLimit limit = unitLimitStart(20000);
    ioThreadsFlush();
    while (!settled(NULL) && !unitLimitOver(&limit)) {
        if (ioThreadsPoll(100) == 0) poll(NULL, 0, 1);
        ioThreadsFlush();
    }
    CHECK(settled(NULL));
}

static void windows(int n) {
    for (; n > 0; n--) {
        world.load.commands += 1000;
        if (world.idle > 0) world.idle_ms += world.idle * WINDOW_NS * 1.01 / 1e6;
        for (int t = 1; t < ioThreadsCount(); t++) work((unsigned)t);
        world.now += (monotime)(WINDOW_NS * world.ticks_per_ns * 1.01);
        rebalanceCheck(world.now, &world.load);
        deliver();
    }
}

static int busyOn(unsigned t) {
    int n = 0;
    for (int i = 0; i < world.n; i++) n += world.ios[i] && world.wants[i] > 0 && homeOf(i) == t;
    return n;
}

TEST(rebalance_relieves_a_thread_with_hot_clients) {
    prepare(4, 12);
    unsigned was[12];
    int hot = 0;
    for (int i = 0; i < 12; i++) {
        was[i] = homeOf(i);
        if (was[i] != 2 || hot == 3) continue;
        world.wants[i] = 0.9;
        hot++;
    }
    CHECK(hot >= 2); /* connections that came while a thread was busy went elsewhere */
    windows(60);
    for (unsigned t = 1; t <= 4; t++) CHECK(busyOn(t) <= 1);
    for (int i = 0; i < 12; i++)
        if (world.wants[i] == 0) CHECK_EQ_INT(homeOf(i), was[i]); /* no reason to move them */
    for (int i = 0; i < 12; i++) was[i] = homeOf(i);
    windows(60);
    for (int i = 0; i < 12; i++) CHECK_EQ_INT(homeOf(i), was[i]);
    end();
}

TEST(rebalance_evens_out_fifty_equal_ones) {
    prepare(8, 96);
    int busy = 0;
    for (int i = 0; i < 96; i++)
        if (homeOf(i) <= 5 && busy < 50) world.wants[i] = 1, busy++;
    CHECK_EQ_INT(busy, 50);
    windows(400);
    for (unsigned t = 1; t <= 8; t++) CHECK(busyOn(t) == 6 || busyOn(t) == 7);
    end();
}

TEST(rebalance_moves_nothing_while_threads_have_time) {
    prepare(4, 12);
    unsigned was[12];
    for (int i = 0; i < 12; i++) {
        was[i] = homeOf(i);
        world.wants[i] = was[i] == 1 ? 0.25 : 0;
    }
    windows(100);
    for (int i = 0; i < 12; i++) CHECK_EQ_INT(homeOf(i), was[i]);
    end();
}

/* The survey takes several windows, and in between connections end, some already surveyed and some not. */
/* Threads and processors are fully loaded: the policy may try a few more threads, but not many. */
TEST(rebalance_takes_idle_processors_only) {
    prepare(8, 16);
    net_settings.io_threads_always_active = false;
    rebalanceProcessors(9);
    windows(2000); /* no load: one thread is enough */
    CHECK_EQ_INT(rebalanceActiveThreads(), 2);
    for (int i = 0; i < 16; i++) world.wants[i] = 1;
    world.idle = 0;
    for (int i = 0; i < 100; i++) {
        windows(1);
        CHECK(rebalanceActiveThreads() <= 3);
    }
    world.idle = 2;
    windows(60);
    CHECK(rebalanceActiveThreads() >= 4);
    rebalanceProcessors(processorsAvailable());
    end();
}

TEST(rebalance_survives_clients_that_end_while_they_are_surveyed) {
    struct rlimit files;
    netFixtureInit();
    const char *err = NULL;
    if (!netApplyMaxClients(&err) || getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur < 2 * CLIENTS_MAX + 100)
        return;
    prepare(2, CLIENTS_MAX);
    uint64_t seed = unitRandomSeed();
    for (int i = 0; i < CLIENTS_MAX; i++) world.wants[i] = homeOf(i) == 1 ? 0.002 : 0.0002;
    for (int lap = 0; lap < 60; lap++) {
        windows(1);
        for (int k = 0; k < 10; k++) {
            int i = (int)(unitRandom(&seed) % CLIENTS_MAX);
            if (!world.ios[i]) continue;
            clientCloseAsap(world.ios[i]->session);
            close(world.peers[i]);
            world.ios[i] = NULL;
        }
        sessionsFreeClosing();
        ioThreadsFlush();
        poll(NULL, 0, 1);
        ioThreadsPoll(100); /* some are closed */
    }
    windows(100);
    double load[3] = {0};
    for (int i = 0; i < CLIENTS_MAX; i++)
        if (world.ios[i]) load[homeOf(i)] += world.wants[i];
    CHECK(load[1] < 0.95);
    CHECK(load[2] > 0.1);
    end();
}

TEST(rebalance_knows_what_streams_cost) {
    prepare(0, 0);
    fixtureSuspend(false);
    int busy_peer, idle_peer, large_peer;
    clientIo *busy = fixtureConnect(&busy_peer, false)->io, *idle = fixtureConnect(&idle_peer, false)->io,
             *large = fixtureConnect(&large_peer, false)->io;
    sds pings = sdsEmpty();
    for (int i = 0; i < 100; i++) pings = catWords(pings, "PING");
    fixtureSend(busy_peer, pings, sdsLen(pings));
    sds got = fixtureReceiveBytes(busy_peer, 700);
    CHECK_EQ_INT(sdsLen(got), 700);
    sdsFree(got);
    sdsFree(pings);
    uint64_t cost = atomic_load(&busy->work);
    CHECK(cost >= 100 * 300 + 2000 + 2000 && cost < 100000);
    CHECK_EQ_INT(atomic_load(&idle->work), 0);
    sds text = sdsEmpty();
    for (int i = 0; i < 100000; i++) text = sdsCatLen(text, "0123456789", 10);
    slice words[] = {sliceStr("ECHO"), sdsSlice(text)};
    sds wire = catRequest(sdsEmpty(), 2, words);
    fixtureSend(large_peer, wire, sdsLen(wire));
    got = fixtureReceiveBytes(large_peer, 1000000);
    CHECK(sdsLen(got) > 1000000);
    CHECK(atomic_load(&large->work) >= 2 * 1000000 / 4); /* received, and sent */
    sdsFree(got);
    sdsFree(wire);
    sdsFree(text);
    close(busy_peer), close(idle_peer), close(large_peer);
    CHECK(fixtureUntil(fixtureNoClients, NULL, 20000));
    end();
}
