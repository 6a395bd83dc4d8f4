/* balance_policy.c -- how many threads hold streams, and which stream goes where: the decision, and nothing else.
 *
 * What a thread can do is full or it is not: as long as it has time left all its streams are served, and to move them
 * would only cost. So nothing moves while no thread is near its limit, however uneven the loads are. A thread that has
 * been near it for UP_NS sheds streams to the lightest one, those first that bring the two closest to each other: so a
 * few heavy ones move rather than many light ones. It need not stop at what it was measured to do, for of a thread
 * without time left nobody knows how much it would do if it had more; what it sheds then is looked at again.
 *
 * When a thread stays near its limit, no other can take anything off it, and it has more than one stream that counts,
 * more threads take part: one for each such thread. So under a load for all of them their number doubles. Going down
 * needs DOWN_NS in which fewer would have done with room to spare.
 *
 * A thread more has a processor only if one is idle. So there are no more new ones at a time than idle processors, and
 * where none is they are tried: a quarter of the level, kept if GAIN_PERCENT more is done (throughput_trial.c). When no
 * processor is idle, and threads have been at their limit for FEWER_NS, a quarter fewer are tried in the same manner:
 * who else runs on the machine, the clients perhaps, may make more of the time.
 *
 * What a thread does as main is done for the streams of all. It is shared out among threads by their streams' cost, so
 * that moving the role does not look like moving load.
 *
 * Where all are full the total cannot grow. Streams that would take more are then evened out by number, so that one
 * client does not get the half of another: FAIR_NS later, and only while one thread has two more of them.
 *
 * A move costs both threads some MOVE_NS (three messages, a few system calls, the stream's lines go to another cache).
 * It pays when the load it takes off is worth more than that within PAYBACK_NS.
 *
 * The constants were chosen with the simulation (tests/unit/net/balance/balance_sim_test.c), which says what they hold
 * to.
 *
 * Not here    what a load and a cost are measured by, and moving (rebalance.c).
 * Owns        nothing.
 * Threads     any one; in the server main.
 * Invariants  1. 1 <= level <= most.
 *             2. A plan moves a stream once at most, from one thread of the level to another.
 *             3. The same figures give the same plan.
 * Cost        balanceWindow: threads. balancePlan: streams, and LOOKS_MAX more looks at them at most.
 * Tests       tests/unit/net/balance/balance_policy_test.c, tests/unit/net/balance/balance_sim_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "balance_policy.h"

#include "panic.h"

#define DECAY_NS 15e6 /* a window of this length counts for a half */
#define FULL 0.80     /* a thread is near its limit: more could help, if there are any */
#define NO_TIME 0.94  /* it would do more if it had more time; how much is not known */
#define RELIEVED 0.65 /* what one with known load is brought below: far enough from FULL not to come back at once */
#define GAP_MIN 0.10  /* smaller differences are noise */
#define SPARE 0.60    /* fewer threads would do if none of them had more than this */
#define UP_NS 20000000ull
#define DOWN_NS 2000000000ull /* what comes each second finds the threads that it had */
#define FAIR_NS 200000000ull
#define ASKING_NS 400000000ull
#define MORE_NS 40000000ull   /* a trial needs to know what was done before it, */
#define FEWER_NS 100000000ull /* and there is no haste to go down */
#define GAIN_PERCENT 5        /* that more threads must bring where they take a processor from others */
#define LOSS_PERCENT 2        /* that fewer may cost */
#define IDLE_NONE 0.1         /* processors: none is left for anybody */
#define FAIR_RATIO 1.1        /* the streams of one thread get so much more than those of another */
#define AGAIN_NS 50000000ull  /* after a look of which nothing came; then twice the time */
#define AGAIN_NS_MAX 200000000ull
#define MOVE_NS 10000.0
#define PAYBACK_NS 1e9
#define MOVE_MIN (MOVE_NS / PAYBACK_NS) /* a lighter stream is not worth it */
#define EXCHANGE_MIN 0.03               /* what it brings, at least */
#define EXCHANGE_MAX 16                 /* streams for one */
#define LOOKS_MAX (1u << 18)
#define LOOKS_PER_MOVE 256

