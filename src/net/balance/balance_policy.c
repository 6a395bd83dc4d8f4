/* balance_policy.c -- the load balancing policy: how many threads own connections, and which connection moves where.
 *
 * As long as a thread has time left all its connections are served, and moving them would only cost. So nothing moves
 * while no thread is near its limit, however uneven the loads are. A thread that has been near it for UP_NS sheds
 * connections to the least loaded one, first those that bring the two loads closest to each other: so a few heavy
 * connections move rather than many light ones. A thread without time left may shed more than its measured load
 * suggests, because how much it would do with more time is unknown; the result is checked again.
 *
 * More threads take part when a thread stays near its limit, no other can take anything from it, and it has more than
 * one significant connection: one new thread for each such thread. So under a load for all of them their number
 * doubles. It falls after DOWN_NS in which fewer threads would have done with time to spare.
 *
 * An additional thread has a processor only if one is idle. So at most as many threads are added at a time as there are
 * idle processors. If none is idle, a quarter of the level is tried and kept if throughput grows by GAIN_PERCENT
 * (throughput_trial.c). If no processor is idle and threads have been at their limit for FEWER_NS, a quarter fewer are
 * tried in the same manner: other programs on the machine, perhaps the clients, may make more of the time.
 *
 * The work of a thread as main is done for the connections of all. It is divided among threads by the cost of their
 * connections, so that moving the main role does not look like moving load.
 *
 * If all threads are full the total cannot grow. Then connections that would take more are distributed evenly by
 * number, so that one client does not get half of another's share: after FAIR_NS, and only while one thread has two
 * more of them than another.
 *
 * A move costs both threads some MOVE_NS (three messages, a few system calls, the connection's lines move to another
 * cache). It pays if the load that it takes off is worth more than that within PAYBACK_NS.
 *
 * The constants were chosen with the simulation (tests/unit/net/balance/balance_sim_test.c), which says what they
 * achieve.
 *
 * Not here    how load and cost are measured, and moving (rebalance.c).
 * Owns        nothing.
 * Threads     any one; in the server main.
 * Invariants  1. 1 <= level <= most.
 *             2. A plan moves a connection at most once, from one thread to another one within the level.
 *             3. The same figures give the same plan.
 * Cost        balanceWindow: threads. balancePlan: connections, and at most VISITS_MAX further visits to them.
 * Tests       tests/unit/net/balance/balance_policy_test.c, tests/unit/net/balance/balance_sim_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "balance_policy.h"

#include "panic.h"

#include <math.h>

#define DECAY_NS 15e6 /* a window of this length has the weight 1/2 */
#define FULL 0.80     /* the thread is near its limit: more threads could help, if there are any */
#define NO_TIME 0.94  /* it would do more if it had more time; how much is unknown */
#define RELIEVED 0.65 /* target for a thread whose load is known: far enough from FULL not to return at once */
#define GAP_MIN 0.10  /* smaller differences are noise */
#define SPARE 0.60    /* fewer threads would do if none of them had more than this */
#define UP_NS 20000000ull
#define DOWN_NS 2000000000ull /* so long that a load which comes each second finds its threads again */
#define FAIR_NS 200000000ull
#define BEFORE_NS 400000000ull
#define MORE_NS 40000000ull       /* least measurement before a trial of more threads, */
#define FEWER_NS 100000000ull     /* and of fewer, which is less urgent */
#define GAIN_PERCENT 5            /* of throughput that more threads must bring if they take a processor from others */
#define LOSS_PERCENT 2            /* of throughput that fewer threads may cost */
#define IDLE_NONE 0.1             /* processors: fewer count as none */
#define FAIR_RATIO 1.1            /* by how much connections of one thread must get more than those of another */
#define PLAN_PAUSE_NS 50000000ull /* after a plan that changed nothing; then twice the time */
#define PLAN_PAUSE_NS_MAX 200000000ull
#define MOVE_NS 10000.0
#define PAYBACK_NS 1e9
#define MOVE_MIN (MOVE_NS / PAYBACK_NS) /* moving a lighter connection does not pay */
#define EXCHANGE_MIN 0.03               /* least load that an exchange must move */
#define EXCHANGE_MAX 16                 /* connections for one */
#define VISITS_MAX (1u << 18)
#define VISITS_PER_MOVE 256

