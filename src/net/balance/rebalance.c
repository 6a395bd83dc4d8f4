/* rebalance.c -- moves connections between threads, as the load requires.
 *
 * With one thread main's own owns all connections. With more threads the first I/O thread does, and also executes what
 * it reads (io_threads.c), so that an idle or lightly loaded server is served by one thread without hand-overs. When
 * that thread is busy more threads take part, up to the number of processors left beside main's; when the load falls
 * they go back to sleep.
 *
 *   level 0: there is no I/O thread.   level k: threads 1..k own all connections.
 *
 * balance_policy.c makes the decisions that need figures only; this file gathers the figures and moves connections. At
 * the end of each window of WINDOW_MS it adds up what the threads have worked. When the policy asks for it, connections
 * are surveyed: main reads the cost counted by each owner thread (client_io_internal.h), SURVEY_AT_ONCE connections per
 * window, so that a hundred thousand make no iteration long. The first survey after a pause only records the counters.
 *
 * Before all that, the handshake thread owns a connection as long as its TLS handshake lasts. If that thread has no
 * time left and there are processors for more threads, threads of the level make some handshakes themselves.
 *
 * Owns        the per-thread lists of connections; output that waits for a connection's next owner thread.
 * Threads     main; a move is IO_MSG_LEAVE, IO_MSG_LEFT, IO_MSG_JOIN.
 * Invariants  1. home is the owner thread or, while moving_to is set, the last one.
 *             2. After IO_MSG_LEAVE nothing is sent to the owner thread that a connection leaves.
 *             3. held[].arriving is the number of connections with this thread in moving_to; such a thread does not
 *                end.
 *             4. survey.clients contains no connection that was closed.
 * Tests       tests/unit/net/balance/rebalance_test.c, tests/unit/net/thread/io_threads_test.c,
 *             tests/engine/io_threads.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "rebalance.h"

#include "io_threads.h"
#include "net_settings.h"
#include "panic.h"
#include "processors.h"
#include "balance_policy.h"
#include "zmalloc.h"

#define WINDOW_MS 10
#define FULL_PERCENT 80 /* of a window: the handshake thread is near its limit */
#define HANDSHAKES_AT_ONCE 64
#define MOVES_AT_ONCE 1024 /* takes some hundreds of microseconds */
#define SURVEY_AT_ONCE 1024
#define SURVEY_STALE_MS 500 /* after this time the counters' growth says nothing about the present */
#define IDLE_CHECK_MS 100
#define CRONS_PER_CHECK 10 /* checks of the number of processors: once a second */

static_assert(BALANCE_THREADS == IO_THREADS_MAX, "the policy covers every thread that owns connections for long");

static struct {
    balancePolicy policy;
    int level;
    int processors;       /* 0: unknown yet */
    int crons;            /* calls of rebalanceCron() since the last check of the processors */
    bool misplaced;       /* threads that must not own connections may still own some */
    bool handshaker_full; /* the handshake thread was near its limit in the last window */
    uint64_t moves;       /* of connections, because of load, since startup */
    monotime window_start;
    long long commands_before;
    double idle; /* idle processors, while a thread is near its limit; -1: unknown */
    monotime idle_since;
    long long idle_ms_before;
} rebalancer;

/* Main's state of each thread, indexed by number. */
static struct {
    clientIo *ios; /* list of connections with this thread as `home` */
    size_t nclients, arriving;
    uint64_t active_ns_before, acting_ns_before;
} held[IO_THREADS_ALL];

/* The survey: connections that have had a cost, and that cost. */
static struct {
    bool under_way, warm; /* warm: the last survey is recent, so the growth of counters is meaningful */
    unsigned thread;      /* the one being surveyed */
    clientIo *at;         /* next connection */
    monotime began, began_before;
    balanceClient *ios; /* owns */
    clientIo **clients; /* owns; the same connections; NULL: closed since */
    size_t n, capacity;
} survey;

/* --- lists ------------------------------------------------------------------------------------------ */

