/* balance_policy_test.c -- which connections move and how many threads are active, for loads with a known answer.
 *
 * Each connection wants a share of a thread's time. A thread that has too little time gives each of its connections an
 * equal share, up to what it wants.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "balance_policy.h"
#include "unit.h"

#include <math.h>
#include <string.h>

#define STREAMS 2000
#define WINDOW_NS 10000000

static struct {
    balancePolicy p;
    double wants[STREAMS], gets[STREAMS];
    unsigned thread[STREAMS];
    bool stays[STREAMS];
    int n, most;
    bool all;
    double acting[BALANCE_THREADS];
    balanceMachine machine;
    double processors; /* reserved for these threads; 0: unlimited */
    double others;     /* runnable threads of other programs, which get as much as each of these */
    double waste;      /* the share that is lost by a thread without a processor to itself */
    int moves, looks;  /* since the last reset() */
} sim;

/* `n` connections that each want `wants`, all on thread 1. */
static void reset(int most, int n, double wants) {
    memset(&sim, 0, sizeof(sim));
    sim.most = most;
    sim.n = n;
    sim.machine.idle = -1;
    for (int i = 0; i < n; i++) {
        sim.wants[i] = wants;
        sim.thread[i] = 1;
    }
}

static double serve(unsigned t, double time) {
    double total = 0;
    int hungry = 0;
    for (int i = 0; i < sim.n; i++)
        if (sim.thread[i] == t) sim.gets[i] = 0, hungry++;
    for (bool sated = true; sated && hungry > 0;) {
        double each = (time - total) / hungry;
        sated = false;
        for (int i = 0; i < sim.n; i++) {
            if (sim.thread[i] != t || sim.gets[i] > 0 || sim.wants[i] > each) continue;
            sim.gets[i] = sim.wants[i] > 0 ? sim.wants[i] : 1e-12;
            total += sim.gets[i];
            hungry--;
            sated = true;
        }
    }
    for (int i = 0; i < sim.n; i++)
        if (sim.thread[i] == t && sim.gets[i] == 0) sim.gets[i] = (time - total) / hungry;
    return hungry > 0 ? time : total;
}

static int count(unsigned t) {
    int n = 0;
    for (int i = 0; i < sim.n; i++) n += sim.thread[i] == t;
    return n;
}

static void leave(void) {
    bool may[BALANCE_THREADS];
    size_t held[BALANCE_THREADS] = {0};
    memset(may, true, sizeof(may));
    for (int i = 0; i < sim.n; i++) held[sim.thread[i]]++;
    for (int i = 0; i < sim.n; i++) {
        if ((int)sim.thread[i] <= sim.p.level) continue;
        held[sim.thread[i]]--;
        sim.thread[i] = balancePick(&sim.p, may, held, sim.gets[i] * 1e6);
        held[sim.thread[i]]++;
    }
}

static void plan(void) {
    static balanceClient ios[STREAMS];
    static balanceMove moves[STREAMS + 40];
    static bool moved[STREAMS];
    int index[STREAMS];
    size_t n = 0;
    for (int i = 0; i < sim.n; i++) {
        uint32_t cost = (uint32_t)(sim.gets[i] * 1e6);
        if (cost == 0) continue;
        index[n] = i;
        ios[n++] = (balanceClient){.cost = cost, .thread = (uint16_t)sim.thread[i], .stays = sim.stays[i]};
    }
    size_t max = 40 + (size_t)sim.n / 2, planned = balancePlan(&sim.p, ios, n, moves, max);
    CHECK(planned <= max);
    memset(moved, 0, sizeof(moved));
    for (size_t k = 0; k < planned; k++) {
        CHECK(moves[k].io < n);
        int i = index[moves[k].io];
        CHECK(!moved[i] && !sim.stays[i]);
        CHECK(moves[k].to >= 1 && moves[k].to <= sim.p.level && moves[k].to != sim.thread[i]);
        moved[i] = true;
        sim.thread[i] = moves[k].to;
    }
    /* Main's work is attributed to connections by their cost, moved ones to their present thread. */
    double cost[BALANCE_THREADS] = {0}, sum = 0;
    for (size_t k = 0; k < n; k++) {
        cost[sim.thread[index[k]]] += ios[k].cost;
        sum += ios[k].cost;
    }
    for (int t = 1; n > 0 && t < BALANCE_THREADS; t++) CHECK(fabs(sim.p.share[t] - cost[t] / sum) < 1e-6);
    sim.moves += (int)planned;
    sim.looks++;
}