#define NONE UINT32_MAX

typedef struct spreadPlanning {
    balancePolicy *p;
    balanceClient *ios;
    balanceMove *moves;
    size_t count, max, looks;
    double load[BALANCE_THREADS]; /* as it will be */
    double cost[BALANCE_THREADS];
    double per_cost[BALANCE_THREADS];                       /* load of a stream of this thread by its cost */
    uint32_t first[BALANCE_THREADS], last[BALANCE_THREADS]; /* streams that may move; the heavier ones first */
    bool hot[BALANCE_THREADS];                              /* sheds */
    bool stuck[BALANCE_THREADS];                            /* hot, and nobody can take anything off it */
} spreadPlanning;

/* The load of a thread. */
static double loadOfThread(const balancePolicy *p, unsigned thread) {
    return p->own[thread] + p->acting * p->share[thread];
}

/* --- a window -------------------------------------------------------------------------------------------- */

static void follow(double *value, double now, double weight) {
    *value += (now - *value) * weight;
}

/* Until streams have been looked at each thread of the level has the same part of main's work. */
static void shareEvenly(balancePolicy *p) {
    for (int i = 0; i < BALANCE_THREADS; i++) p->share[i] = i >= 1 && i <= p->level ? 1.0 / p->level : 0;
}

static void setLevel(balancePolicy *p, int level) {
    if (level == p->level) return;
    p->level = level;
    p->hot_ns = p->quiet_ns = 0;
    if (p->load_per_cost == 0) shareEvenly(p);
}

static void forgetTrials(balancePolicy *p) {
    throughputTrialForget(&p->more);
    throughputTrialForget(&p->fewer);
    p->asking = (throughput){0};
}

void balanceBounds(balancePolicy *p, int most, bool all) {
    serverAssert(most >= 1 && most < BALANCE_THREADS);
    if (most != p->most || all != p->all) forgetTrials(p);
    p->most = most;
    p->all = all;
    if (all || p->level > most) setLevel(p, most);
    if (p->level < 1) setLevel(p, 1);
}

static void takeLoads(balancePolicy *p, double window_ns, const balanceThread *threads) {
    double weight = window_ns / (window_ns + DECAY_NS), acting = 0;
    for (int i = 0; i < BALANCE_THREADS; i++) {
        const balanceThread *t = &threads[i];
        uint64_t own = t->busy_ns > t->acting_ns ? t->busy_ns - t->acting_ns : 0;
        acting += (double)t->acting_ns / window_ns;
        follow(&p->own[i], (double)own / window_ns, weight);
    }
    follow(&p->acting, acting, weight);
}

/* What a thread counts for where it is asked whether fewer would do: one stream that fills it needs it, and no more. */
static double spareLoad(double load) {
    return load < SPARE ? load : SPARE;
}

static bool fewerWouldDo(const balancePolicy *p, double sum) {
    return !p->all && p->level > 1 && sum <= SPARE * (p->level - 1);
}

/* A thread with so much sheds. When there are no more threads to be had one that has time left is as well off. */
static double hotFrom(const balancePolicy *p) {
    return p->level < p->most ? FULL : NO_TIME;
}

/* --- a window: what pays where no processor is idle ------------------------------------------------------ */

static bool isTrying(const balancePolicy *p) {
    return p->more.under_way || p->fewer.under_way;
}

static int aQuarter(int level) {
    return level < 8 ? 1 : level / 4;
}

/* From now on there are `level` threads, and it is seen what comes of it. */
static void try(balancePolicy *p, throughputTrial *trial, int level, int percent) {
    p->level_before = p->level;
    throughputTrialBegin(trial, p->asking, percent);
    p->asking = (throughput){0};
    setLevel(p, level);
}

