/* balance_sim_test.c -- the policy of balance_policy.c on 16 and 64 processors, simulated: its throughput compared with
 * the best fixed assignment.
 *
 * A thread serves its connections round-robin, each with the amount of its kind. Demand that gets no time is lost, as
 * its client would have sent more. All commands together are limited by main, which executes one at a time. The costs
 * of a command were measured (docs/bench/figures.txt, docs/design/main_role.md). A move costs both threads time, and
 * the connection is not served for a millisecond. The demand of each connection varies from window to window.
 *
 * The fixed assignment knows all demand in advance and uses every thread from the start: connections are assigned,
 * heaviest first, to the thread where they gain most, and then moved and exchanged as long as that helps. The policy
 * begins with one thread and knows nothing.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "balance_policy.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW_NS 10000000.0
#define WINDOWS 1000
#define MOVE_NS 5000.0 /* on each of two threads */
#define MOVE_LOST 0.1  /* of a window */
#define PATTERNS 4
#define MOVES_MAX 1024
#define BAR 0.95
#define RESTLESS_MAX 0.0001 /* share of the threads' time for moves under a steady load */

/* A kind of client: the time of its thread for a command (the whole server's, without main's part), main's time, the
 * cost that the thread estimates, and its time per loop iteration. */
typedef struct kind {
    double command_ns, main_ns, nominal_ns, iteration_ns;
} kind;
static const kind request = {4415, 300, 4430, 4415};         /* GET, 512 B, no pipeline: row 5 */
static const kind pipeline = {565, 300, 680, 9040};          /* the same in pipelines of 16: row 1 */
static const kind value_16k = {9636, 300, 8400, 9636};       /* row 11 */
static const kind value_1m = {237500, 300, 266500, 91000};   /* row 11; 384 KB per iteration */
static const kind tls = {7634, 300, 4430, 7634};             /* row 43 */
static const kind tls_16k = {19753, 300, 8400, 19753};       /* row 43 */
static const kind subscriber = {3100, 85, 2025, 3100};       /* a delivered message, one at a time: design/fan_out.md */
static const kind handshake = {1000000, 0, 1000000, 200000}; /* design/tls.md */

typedef struct simStream {
    const kind *kind;
    double demand[PATTERNS]; /* share of a thread's time; 0: absent, if always */
    bool there;
    unsigned thread;
    double lost; /* share of the next window */
    /* In the present window. */
    double wants, gets;
    double cost; /* decayed; the policy's input */
} simStream;

typedef struct shape {
    const char *name;
    int threads;
    simStream *ios;
    size_t n;
    int windows[16], pattern[16], steps; /* the steps repeat */
    unsigned begin_on;                   /* thread that has all at first, with all threads active; 0: level 1 */
} shape;

static uint64_t seed_now;

static double uniform(double low, double high) {
    return low + (high - low) * (double)(unitRandom(&seed_now) % 1000000) / 1e6;
}

/* --- a window of all threads ------------------------------------------------------------------------------- */

typedef struct simState {
    const shape *sh;
    double penalty[BALANCE_THREADS]; /* time lost by moves */
    double busy[BALANCE_THREADS];
    double served; /* thread time of all commands, in windows */
    size_t *order; /* connections sorted by thread */
} simState;

static int patternAt(const shape *sh, int w) {
    int step = 0;
    while (w >= sh->windows[step]) {
        w -= sh->windows[step];
        step = (step + 1) % sh->steps;
    }
    return sh->pattern[step];
}

/* Serves the connections of a thread round-robin until they have what they want or the time is used up. */
static void serveThread(simStream *all, const size_t *ids, size_t n, double time) {
    size_t hungry = n;
    while (hungry > 0 && time > 1e-9) {
        double weight = 0, given = 0;
        for (size_t k = 0; k < n; k++)
            if (all[ids[k]].gets < all[ids[k]].wants) weight += all[ids[k]].kind->iteration_ns;
        if (weight == 0) break;
        size_t sated = 0;
        for (size_t k = 0; k < n; k++) {
            simStream *s = &all[ids[k]];
            if (s->gets >= s->wants) continue;
            double part = time * s->kind->iteration_ns / weight;
            if (part >= s->wants - s->gets) {
                part = s->wants - s->gets;
                s->gets = s->wants;
                sated++;
            } else {
                s->gets += part;
            }
            given += part;
        }
        time -= given;
        hungry -= sated;
        if (sated == 0) break;
    }
}