#define NONE UINT32_MAX

typedef struct balancePlanning {
    balancePolicy *p;
    balanceClient *ios;
    balanceMove *moves;
    size_t count, max, visits;
    double load[BALANCE_THREADS]; /* as it will be after the moves */
    double cost[BALANCE_THREADS];
    double per_cost[BALANCE_THREADS]; /* load divided by cost of its connections */
    uint32_t first[BALANCE_THREADS];  /* connections that may move, the heavier ones first */
    bool hot[BALANCE_THREADS];        /* the thread sheds */
    bool stuck[BALANCE_THREADS];      /* hot, and no thread can take anything from it */
} balancePlanning;

/* The load of a thread. */
static double loadOfThread(const balancePolicy *p, unsigned thread) {
    return p->own[thread] + p->acting * p->share[thread];
}

/* --- a window -------------------------------------------------------------------------------------------- */

/* Moves an average towards the present value. */
static void average(double *value, double now, double weight) { *value += (now - *value) * weight; }

/* Gives each thread of the level an equal share of main's work, until connections have been surveyed. */
static void shareEvenly(balancePolicy *p) {
    for (int i = 0; i < BALANCE_THREADS; i++) p->share[i] = i >= 1 && i <= p->level ? 1.0 / p->level : 0;
}

static void setLevel(balancePolicy *p, int level) {
    if (level == p->level) return;
    p->level = level;
    p->hot_ns = p->quiet_ns = 0;
    if (p->load_per_cost == 0) shareEvenly(p);
}

static void cancelTrials(balancePolicy *p) {
    throughputTrialCancel(&p->more);
    throughputTrialCancel(&p->fewer);
    p->before = (throughput){0};
}

void balanceBounds(balancePolicy *p, int most, bool all) {
    serverAssert(most >= 1 && most < BALANCE_THREADS);
    if (most != p->most || all != p->all) cancelTrials(p);
    p->most = most;
    p->all = all;
    if (all || p->level > most) setLevel(p, most);
    if (p->level < 1) setLevel(p, 1);
}

static void updateLoads(balancePolicy *p, double window_ns, const balanceThread *threads) {
    double weight = window_ns / (window_ns + DECAY_NS), acting = 0;
    for (int i = 0; i < BALANCE_THREADS; i++) {
        const balanceThread *t = &threads[i];
        uint64_t own = t->busy_ns > t->acting_ns ? t->busy_ns - t->acting_ns : 0;
        acting += (double)t->acting_ns / window_ns;
        average(&p->own[i], (double)own / window_ns, weight);
    }
    average(&p->acting, acting, weight);
}

/* Returns the load that counts in the check whether fewer threads would do: a connection that fills a thread needs that
 * thread, but no more. */
static double spareLoad(double load) { return fmin(load, SPARE); }

/* Returns the load from which on a thread sheds. If no thread can be added, a thread that has time left need not. */
static double hotFrom(const balancePolicy *p) { return p->level < p->most ? FULL : NO_TIME; }

/* --- a window: what pays where no processor is idle ------------------------------------------------------ */

static bool isTrying(const balancePolicy *p) { return p->more.under_way || p->fewer.under_way; }

static int quarterOf(int level) { return level < 8 ? 1 : level / 4; }

/* Begins a trial with `level` threads. */
static void tryLevel(balancePolicy *p, throughputTrial *trial, int level, int percent) {
    p->level_before = p->level;
    throughputTrialBegin(trial, p->before, percent);
    p->before = (throughput){0};
    setLevel(p, level);
}

static void followTrials(balancePolicy *p, throughput window) {
    trialState more = throughputTrialWindow(&p->more, window), fewer = throughputTrialWindow(&p->fewer, window);
    bool failed = more == TRIAL_FAILED || fewer == TRIAL_FAILED;
    if (failed) setLevel(p, p->level_before);
    if (isTrying(p) || p->hot_ns == 0 || failed) p->before = (throughput){0};
    else throughputAdd(&p->before, window);
    if (p->before.ns < BEFORE_NS) return;
    p->before.ns /= 2; /* throughput of long ago says little */
    p->before.commands /= 2;
}