static void followTrials(balancePolicy *p, throughput window) {
    trialState more = throughputTrialWindow(&p->more, window), fewer = throughputTrialWindow(&p->fewer, window);
    if (more == TRIAL_FAILED || fewer == TRIAL_FAILED) setLevel(p, p->level_before);
    if (isTrying(p) || p->hot_ns == 0 || more == TRIAL_FAILED || fewer == TRIAL_FAILED) p->asking = (throughput){0};
    else throughputAdd(&p->asking, window);
    if (p->asking.ns < ASKING_NS) return;
    p->asking.ns /= 2; /* what was long ago says little */
    p->asking.commands /= 2;
}

/* Threads are near their limit, and so is the machine. */
static void considerFewer(balancePolicy *p) {
    if (p->all || p->level == 1 || p->asking.ns < FEWER_NS || p->idle < 0 || p->idle >= IDLE_NONE) return;
    if (isTrying(p) || !throughputTrialMayBegin(&p->fewer)) return;
    try(p, &p->fewer, p->level - aQuarter(p->level), 100 - LOSS_PERCENT);
}

/* --- a window: the whole ----------------------------------------------------------------------------------- */

bool balanceWindow(balancePolicy *p, uint64_t window_ns, const balanceThread *threads, const balanceMachine *machine) {
    serverAssert(p->most >= 1);
    p->idle = machine->idle;
    takeLoads(p, (double)window_ns, threads);
    double sum = 0;
    int hot = 0, near = 0;
    for (int i = 1; i <= p->level; i++) {
        double load = loadOfThread(p, (unsigned)i);
        sum += spareLoad(load);
        near += load >= FULL;
        hot += load >= hotFrom(p);
    }
    p->full = p->level == p->most && near == p->level;
    if (hot == 0) p->again_ns = 0;
    p->hot_ns = hot ? p->hot_ns + window_ns : 0;
    p->quiet_ns = fewerWouldDo(p, sum) ? p->quiet_ns + window_ns : 0;
    p->looked_ns += window_ns;
    followTrials(p, (throughput){.commands = machine->commands, .ns = window_ns});
    considerFewer(p);
    if (p->most == 1) return false; /* there is nothing to decide */
    return (p->hot_ns >= UP_NS && p->looked_ns >= p->again_ns) || p->quiet_ns >= DOWN_NS;
}

/* --- a plan: the streams of each thread -------------------------------------------------------------------- */

static void append(spreadPlanning *plan, uint32_t i, bool in_front) {
    balanceClient *s = &plan->ios[i];
    unsigned t = s->thread;
    if (plan->first[t] == NONE) {
        s->next = NONE;
        plan->first[t] = plan->last[t] = i;
    } else if (in_front) {
        s->next = plan->first[t];
        plan->first[t] = i;
    } else {
        s->next = NONE;
        plan->ios[plan->last[t]].next = i;
        plan->last[t] = i;
    }
}

static void takeOut(spreadPlanning *plan, unsigned t, uint32_t before, uint32_t i) {
    uint32_t next = plan->ios[i].next;
    if (before == NONE) plan->first[t] = next;
    else plan->ios[before].next = next;
    if (plan->last[t] == i) plan->last[t] = before;
}

static double loadOf(const spreadPlanning *plan, uint32_t i) {
    const balanceClient *s = &plan->ios[i];
    return s->cost * plan->per_cost[s->thread];
}

/* Costs, loads and lists. */
static void begin(spreadPlanning *plan, size_t n) {
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
        plan->first[t] = plan->last[t] = NONE;
    }
    p->load_per_cost = n > 0 ? load / sum : 0;
    p->cost_typical = n > 0 ? sum / (double)n : 0;
    for (size_t i = 0; i < n; i++)
        if (!plan->ios[i].stays) append(plan, (uint32_t)i, plan->ios[i].cost > p->cost_typical);
    for (int t = 1; t <= p->level; t++) plan->hot[t] = plan->load[t] >= hotFrom(p);
}