static void linkIo(clientIo *s, ioThread *t) {
    s->home = t;
    unsigned id = ioThreadId(t);
    s->prev = NULL;
    s->next = held[id].ios;
    if (s->next) s->next->prev = s;
    held[id].ios = s;
    held[id].nclients++;
}

static void unlinkIo(clientIo *s) {
    unsigned id = ioThreadId(s->home);
    serverAssert(held[id].nclients > 0);
    serverAssert(s->prev ? s->prev->next == s : held[id].ios == s);
    if (s->prev) s->prev->next = s->next;
    else held[id].ios = s->next;
    if (s->next) s->next->prev = s->prev;
    if (survey.at == s) survey.at = s->next;
    s->prev = s->next = NULL;
    held[id].nclients--;
}

/* --- where to ---------------------------------------------------------------------------------------- */

/* Returns how many I/O threads may take part: at most one for each processor beside main's (io-threads-always-active:
 * all), at least one if there are any. */
static int levelMax(void) {
    int threads = ioThreadsCount() - 1;
    if (threads == 0 || net_settings.io_threads_always_active) return threads;
    if (!rebalancer.processors) rebalancer.processors = processorsAvailable();
    int most = rebalancer.processors > 1 ? rebalancer.processors - 1 : 1;
    return threads < most ? threads : most;
}

/* Returns the thread for a connection of this cost. */
static ioThread *leastLoaded(double cost) {
    if (rebalancer.level == 0) return ioThreadMain();
    bool may[BALANCE_THREADS] = {false};
    size_t counts[BALANCE_THREADS];
    for (int i = 1; i <= rebalancer.level; i++) {
        const ioThread *t = ioThreadGet((unsigned)i);
        may[i] = t && !ioThreadIsRetiring(t);
        counts[i] = held[i].nclients + held[i].arriving;
    }
    return ioThreadGet(balancePick(&rebalancer.policy, may, counts, cost)); /* if none, number 0: main's own */
}

static bool rebalanceFits(const ioThread *t) {
    unsigned id = ioThreadId(t);
    if (id == 0) return rebalancer.level == 0;
    return (int)id <= rebalancer.level && !ioThreadIsRetiring(t);
}

/* --- moving ------------------------------------------------------------------------------------------- */

static void rebalanceJoin(clientIo *s, ioThread *t) {
    linkIo(s, t);
    ioMessage m = {.type = IO_MSG_JOIN, .number = clientIoFlags(s), .io = s};
    ioThreadPost(t, &m);
}

/* Returns the thread that is to make the connection's handshake; NULL if the thread that will read it is to do so. */
static ioThread *handshakerFor(const clientIo *s) {
    ioThread *t = ioThreadGet(IO_THREAD_HANDSHAKER);
    if (!t || ioThreadIsRetiring(t) || !connShakesHands(s->conn)) return NULL;
    bool others = levelMax() > 1;
    return rebalancer.handshaker_full && held[IO_THREAD_HANDSHAKER].nclients >= HANDSHAKES_AT_ONCE && others ? NULL : t;
}

void rebalanceAdopt(clientIo *s) {
    assertMainRole();
    ioThread *handshaker = handshakerFor(s);
    rebalanceJoin(s, handshaker ? handshaker : leastLoaded(rebalancer.policy.cost_typical));
}

static void beginMove(clientIo *s, ioThread *to) {
    s->moving_to = to;
    held[ioThreadId(to)].arriving++;
    ioMessage m = {.type = IO_MSG_LEAVE, .io = s};
    ioThreadPost(s->home, &m);
}

static bool move(clientIo *s, ioThread *to) {
    if (s->moving_to || s->closing || s->home == to) return false;
    beginMove(s, to);
    return true;
}

static void moveForLoad(clientIo *s, ioThread *to) { rebalancer.moves += move(s, to); }

void rebalanceHandshaken(clientIo *s) {
    assertMainRole();
    move(s, leastLoaded(rebalancer.policy.cost_typical));
}

void rebalanceKeepOutput(clientIo *s, replyBlock *chain) {
    assertMainRole();
    debugAssert(s->moving_to != NULL);
    replyBlock **end = &s->held_replies;
    while (*end) end = &(*end)->next;
    *end = chain;
}