/* Tries fewer threads if threads are near their limit and so is the machine. */
static void considerFewer(balancePolicy *p) {
    if (p->all || p->level == 1 || p->before.ns < FEWER_NS || p->idle < 0 || p->idle >= IDLE_NONE) return;
    if (isTrying(p) || !throughputTrialMayBegin(&p->fewer)) return;
    tryLevel(p, &p->fewer, p->level - quarterOf(p->level), 100 - LOSS_PERCENT);
}

/* --- a window: the whole ----------------------------------------------------------------------------------- */

bool balanceWindow(balancePolicy *p, uint64_t window_ns, const balanceThread *threads, const balanceMachine *machine) {
    serverAssert(p->most >= 1);
    p->idle = machine->idle;
    updateLoads(p, (double)window_ns, threads);
    double sum = 0;
    int hot = 0, near = 0;
    for (int i = 1; i <= p->level; i++) {
        double load = loadOfThread(p, (unsigned)i);
        sum += spareLoad(load);
        near += load >= FULL;
        hot += load >= hotFrom(p);
    }
    p->full = p->level == p->most && near == p->level;
    if (hot == 0) p->plan_pause_ns = 0;
    p->hot_ns = hot ? p->hot_ns + window_ns : 0;
    bool fewer_would_do = !p->all && p->level > 1 && sum <= SPARE * (p->level - 1);
    p->quiet_ns = fewer_would_do ? p->quiet_ns + window_ns : 0;
    p->since_plan_ns += window_ns;
    followTrials(p, (throughput){.commands = machine->commands, .ns = window_ns});
    considerFewer(p);
    if (p->most == 1) return false; /* there is nothing to decide */
    return (p->hot_ns >= UP_NS && p->since_plan_ns >= p->plan_pause_ns) || p->quiet_ns >= DOWN_NS;
}

/* --- a plan: the connections of each thread -------------------------------------------------------------------- */

static void listPush(balancePlanning *plan, uint32_t i) {
    balanceClient *s = &plan->ios[i];
    uint32_t *first = &plan->first[s->thread];
    s->prev = NONE;
    s->next = *first;
    if (*first != NONE) plan->ios[*first].prev = i;
    *first = i;
}

static void listRemove(balancePlanning *plan, uint32_t i) {
    const balanceClient *s = &plan->ios[i];
    if (s->prev == NONE) plan->first[s->thread] = s->next;
    else plan->ios[s->prev].next = s->next;
    if (s->next != NONE) plan->ios[s->next].prev = s->prev;
}

static double loadOf(const balancePlanning *plan, uint32_t i) {
    const balanceClient *s = &plan->ios[i];
    return s->cost * plan->per_cost[s->thread];
}

/* Computes costs, loads and lists. */
static void beginPlan(balancePlanning *plan, size_t n) {
    balancePolicy *p = plan->p;
    double sum = 0, load = 0;
    for (size_t i = 0; i < n; i++) {
        const balanceClient *s = &plan->ios[i];
        debugAssert(s->cost > 0 && s->thread >= 1 && s->thread < BALANCE_THREADS);
        plan->cost[s->thread] += s->cost;
        sum += s->cost;
    }
    if (n == 0) shareEvenly(p);
    for (unsigned t = 0; t < BALANCE_THREADS; t++) {
        if (n > 0) p->share[t] = plan->cost[t] / sum;
        plan->load[t] = loadOfThread(p, t);
        load += plan->load[t];
        plan->per_cost[t] = plan->cost[t] > 0 ? plan->load[t] / plan->cost[t] : 0;
        plan->first[t] = NONE;
    }
    p->load_per_cost = n > 0 ? load / sum : 0;
    p->cost_typical = n > 0 ? sum / (double)n : 0;
    for (size_t i = n; i-- > 0;)
        if (!plan->ios[i].stays && plan->ios[i].cost <= p->cost_typical) listPush(plan, (uint32_t)i);
    for (size_t i = 0; i < n; i++)
        if (!plan->ios[i].stays && plan->ios[i].cost > p->cost_typical) listPush(plan, (uint32_t)i);
    for (int t = 1; t <= p->level; t++) plan->hot[t] = plan->load[t] >= hotFrom(p);
}