/* Computes how much `busy` threads get done, and what is left for others. */
static void machineWorks(double busy) {
    double done = busy + sim.others <= sim.processors ? busy : sim.processors * busy / (busy + sim.others);
    double idle = sim.processors - busy - sim.others;
    if (busy > sim.processors) done -= sim.waste * (busy - sim.processors);
    sim.machine.commands = (long long)(done * 1000);
    sim.machine.idle = idle > 0 ? idle : 0;
}

static void windows(int n) {
    for (; n > 0; n--) {
        double all = 0;
        balanceThread threads[BALANCE_THREADS] = {{0}};
        for (unsigned t = 1; t < BALANCE_THREADS; t++) {
            double busy = sim.acting[t] + serve(t, 1 - sim.acting[t]);
            all += busy;
            threads[t].busy_ns = (uint64_t)(busy * WINDOW_NS);
            threads[t].acting_ns = (uint64_t)(sim.acting[t] * WINDOW_NS);
        }
        if (sim.processors > 0) machineWorks(all);
        balanceBounds(&sim.p, sim.most, sim.all);
        if (balanceWindow(&sim.p, WINDOW_NS, threads, &sim.machine)) plan();
        CHECK(sim.p.level >= 1 && sim.p.level <= sim.most);
        leave();
    }
}

static int most_held(void) {
    int most = 0;
    for (int t = 1; t <= sim.p.level; t++)
        if (count((unsigned)t) > most) most = count((unsigned)t);
    return most;
}

static int least_held(void) {
    int least = sim.n;
    for (int t = 1; t <= sim.p.level; t++)
        if (count((unsigned)t) < least) least = count((unsigned)t);
    return least;
}

TEST(balance_gives_each_heavy_client_a_thread) {
    static const int some[] = {2, 3, 4, 5, 8, 13};
    for (size_t i = 0; i < array_len(some); i++) {
        reset(15, some[i], 1.0);
        windows(100);
        CHECK_EQ_INT(sim.p.level, some[i]);
        CHECK_EQ_INT(most_held(), 1);
        sim.moves = sim.looks = 0;
        windows(500);
        CHECK_EQ_INT(sim.moves, 0);
        CHECK(sim.looks <= 30); /* a load that cannot be balanced is examined five times a second */
    }
}

TEST(spread_takes_no_more_threads_than_there_are) {
    reset(3, 12, 1.0);
    windows(100);
    CHECK_EQ_INT(sim.p.level, 3);
    CHECK_EQ_INT(most_held(), 4);
    CHECK_EQ_INT(least_held(), 4);
    CHECK(sim.p.full);
}

TEST(balance_looks_at_no_client_where_there_is_no_choice) {
    reset(1, 12, 1.0);
    windows(300);
    CHECK_EQ_INT(sim.looks, 0);
    CHECK(sim.p.full);
}

TEST(spread_evens_out_what_is_equal) {
    reset(8, 50, 1.0);
    windows(200);
    CHECK_EQ_INT(sim.p.level, 8);
    CHECK(most_held() - least_held() <= 1);
    for (int i = 0; i < 50; i++) sim.thread[i] = 1 + (unsigned)(i < 49 ? i / 7 : 7); /* seven have 7, one has 1 */
    windows(200);
    CHECK(most_held() - least_held() <= 1);
    /* Equally full, but the connections get a quarter more here than there. */
    for (int i = 0; i < 50; i++) sim.thread[i] = 1 + (unsigned)(i < 9 ? 0 : i < 14 ? 1 : 2 + i % 6);
    sim.moves = 0;
    windows(200);
    CHECK(most_held() - least_held() <= 1);
    CHECK(sim.moves <= 3);
    sim.moves = 0;
    windows(500);
    CHECK_EQ_INT(sim.moves, 0);
}