static void serve(simState *st, int w) {
    const shape *sh = st->sh;
    int pattern = patternAt(sh, w);
    size_t start[BALANCE_THREADS + 1] = {0};
    for (size_t i = 0; i < sh->n; i++) {
        simStream *s = &sh->ios[i];
        s->wants = s->demand[pattern] * uniform(0.8, 1.2) * (1 - s->lost);
        s->gets = s->lost = 0;
        if (s->there) start[s->thread + 1]++;
    }
    for (int t = 1; t <= BALANCE_THREADS; t++) start[t] += start[t - 1];
    size_t at[BALANCE_THREADS];
    memcpy(at, start, sizeof(at));
    for (size_t i = 0; i < sh->n; i++)
        if (sh->ios[i].there) st->order[at[sh->ios[i].thread]++] = i;
    double main_ns = 0;
    for (int t = 1; t <= sh->threads; t++) {
        double time = st->penalty[t] < 1 ? 1 - st->penalty[t] : 0;
        serveThread(sh->ios, st->order + start[t], start[t + 1] - start[t], time);
        for (size_t k = start[t]; k < start[t + 1]; k++) {
            const simStream *s = &sh->ios[st->order[k]];
            main_ns += s->gets * WINDOW_NS / s->kind->command_ns * s->kind->main_ns;
        }
    }
    double part = main_ns > WINDOW_NS ? WINDOW_NS / main_ns : 1; /* main is the bottleneck */
    for (int t = 1; t <= sh->threads; t++) {
        st->busy[t] = st->penalty[t] < 1 ? st->penalty[t] : 1;
        for (size_t k = start[t]; k < start[t + 1]; k++) {
            simStream *s = &sh->ios[st->order[k]];
            s->gets *= part;
            st->busy[t] += s->gets;
            st->served += s->gets;
            double cost = s->gets * WINDOW_NS / s->kind->command_ns * s->kind->nominal_ns;
            s->cost = (s->cost + cost) / 2;
        }
        st->penalty[t] = st->penalty[t] > 1 ? st->penalty[t] - 1 : 0;
    }
}

/* --- the policy ----------------------------------------------------------------------------------------------- */

typedef struct outcome {
    double served;
    size_t moves, moves_late; /* all moves; those of the last third */
    int level;
} outcome;

static void arrive(simState *st, balancePolicy *p, int w) {
    static bool may[BALANCE_THREADS];
    size_t held[BALANCE_THREADS] = {0};
    memset(may, true, sizeof(may));
    int pattern = patternAt(st->sh, w);
    for (size_t i = 0; i < st->sh->n; i++)
        if (st->sh->ios[i].there) held[st->sh->ios[i].thread]++;
    for (size_t i = 0; i < st->sh->n; i++) {
        simStream *s = &st->sh->ios[i];
        if (s->there || s->demand[pattern] == 0) continue;
        s->there = true;
        s->thread = st->sh->begin_on && w == 0 ? st->sh->begin_on : balancePick(p, may, held, p->cost_typical);
        held[s->thread]++;
    }
}

static void simMove(simState *st, simStream *s, unsigned to) {
    st->penalty[s->thread] += MOVE_NS / WINDOW_NS;
    st->penalty[to] += MOVE_NS / WINDOW_NS;
    s->thread = to;
    s->lost = MOVE_LOST;
}

/* Moves connections away from threads above the level, some at a time. */
static size_t evacuate(simState *st, balancePolicy *p) {
    static bool may[BALANCE_THREADS];
    size_t held[BALANCE_THREADS] = {0}, n = 0;
    memset(may, true, sizeof(may));
    for (size_t i = 0; i < st->sh->n; i++)
        if (st->sh->ios[i].there) held[st->sh->ios[i].thread]++;
    for (size_t i = 0; i < st->sh->n && n < MOVES_MAX; i++) {
        simStream *s = &st->sh->ios[i];
        if (!s->there || (int)s->thread <= p->level) continue;
        held[s->thread]--;
        simMove(st, s, balancePick(p, may, held, s->cost));
        held[s->thread]++;
        n++;
    }
    return n;
}