static unsigned lightest(const balancePlanning *plan) {
    unsigned best = 1;
    for (unsigned t = 2; (int)t <= plan->p->level; t++)
        if (plan->load[t] < plan->load[best]) best = t;
    return best;
}

/* Returns 0 if there is none. */
static unsigned heaviestHot(const balancePlanning *plan) {
    unsigned best = 0;
    for (unsigned t = 1; (int)t <= plan->p->level; t++)
        if (plan->hot[t] && !plan->stuck[t] && (!best || plan->load[t] > plan->load[best])) best = t;
    return best;
}

/* Moves a connection to the thread `to`. */
static void moveTo(balancePlanning *plan, uint32_t i, unsigned to) {
    unsigned from = plan->ios[i].thread;
    double load = loadOf(plan, i);
    balancePolicy *p = plan->p;
    serverAssert(plan->count < plan->max && from != to);
    listRemove(plan, i);
    plan->moves[plan->count++] = (balanceMove){.io = i, .to = (uint16_t)to};
    plan->load[from] -= load;
    plan->load[to] += load;
    /* Estimates, until the next windows measure them. */
    double part = plan->cost[from] > 0 ? plan->ios[i].cost / plan->cost[from] : 0;
    double own = p->own[from] * part;
    p->own[from] -= own;
    p->own[to] += own;
    double share = p->share[from] * part;
    p->share[from] -= share;
    p->share[to] += share;
    plan->cost[from] -= plan->ios[i].cost;
    plan->cost[to] += plan->ios[i].cost;
}

/* --- a plan: relief ------------------------------------------------------------------------------------------ */

/* Returns the connection of `from` whose load is nearest to `ideal` and below `most`, or NONE. */
static uint32_t pick(balancePlanning *plan, unsigned from, double ideal, double most) {
    uint32_t best = NONE;
    double best_off = 0;
    size_t visits = 0;
    for (uint32_t i = plan->first[from]; i != NONE && visits < VISITS_PER_MOVE; i = plan->ios[i].next, visits++) {
        double load = loadOf(plan, i), off = fabs(load - ideal);
        if (load < MOVE_MIN || load >= most || (best != NONE && off >= best_off)) continue;
        best_off = off;
        best = i;
    }
    plan->visits += visits;
    return best;
}

/* Returns whether more threads would help the connections of `t`: none of them makes nearly all of its load.
 * Connections beside one that does stay there: they are served, and moving them would gain little and might have to be
 * undone. */
static bool canBeSplit(const balancePlanning *plan, unsigned t) {
    double most = 0;
    size_t visits = 0;
    for (uint32_t i = plan->first[t]; i != NONE && visits < VISITS_PER_MOVE; i = plan->ios[i].next, visits++)
        most = fmax(most, loadOf(plan, i));
    return visits > 0 && plan->load[t] - most >= GAP_MIN;
}

/* Returns the load that `to` can give back for a connection, up to `most`, as connections that fit, the heavier ones
 * first. If `from` is not 0 it moves them there. */
static double giveBack(balancePlanning *plan, unsigned to, double most, unsigned from) {
    double sum = 0;
    size_t visits = 0, given = 0;
    for (uint32_t i = plan->first[to], next; i != NONE && visits < VISITS_PER_MOVE && given < EXCHANGE_MAX; i = next) {
        double load = loadOf(plan, i);
        next = plan->ios[i].next;
        visits++;
        if (load < MOVE_MIN || sum + load > most) continue;
        sum += load;
        given++;
        if (from) moveTo(plan, i, from);
    }
    plan->visits += visits;
    return sum;
}

/* Each connection of `from` is larger than the gap: exchanges one for several that together are smaller. */
static bool exchange(balancePlanning *plan, unsigned from, unsigned to, double gap) {
    if (plan->count + 1 + EXCHANGE_MAX > plan->max) return false;
    uint32_t best = NONE;
    double best_off = 0, back = 0;
    size_t visits = 0;
    for (uint32_t i = plan->first[from]; i != NONE && visits < EXCHANGE_MAX; i = plan->ios[i].next, visits++) {
        double load = loadOf(plan, i);
        if (load < gap) continue;
        double less = load - giveBack(plan, to, load - gap / 2, 0), off = fabs(less - gap / 2);
        if (less < EXCHANGE_MIN || less >= gap || (best != NONE && off >= best_off)) continue;
        best_off = off;
        best = i;
        back = load - gap / 2;
    }
    if (best == NONE) return false;
    moveTo(plan, best, to);
    giveBack(plan, to, back, from);
    return true;
}