TEST(spread_moves_nothing_while_all_have_time) {
    reset(8, 40, 0.019); /* 0.76 on thread 1, nothing on the others */
    sim.all = true;
    windows(500);
    CHECK_EQ_INT(sim.p.level, 8);
    CHECK_EQ_INT(sim.moves, 0);
    CHECK_EQ_INT(sim.looks, 0);
    CHECK(!sim.p.full);
    sim.all = false;
    windows(2000); /* the others have no connections */
    CHECK_EQ_INT(sim.p.level, 1);
    CHECK_EQ_INT(count(1), 40);
}

TEST(spread_relieves_a_hot_thread_by_few_moves) {
    reset(4, 104, 0.002);
    sim.all = true;
    for (int i = 0; i < 4; i++) sim.wants[i] = 0.6;
    for (int i = 4; i < 104; i++) sim.thread[i] = 1 + (unsigned)i % 4;
    windows(100);
    for (unsigned t = 1; t <= 4; t++) {
        int heavy = 0;
        for (int i = 0; i < 4; i++) heavy += sim.thread[i] == t;
        CHECK_EQ_INT(heavy, 1);
    }
    CHECK(sim.moves <= 6);
}

/* A connection that does not fit on a thread is exchanged for a smaller one. */
TEST(spread_exchanges_what_is_too_large) {
    static const double wants[] = {0.62, 0.62, 0.45, 0.4};
    reset(2, 4, 0);
    sim.all = true;
    for (int i = 0; i < 4; i++) {
        sim.wants[i] = wants[i];
        sim.thread[i] = i < 2 ? 1 : 2;
    }
    windows(100);
    CHECK(sim.thread[0] != sim.thread[1]);
    sim.moves = 0;
    windows(100);
    CHECK_EQ_INT(sim.moves, 0);
}

TEST(balance_takes_no_thread_for_a_client_that_fills_one_alone) {
    reset(8, 1, 5.0);
    windows(300);
    CHECK_EQ_INT(sim.p.level, 1);
    sim.all = true; /* nor does it move when all threads are active; main's whole work is for it */
    windows(300);
    CHECK(sim.looks > 0);
    CHECK_EQ_INT(sim.moves, 0);
    reset(8, 21, 0.002); /* nor for a few light ones on its thread: they get their share */
    sim.wants[0] = 5.0;
    windows(300);
    CHECK_EQ_INT(sim.p.level, 1);
    CHECK_EQ_INT(sim.moves, 0);
    sim.all = true; /* nor do they move to threads that are active anyway */
    windows(300);
    CHECK_EQ_INT(sim.moves, 0);
    sim.all = false;
    for (int i = 1; i < 21; i++) sim.wants[i] = 0.02;
    windows(1500);
    CHECK_EQ_INT(sim.p.level, 2);
    CHECK_EQ_INT(count(sim.thread[0]), 1);
}

TEST(spread_leaves_alone_what_is_on_its_way) {
    reset(8, 4, 1.0);
    for (int i = 0; i < 4; i++) sim.stays[i] = true;
    windows(100);
    CHECK_EQ_INT(sim.moves, 0);
}

/* The main role moves: each thread has it for a while and executes for all. No thread has more load of its own. */
TEST(spread_does_not_follow_the_role) {
    reset(4, 40, 0.02);
    sim.all = true;
    for (int i = 0; i < 40; i++) sim.thread[i] = 1 + (unsigned)i % 4;
    for (int w = 0; w < 400; w++) {
        memset(sim.acting, 0, sizeof(sim.acting));
        sim.acting[1 + w / 10 % 4] = 0.75;
        windows(1);
    }
    CHECK_EQ_INT(sim.moves, 0);
    /* With one thread, all load is on it, and it is full by both measures. */
    reset(4, 40, 0.01);
    sim.acting[1] = 0.5;
    windows(3);
    CHECK_EQ_INT(sim.p.level, 1);
    windows(100);
    CHECK(sim.p.level > 1);
}