void rebalanceDetach(clientIo *s) {
    assertMainRole();
    serverAssert(!s->detached && !s->closing);
    s->detached = true;
    if (!s->moving_to) beginMove(s, s->home);
}

void rebalanceAttach(clientIo *s) {
    assertMainRole();
    serverAssert(s->detached && s->detached_here);
    s->detached = s->detached_here = false;
    rebalanceLeft(s);
}

void rebalanceLeft(clientIo *s) {
    assertMainRole();
    serverAssert(s->moving_to != NULL);
    if (unlikely(s->detached)) {
        s->detached_here = true;
        return;
    }
    unlinkIo(s);
    ioThread *to = s->moving_to;
    s->moving_to = NULL;
    serverAssert(held[ioThreadId(to)].arriving > 0);
    held[ioThreadId(to)].arriving--;
    if (!rebalanceFits(to)) to = leastLoaded(s->cost); /* the level has changed meanwhile */
    rebalanceJoin(s, to);
    if (s->closing) {
        ioMessage m = {.type = IO_MSG_CLOSE, .io = s};
        ioThreadPost(to, &m);
        return;
    }
    if (s->held_replies || s->returning) {
        ioMessage m = {.type = IO_MSG_OUTPUT,
                       .number = clientIoFlags(s),
                       .io = s,
                       .block = s->returning,
                       .reply = s->held_replies};
        s->returning = NULL;
        s->held_replies = NULL;
        ioThreadPost(to, &m);
    }
}

static bool isSurveyed(const clientIo *s) { return s->survey_index < survey.n && survey.clients[s->survey_index] == s; }

void rebalanceRemove(clientIo *s) {
    assertMainRole();
    serverAssert(s->closing && !s->moving_to);
    unlinkIo(s);
    if (isSurveyed(s)) survey.clients[s->survey_index] = NULL;
}

/* --- always active: by number ---------------------------------------------------------------------------- */

/* Returns the most connections for each thread in an equal distribution. */
static size_t fairShare(void) {
    size_t all = 0;
    for (unsigned i = 0; i < IO_THREADS_MAX; i++) all += held[i].nclients;
    return (all + (size_t)rebalancer.level - 1) / (size_t)rebalancer.level;
}

/* Distributes the connections over all threads by number, whatever the load. */
static void distributeByNumber(void) {
    size_t share = fairShare();
    size_t planned[IO_THREADS_MAX] = {0};
    for (unsigned i = 0; i < IO_THREADS_MAX; i++)
        for (const clientIo *s = held[i].ios; s; s = s->next) planned[s->moving_to ? ioThreadId(s->moving_to) : i]++;
    unsigned to = 1;
    for (unsigned i = 0; i < IO_THREADS_MAX; i++) {
        const ioThread *from = ioThreadGet(i);
        size_t stays = from && rebalanceFits(from) ? share : 0;
        for (clientIo *s = held[i].ios, *next; s && planned[i] > stays; s = next) {
            next = s->next;
            if (s->moving_to || s->closing) continue;
            while ((int)to < rebalancer.level && planned[to] >= share) to++;
            if (to == i) break;
            planned[i]--;
            planned[to]++;
            move(s, ioThreadGet(to));
        }
    }
}

/* --- threads that must not own connections ------------------------------------------------------------------ */

/* Moves connections away from such threads, a limited number so that the iteration stays short. */
static void evacuate(void) {
    size_t visits = MOVES_AT_ONCE;
    rebalancer.misplaced = false;
    for (unsigned i = 0; i < IO_THREADS_MAX; i++) {
        const ioThread *from = ioThreadGet(i);
        if (!held[i].ios || rebalanceFits(from)) continue;
        rebalancer.misplaced = true; /* until they have left */
        for (clientIo *s = held[i].ios, *next; s && visits > 0; s = next, visits--) {
            next = s->next;
            if (!s->moving_to && !s->closing) moveForLoad(s, leastLoaded(s->cost));
        }
    }
}