/* Brings the load of `from` closer to that of `to`. Returns whether anything was moved. */
static bool shed(balancePlanning *plan, unsigned from, unsigned to) {
    double gap = plan->load[from] - plan->load[to];
    if (gap < GAP_MIN || !canBeSplit(plan, from)) return false;
    uint32_t i = pick(plan, from, gap / 2, gap);
    if (i == NONE) return exchange(plan, from, to, gap);
    moveTo(plan, i, to);
    return true;
}

static bool hasBudget(const balancePlanning *plan) { return plan->count < plan->max && plan->visits < VISITS_MAX; }

static void relieve(balancePlanning *plan) {
    bool no_time[BALANCE_THREADS];
    for (int t = 1; t <= plan->p->level; t++) no_time[t] = plan->load[t] >= NO_TIME;
    unsigned from;
    while (hasBudget(plan) && (from = heaviestHot(plan)) != 0) {
        if (!no_time[from] && plan->load[from] < RELIEVED) plan->hot[from] = false;
        else if (!shed(plan, from, lightest(plan))) plan->stuck[from] = true;
    }
}

/* --- a plan: the level ----------------------------------------------------------------------------------------- */

static int threadsFor(double load, double each) {
    int n = (int)(load / each);
    return n * each < load ? n + 1 : n;
}

/* Adds threads if some cannot shed to any other. */
static bool raiseLevel(balancePlanning *plan) {
    balancePolicy *p = plan->p;
    int wanted = 0;
    double sum = 0;
    bool known = true;
    for (unsigned t = 1; (int)t <= p->level; t++) {
        sum += plan->load[t];
        if (plan->load[t] >= NO_TIME) known = false;
        if (plan->load[t] >= FULL && canBeSplit(plan, t)) wanted++;
    }
    if (wanted == 0 || p->level >= p->most || isTrying(p)) return false;
    if (known && threadsFor(sum, SPARE) - p->level < wanted) wanted = threadsFor(sum, SPARE) - p->level;
    if (wanted < 1) wanted = 1;
    int idle = p->idle < 0 ? wanted : (int)(p->idle + 0.5);
    if (idle == 0 && (p->before.ns < MORE_NS || !throughputTrialMayBegin(&p->more))) return false;
    if (idle == 0) wanted = quarterOf(p->level);
    else if (wanted > idle) wanted = idle;
    int level = p->level + wanted < p->most ? p->level + wanted : p->most;
    if (idle == 0) tryLevel(p, &p->more, level, 100 + GAIN_PERCENT);
    else setLevel(p, level);
    return true;
}

/* Returns whether `level` threads can take the connections of the others, the heavier ones first. */
static bool levelFits(const balancePlanning *plan, int level) {
    double load[BALANCE_THREADS];
    for (int t = 1; t <= level; t++) load[t] = plan->load[t];
    size_t visits = 0;
    for (int t = level + 1; t <= plan->p->level; t++) {
        double left = plan->load[t];
        for (uint32_t i = plan->first[t]; i != NONE && visits < VISITS_PER_MOVE; i = plan->ios[i].next, visits++) {
            int to = 1;
            for (int k = 2; k <= level; k++)
                if (load[k] < load[to]) to = k;
            bool alone = load[to] < GAP_MIN; /* a connection alone on its thread may have any load */
            load[to] += loadOf(plan, i);
            left -= loadOf(plan, i);
            if (load[to] > RELIEVED && !alone) return false;
        }
        for (int k = 1; k <= level; k++) load[k] += left > 0 ? left / level : 0; /* load not visited */
    }
    return true;
}

static void lowerLevel(balancePlanning *plan) {
    balancePolicy *p = plan->p;
    double sum = 0;
    for (int t = 1; t <= p->level; t++) sum += spareLoad(plan->load[t]);
    int level = threadsFor(sum, SPARE), least = p->level - (p->level + 3) / 4;
    if (level < least) level = least;
    if (level < 1) level = 1;
    p->quiet_ns = 0; /* the next check is as far away */
    for (; level < p->level; level++) {
        if (!levelFits(plan, level)) continue;
        setLevel(p, level);
        return;
    }
}