TEST(spread_steps_by_time) {
    reset(8, 8, 1.0);
    windows(2); /* two full windows are too few */
    CHECK_EQ_INT(sim.p.level, 1);
    windows(100);
    CHECK_EQ_INT(sim.p.level, 8);
    for (int i = 0; i < 8; i++) sim.wants[i] = 0.01;
    windows(150); /* a second and a half */
    CHECK_EQ_INT(sim.p.level, 8);
    for (int i = 0; i < 8; i++) sim.wants[i] = 1;
    windows(20);
    for (int i = 0; i < 8; i++) sim.wants[i] = 0.01;
    windows(150); /* again not long enough */
    CHECK_EQ_INT(sim.p.level, 8);
    windows(2000);
    CHECK_EQ_INT(sim.p.level, 1);
    CHECK_EQ_INT(count(1), 8);
}

TEST(spread_goes_down_only_as_far_as_it_fits) {
    reset(8, 8, 1.0);
    windows(100);
    for (int i = 0; i < 8; i++) sim.wants[i] = 0.35; /* five threads with 0.56 each, but no two fit together */
    windows(3000);
    CHECK(sim.p.level > 4);
    sim.wants[0] = 3; /* one has a whole thread */
    for (int i = 1; i < 8; i++) sim.wants[i] = 0.02;
    windows(3000);
    CHECK_EQ_INT(sim.p.level, 2);
    CHECK_EQ_INT(count(sim.thread[0]), 1);
}

TEST(spread_follows_the_number_of_processors) {
    reset(8, 8, 1.0);
    windows(100);
    sim.most = 3;
    windows(1);
    CHECK_EQ_INT(sim.p.level, 3);
    CHECK_EQ_INT(count(4) + count(5) + count(6) + count(7) + count(8), 0);
    sim.most = 6;
    windows(100);
    CHECK_EQ_INT(sim.p.level, 6);
    sim.most = 2;
    sim.all = true;
    windows(1);
    CHECK_EQ_INT(sim.p.level, 2);
}

/* The number of windows with more threads than `level`, and with fewer. */
typedef struct offLevel {
    int more, fewer;
} offLevel;

static offLevel watch(int n, int level) {
    offLevel off = {0};
    for (; n > 0; n--) {
        windows(1);
        off.more += sim.p.level > level;
        off.fewer += sim.p.level < level;
    }
    return off;
}

/* Clients and other programs use the other processors: another thread would only wait. It is tried, at growing
 * intervals. */
TEST(spread_takes_the_processors_that_are_idle) {
    reset(15, 40, 1.0);
    sim.processors = 4;
    windows(100);
    CHECK(sim.p.level >= 3 && sim.p.level <= 5);
    offLevel off = watch(6000, 4); /* a minute */
    CHECK(off.more > 0 && off.more < 80);
    CHECK(off.fewer > 0 && off.fewer < 80);
    sim.processors = 9; /* the other programs have ended: no trial is needed */
    windows(40);
    CHECK(sim.p.level >= 8 && sim.p.level <= 10);
}

/* No processor is idle, but the other programs get less when there are more threads. */
TEST(spread_keeps_threads_that_pay) {
    reset(12, 40, 1.0);
    sim.processors = 8;
    sim.others = 8;
    windows(1000);
    CHECK_EQ_INT(sim.p.level, 12);
    offLevel off = watch(6000, 12);
    CHECK(off.fewer > 0 && off.fewer < 80); /* tried, and it does not pay */
}