static void applyLevel(void) {
    int level = ioThreadsCount() > 1 ? rebalancer.policy.level : 0;
    if (level == rebalancer.level) return;
    rebalancer.level = level;
    rebalancer.misplaced = true;
}

/* Forgets all loads, as there are no I/O threads any more. */
static void resetLoads(void) {
    rebalancer.policy = (balancePolicy){0};
    rebalancer.window_start = 0;
    survey.under_way = false;
    survey.n = 0;
}

void rebalanceApply(void) {
    assertMainRole();
    if (ioThreadsCount() > 1) balanceBounds(&rebalancer.policy, levelMax(), net_settings.io_threads_always_active);
    else resetLoads();
    applyLevel();
    rebalancer.misplaced = true; /* threads may retire */
    if (rebalancer.level > 0 && net_settings.io_threads_always_active) distributeByNumber();
    evacuate();
}

void rebalanceCron(void) {
    assertMainThread();
    if (++rebalancer.crons < CRONS_PER_CHECK || ioThreadsCount() == 1) return;
    rebalancer.crons = 0;
    rebalanceProcessors(processorsAvailable());
}

void rebalanceProcessors(int n) {
    serverAssert(n >= 1);
    rebalancer.processors = n;
}

int rebalanceActiveThreads(void) {
    assertMainRole();
    return rebalancer.level + 1;
}

bool rebalanceIsIdle(const ioThread *t) {
    assertMainRole();
    return held[ioThreadId(t)].nclients == 0 && held[ioThreadId(t)].arriving == 0;
}

uint64_t rebalanceMoves(void) {
    assertMainRole();
    return rebalancer.moves;
}

bool rebalanceIsFull(void) {
    assertMainRole();
    return rebalancer.policy.full;
}

/* --- the survey ------------------------------------------------------------------------------------------------ */

static void surveyBegin(monotime now) {
    survey.began_before = survey.began;
    survey.began = now;
    survey.warm = clockTicksToNs(survey.began - survey.began_before) < SURVEY_STALE_MS * 1000000ull;
    survey.under_way = true;
    survey.thread = 0;
    survey.at = NULL;
    survey.n = 0;
}

/* Updates the connection's cost by its work since the last survey, and adds it to the survey if it has one. */
static void surveyClient(clientIo *s, double ms) {
    uint64_t work = atomic_load_explicit(&s->work, memory_order_relaxed), more = work - s->work_surveyed;
    if (isSurveyed(s)) return; /* surveyed already, on the thread that it has left */
    s->work_surveyed = work;
    double cost = (double)more / ms;
    if (s->cost > 0) cost = (cost + s->cost) / 2;
    s->cost = !survey.warm ? 0 : cost < UINT32_MAX ? (uint32_t)cost : UINT32_MAX;
    if (s->cost == 0) return;
    size_t capacity = survey.capacity; /* for both arrays */
    survey.ios = zgrowArray(survey.ios, survey.n, &capacity, sizeof(*survey.ios));
    survey.clients = zgrowArray(survey.clients, survey.n, &survey.capacity, sizeof(*survey.clients));
    s->survey_index = (uint32_t)survey.n;
    survey.clients[survey.n++] = s;
}

/* Surveys a window's share of the connections. Returns true after the last one. */
static bool surveyContinue(void) {
    double ms = (double)clockTicksToNs(survey.began - survey.began_before) / 1e6;
    for (size_t visits = 0; visits < SURVEY_AT_ONCE; visits++) {
        while (!survey.at) {
            if (++survey.thread >= IO_THREADS_MAX) return true;
            survey.at = held[survey.thread].ios;
        }
        clientIo *s = survey.at;
        survey.at = s->next;
        if (survey.at) prefetchRead(&survey.at->work);
        surveyClient(s, ms);
    }
    return false;
}