/* --- a plan: fairness -------------------------------------------------------------------------------------------- */

/* Connections of a thread that would take more: those with at least half the load of its heaviest. */
typedef struct demandingClients {
    int count;
    double each;
    uint32_t first;
} demandingClients;

static demandingClients demandingOf(const balancePlanning *plan, unsigned t) {
    demandingClients g = {.first = NONE};
    double most = 0, sum = 0;
    for (uint32_t i = plan->first[t]; i != NONE; i = plan->ios[i].next) most = fmax(most, loadOf(plan, i));
    for (uint32_t i = plan->first[t]; i != NONE; i = plan->ios[i].next) {
        if (loadOf(plan, i) * 2 < most) continue;
        if (g.count++ == 0) g.first = i;
        sum += loadOf(plan, i);
    }
    g.each = g.count ? sum / g.count : 0;
    return g;
}

/* Moves connections between pairs of threads; each thread gives or takes at most one. */
static void evenOut(balancePlanning *plan) {
    bool done[BALANCE_THREADS] = {false};
    while (hasBudget(plan)) {
        demandingClients most = {.count = 0}, fewest = {.count = 0};
        for (unsigned t = 1; (int)t <= plan->p->level; t++) {
            if (done[t] || plan->load[t] < NO_TIME) continue;
            demandingClients g = demandingOf(plan, t);
            if (g.count == 0) continue;
            if (!most.count || g.count > most.count) most = g;
            if (!fewest.count || g.count < fewest.count) fewest = g;
        }
        if (most.count < fewest.count + 2 || most.each * FAIR_RATIO > fewest.each) return;
        unsigned from = plan->ios[most.first].thread, to = plan->ios[fewest.first].thread;
        moveTo(plan, most.first, to);
        done[from] = done[to] = true;
    }
}

/* --- a plan ----------------------------------------------------------------------------------------------- */

/* Sets the time until the next plan, so that a change can show its effect, and a load that cannot be divided is not
 * surveyed all the time. */
static void setPlanPause(balancePolicy *p, bool changed) {
    if (changed) {
        p->hot_ns = p->quiet_ns = p->plan_pause_ns = 0;
        p->before = (throughput){0};
    } else if (p->plan_pause_ns == 0) p->plan_pause_ns = PLAN_PAUSE_NS;
    else p->plan_pause_ns = p->plan_pause_ns * 2 < PLAN_PAUSE_NS_MAX ? p->plan_pause_ns * 2 : PLAN_PAUSE_NS_MAX;
    p->since_plan_ns = 0;
}

size_t balancePlan(balancePolicy *p, balanceClient *ios, size_t n, balanceMove *moves, size_t max) {
    serverAssert(p->level >= 1 && p->level <= p->most);
    balancePlanning plan = {.p = p, .ios = ios, .moves = moves, .max = max};
    uint64_t hot_ns = p->hot_ns;
    int level = p->level;
    beginPlan(&plan, n);
    if (hot_ns >= UP_NS) {
        relieve(&plan);
        if (hasBudget(&plan) && raiseLevel(&plan)) {
            for (int t = 1; t <= p->level; t++) plan.stuck[t] = false;
            relieve(&plan);
        }
        if (plan.count == 0 && p->level == p->most && hot_ns >= FAIR_NS) evenOut(&plan);
    }
    if (plan.count == 0 && p->level == level && p->quiet_ns >= DOWN_NS && !isTrying(p)) lowerLevel(&plan);
    setPlanPause(p, plan.count > 0 || p->level != level);
    return plan.count;
}

unsigned balancePick(balancePolicy *p, const bool *may, const size_t *held, double cost) {
    unsigned best = 0;
    int best_load = 0;
    for (unsigned t = 1; (int)t <= p->level; t++) {
        if (!may[t]) continue;
        int load = (int)(loadOfThread(p, t) / GAP_MIN); /* smaller differences count as equal */
        if (best && (load > best_load || (load == best_load && held[t] >= held[best]))) continue;
        best = t;
        best_load = load;
    }
    if (best) p->own[best] += cost * p->load_per_cost;
    return best;
}