TEST(spread_gives_back_threads_that_only_wait) {
    reset(12, 40, 1.0);
    sim.processors = 12;
    windows(200);
    CHECK_EQ_INT(sim.p.level, 12);
    CHECK_EQ_INT(sim.machine.idle, 0);
    sim.processors = 3;
    sim.waste = 0.05;
    windows(400);
    CHECK(sim.p.level >= 3 && sim.p.level <= 4);
    sim.all = true; /* io-threads-always-active keeps all of them */
    offLevel off = watch(400, 12);
    CHECK_EQ_INT(off.fewer, 0);
}

/* The number of threads before a trial may no longer be allowed. */
TEST(spread_forgets_a_trial_when_bounds_change) {
    reset(6, 40, 1.0);
    sim.processors = 4;
    for (int i = 0; i < 1000 && !sim.p.fewer.under_way; i++) windows(1);
    CHECK(sim.p.fewer.under_way);
    sim.most = 2;
    offLevel off = watch(200, 2);
    CHECK_EQ_INT(off.more, 0);
}

TEST(spread_places_where_least_is) {
    static balancePolicy p;
    bool may[BALANCE_THREADS] = {false};
    size_t held[BALANCE_THREADS] = {0};
    balanceThread threads[BALANCE_THREADS] = {{0}};
    memset(&p, 0, sizeof(p));
    CHECK_EQ_INT(balancePick(&p, may, held, 0), 0); /* there are no figures yet */
    const balanceMachine machine = {.idle = -1};
    balanceBounds(&p, 4, true);
    CHECK_EQ_INT(balancePick(&p, may, held, 0), 0); /* no thread is allowed */
    memset(may, true, sizeof(may));
    held[1] = 5, held[2] = 3, held[3] = 4, held[4] = 3;
    CHECK_EQ_INT(balancePick(&p, may, held, 0), 2);
    may[2] = false;
    CHECK_EQ_INT(balancePick(&p, may, held, 0), 4);
    threads[4].busy_ns = threads[3].busy_ns = WINDOW_NS;
    for (int i = 0; i < 10; i++) balanceWindow(&p, WINDOW_NS, threads, &machine);
    CHECK_EQ_INT(balancePick(&p, may, held, 0), 1); /* the thread with the smaller load */
    /* Many connections at once: those without a measurement yet are estimated. */
    balanceClient known[] = {{.cost = 1000, .thread = 3}, {.cost = 1000, .thread = 4}};
    balanceMove moves[2];
    balancePlan(&p, known, 2, moves, 2);
    memset(may, true, sizeof(may));
    int placed[BALANCE_THREADS] = {0};
    for (int i = 0; i < 6; i++) placed[balancePick(&p, may, held, p.cost_typical)]++;
    CHECK_EQ_INT(placed[1], 2);
    CHECK_EQ_INT(placed[2], 2);
    CHECK_EQ_INT(placed[3], 1);
    CHECK_EQ_INT(placed[4], 1);
}

/* For any loads, the plan can be carried out (plan() checks), and the same input gives the same plan. */
TEST(spread_plans_what_can_be_done) {
    uint64_t seed = unitRandomSeed();
    for (int lap = 0; lap < 40; lap++) {
        int most = 1 + (int)(unitRandom(&seed) % 40), n = 1 + (int)(unitRandom(&seed) % STREAMS);
        uint64_t before = seed;
        unsigned ended[STREAMS];
        for (int again = 0; again < 2; again++) {
            seed = before;
            reset(most, n, 0);
            for (int w = 0; w < 60; w++) {
                if (w % 20 == 0)
                    for (int i = 0; i < n; i++) {
                        double u = (double)(unitRandom(&seed) % 1000) / 1000;
                        sim.wants[i] = u * u * u * 60 / n;
                        sim.stays[i] = unitRandom(&seed) % 8 == 0;
                    }
                if (unitRandom(&seed) % 16 == 0) sim.most = 1 + (int)(unitRandom(&seed) % 40);
                windows(1);
            }
            for (int i = 0; i < n; i++) {
                if (again) CHECK_EQ_INT(sim.thread[i], ended[i]);
                ended[i] = sim.thread[i];
            }
        }
    }
}