static outcome simulate(const shape *sh) {
    static balancePolicy p;
    simState st = {.sh = sh, .order = malloc(sh->n * sizeof(size_t))};
    balanceClient *seen = malloc(sh->n * sizeof(*seen));
    size_t *who = malloc(sh->n * sizeof(*who));
    outcome out = {0};
    memset(&p, 0, sizeof(p));
    for (size_t i = 0; i < sh->n; i++) {
        sh->ios[i].there = false;
        sh->ios[i].cost = sh->ios[i].lost = 0;
    }
    balanceThread threads[BALANCE_THREADS] = {{0}};
    const balanceMachine machine = {.idle = -1};
    balanceBounds(&p, sh->threads, sh->begin_on > 0);
    for (int w = 0; w < WINDOWS; w++) {
        arrive(&st, &p, w);
        serve(&st, w);
        for (int t = 1; t <= sh->threads; t++) threads[t].busy_ns = (uint64_t)(st.busy[t] * WINDOW_NS);
        balanceBounds(&p, sh->threads, false);
        if (balanceWindow(&p, (uint64_t)WINDOW_NS, threads, &machine)) {
            size_t n = 0;
            for (size_t i = 0; i < sh->n; i++) {
                if (!sh->ios[i].there || sh->ios[i].cost < 1) continue;
                seen[n] = (balanceClient){.cost = (uint32_t)sh->ios[i].cost, .thread = (uint16_t)sh->ios[i].thread};
                who[n++] = i;
            }
            balanceMove moves[MOVES_MAX];
            size_t count = balancePlan(&p, seen, n, moves, MOVES_MAX);
            for (size_t k = 0; k < count; k++) simMove(&st, &sh->ios[who[moves[k].io]], moves[k].to);
            out.moves += count;
            if (w >= WINDOWS * 2 / 3) out.moves_late += count;
        }
        out.moves += evacuate(&st, &p);
    }
    out.served = st.served;
    out.level = p.level;
    free(seen);
    free(who);
    free(st.order);
    return out;
}

/* --- the best fixed assignment ------------------------------------------------------------------------------------ */

typedef struct search {
    const shape *sh;
    double part[PATTERNS];                 /* share of the time */
    double sum[BALANCE_THREADS][PATTERNS]; /* demand */
} search;

static double worth(const search *se, unsigned t, const double *more, const double *less) {
    double served = 0;
    for (int k = 0; k < PATTERNS; k++) {
        double sum = se->sum[t][k] + (more ? more[k] : 0) - (less ? less[k] : 0);
        served += se->part[k] * (sum < 1 ? sum : 1);
    }
    return served;
}

static void put(search *se, simStream *s, unsigned t, double sign) {
    for (int k = 0; k < PATTERNS; k++) se->sum[t][k] += sign * s->demand[k];
    s->thread = t;
}

static double weightOf(const search *se, const simStream *s) {
    double sum = 0;
    for (int k = 0; k < PATTERNS; k++) sum += se->part[k] * s->demand[k];
    return sum;
}

static const search *sorting;

static int heavierFirst(const void *a, const void *b) {
    double x = weightOf(sorting, &sorting->sh->ios[*(const size_t *)a]),
           y = weightOf(sorting, &sorting->sh->ios[*(const size_t *)b]);
    return (x < y) - (x > y);
}

/* Returns the thread where it adds most; of equal ones the one with the least load. */
static unsigned bestThread(const search *se, const simStream *s) {
    unsigned best = 1;
    double best_gain = -1, best_sum = 0;
    for (int t = 1; t <= se->sh->threads; t++) {
        double gain = worth(se, (unsigned)t, s->demand, NULL) - worth(se, (unsigned)t, NULL, NULL), sum = 0;
        for (int k = 0; k < PATTERNS; k++) sum += se->part[k] * se->sum[t][k];
        if (gain < best_gain - 1e-12 || (gain < best_gain + 1e-12 && sum >= best_sum)) continue;
        best = (unsigned)t;
        best_gain = gain;
        best_sum = sum;
    }
    return best;
}