/* Removes connections that were closed meanwhile, and notes where the others are now. */
static void surveySettle(void) {
    size_t n = 0;
    for (size_t i = 0; i < survey.n; i++) {
        clientIo *s = survey.clients[i];
        if (!s || ioThreadId(s->home) == 0 || ioThreadId(s->home) >= BALANCE_THREADS) continue;
        survey.clients[n] = s;
        survey.ios[n++] = (balanceClient){.cost = s->cost,
                                          .thread = (uint16_t)ioThreadId(s->home),
                                          .stays = s->moving_to || s->closing || s->detached};
    }
    survey.n = n;
}

static void surveyFinish(void) {
    static balanceMove moves[MOVES_AT_ONCE];
    survey.under_way = false;
    surveySettle();
    size_t n = survey.warm ? balancePlan(&rebalancer.policy, survey.ios, survey.n, moves, MOVES_AT_ONCE) : 0;
    applyLevel();
    for (size_t i = 0; i < n; i++) {
        ioThread *to = ioThreadGet(moves[i].to);
        if (to && rebalanceFits(to)) moveForLoad(survey.clients[moves[i].io], to);
    }
    survey.n = 0;
}

/* --- when --------------------------------------------------------------------------------------------------------- */

/* Returns by how much a counter has grown since the last call. It may be the counter of a new thread of this number. */
static uint64_t grown(uint64_t now, uint64_t *seen) {
    uint64_t before = *seen;
    *seen = now;
    return now > before ? now - before : 0;
}

static balanceThread worked(unsigned id) {
    const ioThread *t = ioThreadGet(id);
    if (!t) return (balanceThread){0};
    return (balanceThread){.busy_ns = grown(ioThreadActiveNs(t), &held[id].active_ns_before),
                           .acting_ns = grown(ioThreadActingNs(t), &held[id].acting_ns_before)};
}

/* Measures idle processors while a thread is near its limit: after the first window, since threads may be added soon,
 * then every IDLE_CHECK_MS. The system counts in hundredths of a second, so the first value is inexact. */
static void measureIdle(monotime now, long long (*idle_ms)(void)) {
    if (rebalancer.policy.hot_ns == 0) {
        rebalancer.idle = -1;
        rebalancer.idle_since = 0;
        return;
    }
    bool first = !rebalancer.idle_since;
    uint64_t ms = first ? 0 : clockTicksToNs(now - rebalancer.idle_since) / 1000000;
    if (!first && rebalancer.idle >= 0 && ms < IDLE_CHECK_MS) return;
    long long seen = idle_ms();
    if (ms > 0 && seen >= 0 && rebalancer.idle_ms_before >= 0)
        rebalancer.idle = (double)(seen - rebalancer.idle_ms_before) / (double)ms;
    rebalancer.idle_ms_before = seen;
    rebalancer.idle_since = now;
}

static bool windowFinish(monotime now, uint64_t window_ns, const mainLoad *load) {
    balanceThread threads[BALANCE_THREADS] = {{0}};
    for (int i = 1; i < ioThreadsCount(); i++) threads[i] = worked((unsigned)i);
    rebalancer.window_start = now;
    rebalancer.handshaker_full = worked(IO_THREAD_HANDSHAKER).busy_ns * 100 / window_ns >= FULL_PERCENT;
    const balanceMachine machine = {.commands = load->commands - rebalancer.commands_before, .idle = rebalancer.idle};
    rebalancer.commands_before = load->commands;
    balanceBounds(&rebalancer.policy, levelMax(), net_settings.io_threads_always_active);
    bool survey_due = balanceWindow(&rebalancer.policy, window_ns, threads, &machine);
    measureIdle(now, load->idle_ms);
    applyLevel();
    return survey_due;
}

void rebalanceCheck(monotime now, const mainLoad *load) {
    assertMainRole();
    if (unlikely(rebalancer.misplaced)) evacuate();
    if (likely(ioThreadsCount() == 1) || now < rebalancer.window_start) return;
    uint64_t window_ns = clockTicksToNs(now - rebalancer.window_start);
    if (window_ns < WINDOW_MS * 1000000ull) return;
    bool survey_due = windowFinish(now, window_ns, load);
    if (!survey.under_way && survey_due) surveyBegin(now);
    if (survey.under_way && surveyContinue()) surveyFinish();
}