static unsigned lightest(const spreadPlanning *plan) {
    unsigned best = 1;
    for (unsigned t = 2; (int)t <= plan->p->level; t++)
        if (plan->load[t] < plan->load[best]) best = t;
    return best;
}

/* 0: none. */
static unsigned heaviestHot(const spreadPlanning *plan) {
    unsigned best = 0;
    for (unsigned t = 1; (int)t <= plan->p->level; t++)
        if (plan->hot[t] && !plan->stuck[t] && (!best || plan->load[t] > plan->load[best])) best = t;
    return best;
}

/* Move what comes behind `before` (NONE: the first one) on `from`'s list. */
static void moveBehind(spreadPlanning *plan, unsigned from, uint32_t before, unsigned to) {
    uint32_t i = before == NONE ? plan->first[from] : plan->ios[before].next;
    double load = loadOf(plan, i);
    balancePolicy *p = plan->p;
    serverAssert(plan->count < plan->max && from != to);
    takeOut(plan, from, before, i);
    plan->moves[plan->count++] = (balanceMove){.io = i, .to = (uint16_t)to};
    plan->load[from] -= load;
    plan->load[to] += load;
    /* Until windows tell. */
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

/* The stream of `from` whose load is nearest to `ideal` and below `most`: *before is the one before it. */
static bool pick(spreadPlanning *plan, unsigned from, double ideal, double most, uint32_t *before) {
    double best = -1;
    uint32_t last = NONE;
    size_t looks = 0;
    for (uint32_t i = plan->first[from]; i != NONE && looks < LOOKS_PER_MOVE; last = i, i = plan->ios[i].next) {
        double load = loadOf(plan, i), off = load > ideal ? load - ideal : ideal - load;
        looks++;
        if (load < MOVE_MIN || load >= most || (best >= 0 && off >= best)) continue;
        best = off;
        *before = last;
    }
    plan->looks += looks;
    return best >= 0;
}

/* Its streams would gain by having more threads: none makes nearly all of the load. What lies beside one that does is
 * left there: it gets its turns, and to move it would gain little and may have to be undone. */
static bool canBeSplit(const spreadPlanning *plan, unsigned t) {
    double most = 0;
    size_t looks = 0;
    for (uint32_t i = plan->first[t]; i != NONE && looks < LOOKS_PER_MOVE; i = plan->ios[i].next, looks++)
        if (loadOf(plan, i) > most) most = loadOf(plan, i);
    return looks > 0 && plan->load[t] - most >= GAP_MIN;
}

/* What `to` can give back for a stream, up to `most`: the load of its streams that fit, the heavier ones tried first.
 * With `from` they move there. */
static double giveBack(spreadPlanning *plan, unsigned to, double most, unsigned from) {
    double sum = 0;
    uint32_t before = NONE;
    size_t looks = 0, given = 0;
    for (uint32_t i = plan->first[to], next; i != NONE && looks < LOOKS_PER_MOVE && given < EXCHANGE_MAX; i = next) {
        double load = loadOf(plan, i);
        next = plan->ios[i].next;
        looks++;
        if (load < MOVE_MIN || sum + load > most) {
            before = i;
            continue;
        }
        sum += load;
        given++;
        if (from) moveBehind(plan, to, before, from);
        else before = i;
    }
    plan->looks += looks;
    return sum;
}

/* Each of the streams of `from` is larger than the gap: exchange one for some that are smaller together. */
static bool exchange(spreadPlanning *plan, unsigned from, unsigned to, double gap) {
    if (plan->count + 1 + EXCHANGE_MAX > plan->max) return false;
    double best = -1, back = 0;
    uint32_t give = NONE, before = NONE;
    size_t looks = 0;
    for (uint32_t i = plan->first[from]; i != NONE && looks < EXCHANGE_MAX; before = i, i = plan->ios[i].next) {
        double load = loadOf(plan, i);
        looks++;
        if (load < gap) continue;
        double less = load - giveBack(plan, to, load - gap / 2, 0),
               off = less > gap / 2 ? less - gap / 2 : gap / 2 - less;
        if (less < EXCHANGE_MIN || less >= gap || (best >= 0 && off >= best)) continue;
        best = off;
        give = before;
        back = load - gap / 2;
    }
    if (best < 0) return false;
    moveBehind(plan, from, give, to);
    giveBack(plan, to, back, from);
    return true;
}

/* Bring `from` closer to `to`. */
static bool shed(spreadPlanning *plan, unsigned from, unsigned to) {
    double gap = plan->load[from] - plan->load[to];
    uint32_t give = NONE;
    if (gap < GAP_MIN || !canBeSplit(plan, from)) return false;
    if (!pick(plan, from, gap / 2, gap, &give)) return exchange(plan, from, to, gap);
    moveBehind(plan, from, give, to);
    return true;
}

static bool mayGoOn(const spreadPlanning *plan) {
    return plan->count < plan->max && plan->looks < LOOKS_MAX;
}

static void relieve(spreadPlanning *plan) {
    bool no_time[BALANCE_THREADS];
    for (int t = 1; t <= plan->p->level; t++) no_time[t] = plan->load[t] >= NO_TIME;
    unsigned from;
    while (mayGoOn(plan) && (from = heaviestHot(plan)) != 0) {
        if (!no_time[from] && plan->load[from] < RELIEVED) plan->hot[from] = false;
        else if (!shed(plan, from, lightest(plan))) plan->stuck[from] = true;
    }
}

/* --- a plan: the level ----------------------------------------------------------------------------------------- */

static int threadsFor(double load, double each) {
    int n = (int)(load / each);
    return n * each < load ? n + 1 : n;
}

/* More threads, if some have no one to shed to. */
static bool goUp(spreadPlanning *plan) {
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
    if (idle == 0 && (p->asking.ns < MORE_NS || !throughputTrialMayBegin(&p->more))) return false;
    if (idle == 0) wanted = aQuarter(p->level);
    else if (wanted > idle) wanted = idle;
    int level = p->level + wanted < p->most ? p->level + wanted : p->most;
    if (idle == 0) try(p, &p->more, level, 100 + GAIN_PERCENT);
    else setLevel(p, level);
    return true;
}

/* Whether `level` threads can take what the others hold, the heavier ones first. */
static bool fits(const spreadPlanning *plan, int level) {
    double load[BALANCE_THREADS];
    for (int t = 1; t <= level; t++) load[t] = plan->load[t];
    size_t looks = 0;
    for (int t = level + 1; t <= plan->p->level; t++) {
        double left = plan->load[t];
        for (uint32_t i = plan->first[t]; i != NONE && looks < LOOKS_PER_MOVE; i = plan->ios[i].next, looks++) {
            int to = 1;
            for (int k = 2; k <= level; k++)
                if (load[k] < load[to]) to = k;
            bool alone = load[to] < GAP_MIN; /* then it may be as large as it likes */
            load[to] += loadOf(plan, i);
            left -= loadOf(plan, i);
            if (load[to] > RELIEVED && !alone) return false;
        }
        for (int k = 1; k <= level; k++) load[k] += left > 0 ? left / level : 0; /* what was not looked at */
    }
    return true;
}

static void goDown(spreadPlanning *plan) {
    balancePolicy *p = plan->p;
    double sum = 0;
    for (int t = 1; t <= p->level; t++) sum += spareLoad(plan->load[t]);
    int level = threadsFor(sum, SPARE), least = p->level - (p->level + 3) / 4;
    if (level < least) level = least;
    if (level < 1) level = 1;
    p->quiet_ns = 0; /* asked again as long later */
    for (; level < p->level; level++) {
        if (!fits(plan, level)) continue;
        setLevel(p, level);
        return;
    }
}

/* --- a plan: fairness -------------------------------------------------------------------------------------------- */

/* Streams of a thread that would take more: those that get at least half of what its greediest gets. */
typedef struct greedyOnes {
    unsigned thread;
    int count;
    double each;
    uint32_t before; /* one of them comes behind it */
} greedyOnes;

static greedyOnes greedyOf(const spreadPlanning *plan, unsigned t) {
    greedyOnes g = {.thread = t, .before = NONE};
    double most = 0, sum = 0;
    for (uint32_t i = plan->first[t]; i != NONE; i = plan->ios[i].next)
        if (loadOf(plan, i) > most) most = loadOf(plan, i);
    uint32_t last = NONE;
    for (uint32_t i = plan->first[t]; i != NONE; last = i, i = plan->ios[i].next) {
        if (loadOf(plan, i) * 2 < most) continue;
        if (g.count++ == 0) g.before = last;
        sum += loadOf(plan, i);
    }
    g.each = g.count ? sum / g.count : 0;
    return g;
}

/* A pair of threads at a time; each gives and takes one at most. */
static void evenOut(spreadPlanning *plan) {
    bool done[BALANCE_THREADS] = {false};
    while (mayGoOn(plan)) {
        greedyOnes crowded = {.count = 0}, roomy = {.count = 0};
        for (unsigned t = 1; (int)t <= plan->p->level; t++) {
            if (done[t] || plan->load[t] < NO_TIME) continue;
            greedyOnes g = greedyOf(plan, t);
            if (g.count == 0) continue;
            if (!crowded.count || g.count > crowded.count) crowded = g;
            if (!roomy.count || g.count < roomy.count) roomy = g;
        }
        if (crowded.count < roomy.count + 2 || crowded.each * FAIR_RATIO > roomy.each) return;
        moveBehind(plan, crowded.thread, crowded.before, roomy.thread);
        done[crowded.thread] = done[roomy.thread] = true;
    }
}

/* --- a plan ----------------------------------------------------------------------------------------------- */

/* Until it shows what has come of a change; and one load that nobody can divide is not to be looked at all the time. */
static void rest(balancePolicy *p, bool changed) {
    if (changed) {
        p->hot_ns = p->quiet_ns = p->again_ns = 0;
        p->asking = (throughput){0};
    } else if (p->again_ns == 0) p->again_ns = AGAIN_NS;
    else p->again_ns = p->again_ns * 2 < AGAIN_NS_MAX ? p->again_ns * 2 : AGAIN_NS_MAX;
    p->looked_ns = 0;
}

size_t balancePlan(balancePolicy *p, balanceClient *ios, size_t n, balanceMove *moves, size_t max) {
    serverAssert(p->level >= 1 && p->level <= p->most);
    spreadPlanning plan = {.p = p, .ios = ios, .moves = moves, .max = max};
    uint64_t hot_ns = p->hot_ns;
    int level = p->level;
    begin(&plan, n);
    if (hot_ns >= UP_NS) {
        relieve(&plan);
        if (mayGoOn(&plan) && goUp(&plan)) {
            for (int t = 1; t <= p->level; t++) plan.stuck[t] = false;
            relieve(&plan);
        }
        if (plan.count == 0 && p->level == p->most && hot_ns >= FAIR_NS) evenOut(&plan);
    }
    if (plan.count == 0 && p->level == level && p->quiet_ns >= DOWN_NS && !isTrying(p)) goDown(&plan);
    rest(p, plan.count > 0 || p->level != level);
    return plan.count;
}

unsigned balancePick(balancePolicy *p, const bool *may, const size_t *held, double cost) {
    unsigned best = 0;
    int best_load = 0;
    for (unsigned t = 1; (int)t <= p->level; t++) {
        if (!may[t]) continue;
        int load = (int)(loadOfThread(p, t) / GAP_MIN); /* what differs by less is equal */
        if (best && (load > best_load || (load == best_load && held[t] >= held[best]))) continue;
        best = t;
        best_load = load;
    }
    if (best) p->own[best] += cost * p->load_per_cost;
    return best;
}