static bool improve(search *se) {
    const shape *sh = se->sh;
    simStream *a = &sh->ios[unitRandom(&seed_now) % sh->n], *b = &sh->ios[unitRandom(&seed_now) % sh->n];
    unsigned from = a->thread, to = b->thread;
    if (from == to) return false;
    double before = worth(se, from, NULL, NULL) + worth(se, to, NULL, NULL);
    if (worth(se, from, NULL, a->demand) + worth(se, to, a->demand, NULL) > before + 1e-9) {
        put(se, a, from, -1);
        put(se, a, to, 1);
        return true;
    }
    if (worth(se, from, b->demand, a->demand) + worth(se, to, a->demand, b->demand) <= before + 1e-9) return false;
    put(se, a, from, -1);
    put(se, b, to, -1);
    put(se, a, to, 1);
    put(se, b, from, 1);
    return true;
}

static double bestFixed(const shape *sh) {
    search se = {.sh = sh};
    int all = 0;
    for (int i = 0; i < sh->steps; i++) all += sh->windows[i];
    for (int i = 0; i < sh->steps; i++) se.part[sh->pattern[i]] += (double)sh->windows[i] / all;
    size_t *order = malloc(sh->n * sizeof(*order));
    for (size_t i = 0; i < sh->n; i++) order[i] = i;
    sorting = &se;
    qsort(order, sh->n, sizeof(*order), heavierFirst);
    for (size_t i = 0; i < sh->n; i++) {
        simStream *s = &sh->ios[order[i]];
        put(&se, s, bestThread(&se, s), 1);
    }
    for (int vain = 0; vain < 50000; vain++)
        if (improve(&se)) vain = 0;
    simState st = {.sh = sh, .order = order};
    for (size_t i = 0; i < sh->n; i++) {
        sh->ios[i].lost = 0;
        sh->ios[i].there = true;
    }
    for (int w = 0; w < WINDOWS; w++) serve(&st, w);
    free(order);
    return st.served;
}

/* --- loads ---------------------------------------------------------------------------------------------- */

static void add(shape *sh, size_t count, const kind *k, double low, double high, unsigned patterns) {
    for (size_t i = 0; i < count; i++) {
        simStream *s = &sh->ios[sh->n++];
        *s = (simStream){.kind = k};
        double demand = uniform(low, high);
        for (int p = 0; p < PATTERNS; p++) s->demand[p] = patterns >> p & 1 ? demand : 0;
    }
}

static void addIdle(shape *sh, size_t from, double demand) {
    for (size_t i = from; i < sh->n; i++)
        for (int p = 0; p < PATTERNS; p++)
            if (sh->ios[i].demand[p] == 0) sh->ios[i].demand[p] = demand;
}

static void step(shape *sh, int pattern, int windows) {
    sh->pattern[sh->steps] = pattern;
    sh->windows[sh->steps++] = windows;
}

#define ALWAYS 15u

/* Main executes 3.3 million commands a second. If commands are cheap, 63 threads could read more, and then the
 * assignment would not matter. */
static const kind *light(const shape *sh) { return sh->threads < 32 ? &request : &tls_16k; }

static const kind *heavy(const shape *sh) { return sh->threads < 32 ? &value_16k : &value_1m; }

static void fewHeavy(shape *sh) {
    add(sh, (size_t)sh->threads * 3 / 4, heavy(sh), 0.9, 1.4, ALWAYS);
    step(sh, 0, WINDOWS);
}

static void manyLight(shape *sh) {
    size_t n = (size_t)sh->threads * 200;
    add(sh, n, light(sh), 0.0, 1.7 * sh->threads / (double)n, ALWAYS);
    step(sh, 0, WINDOWS);
}

static void hotThread(shape *sh) {
    add(sh, (size_t)sh->threads, heavy(sh), 0.5, 0.7, ALWAYS);
    add(sh, (size_t)sh->threads * 20, light(sh), 0.005, 0.015, ALWAYS);
    step(sh, 0, WINDOWS);
    sh->begin_on = 1;
}

static void bursts(shape *sh) {
    for (int p = 0; p < 4; p++) {
        size_t from = sh->n;
        add(sh, (size_t)sh->threads, heavy(sh), 0.5, 0.9, 1u << p);
        addIdle(sh, from, 0.01);
        step(sh, p, 50);
    }
}

static void tlsStorms(shape *sh) {
    add(sh, (size_t)sh->threads * 10, light(sh), 0.03, 0.05, ALWAYS);
    size_t from = sh->n;
    add(sh, (size_t)sh->threads, &handshake, 0.6, 0.9, 2);
    addIdle(sh, from, 0.001);
    step(sh, 0, 150);
    step(sh, 1, 50);
}

static void subscribers(shape *sh) {
    add(sh, 1000, &subscriber, 0.75 * sh->threads / 1000, 0.85 * sh->threads / 1000, ALWAYS);
    add(sh, 2, &pipeline, 0.05, 0.1, ALWAYS);
    step(sh, 0, WINDOWS);
}

static void mixed(shape *sh) {
    static const kind *kinds[] = {&request, &value_16k, &value_1m, &tls, &tls_16k, &subscriber};
    for (double sum = 0; sum < 0.95 * sh->threads;) {
        double demand = uniform(0, 1), scale = uniform(0, 1);
        demand *= scale * scale * scale;
        const kind *k = kinds[unitRandom(&seed_now) % array_len(kinds)];
        if (sh->threads >= 32 && k->main_ns / k->command_ns > 0.03) k = &tls_16k;
        add(sh, 1, k, demand, demand, ALWAYS);
        sum += demand;
    }
    add(sh, 2, &pipeline, 0.05, 0.3, ALWAYS);
    step(sh, 0, WINDOWS);
}

static void comesAndGoes(shape *sh) {
    add(sh, (size_t)sh->threads * 10, light(sh), 0.04, 0.08, ALWAYS);
    size_t from = sh->n;
    add(sh, 1, &value_1m, 0.9, 0.9, 2);
    addIdle(sh, from, 0.0001);
    step(sh, 0, 100);
    step(sh, 1, 100);
}

static void allAtOnce(shape *sh) {
    add(sh, 20, &request, 0.01, 0.05, ALWAYS);
    add(sh, (size_t)sh->threads * 10, heavy(sh), 0.04, 0.12, 2);
    step(sh, 0, 200);
    step(sh, 1, 800);
}

static void dwarfing(shape *sh) {
    add(sh, 1, &value_1m, 5, 5, ALWAYS);
    add(sh, (size_t)sh->threads * 8, light(sh), 0.05, 0.15, ALWAYS);
    step(sh, 0, WINDOWS);
}

static const struct {
    const char *name;
    void (*make)(shape *sh);
    bool steady;
} shapes[] = {
    {"few heavy", fewHeavy, true},
    {"many light", manyLight, true},
    {"one hot thread", hotThread, true},
    {"bursts", bursts, false},
    {"TLS storms", tlsStorms, false},
    {"1,000 subscribers", subscribers, true},
    {"mixed", mixed, true},
    {"a heavy one comes and goes", comesAndGoes, false},
    {"many come at once", allAtOnce, false},
    {"one dwarfs a thread", dwarfing, true},
};

/* The results differ from seed to seed: the loads are the same each time unless UNIT_SEED is set. */
static void compare(int processors) {
    seed_now = getenv("UNIT_SEED") ? unitRandomSeed() : 1;
    printf("%d processors: served, of the best fixed assignment; moves, in the last third; threads\n", processors);
    for (size_t i = 0; i < array_len(shapes); i++) {
        shape sh = {.name = shapes[i].name, .threads = processors - 1};
        sh.ios = calloc((size_t)sh.threads * 400 + 2000, sizeof(*sh.ios));
        shapes[i].make(&sh);
        uint64_t seed = seed_now;
        outcome ours = simulate(&sh);
        seed_now = seed;
        double best = bestFixed(&sh);
        printf("  %-28s %.3f %8zu %6zu %4d   (%zu streams, best %.1f threads' time)\n", sh.name, ours.served / best,
               ours.moves, ours.moves_late, ours.level, sh.n, best / WINDOWS);
        CHECK(ours.served >= BAR * best);
        /* The policy has settled, as far as varying loads allow. */
        double late = (double)ours.moves_late * 2 * MOVE_NS / (WINDOWS / 3 * WINDOW_NS * sh.threads);
        if (shapes[i].steady) CHECK(late <= RESTLESS_MAX);
        free(sh.ios);
    }
}

TEST(spread_serves_like_the_best_fixed_assignment_on_16_processors) { compare(16); }

TEST(spread_serves_like_the_best_fixed_assignment_on_64_processors) { compare(64); }
