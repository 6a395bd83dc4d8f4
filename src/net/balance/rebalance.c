/* rebalance.c -- which thread holds which stream, as the load asks for.
 *
 * With one thread main's own holds every connection. With more, the first I/O thread does, which also executes what it
 * reads (io_threads.c), so that an idle or lightly used server is served by one thread and has nothing to hand over.
 * When that one is busy more threads take part, up to the number of processors that is left beside main's; when the
 * load falls they go back to sleep.
 *
 *   level 0: there is no I/O thread.   level k: threads 1..k hold all.
 *
 * What is decided by figures alone is balance_policy.c's; here the figures are gathered and streams moved. Each window
 * of WINDOW_MS what the threads have worked is looked at. When the policy asks for it, the streams are surveyed: what
 * each holder has counted (client_io_internal.h), SURVEY_AT_ONCE of them a window, so that a hundred thousand cost
 * no turn more than that. The first survey after a while only learns where the counts stand.
 *
 * Before that a stream with a handshake to make is held by the thread that greets, as long as the handshake lasts. When
 * that one has no time left, and there are processors for more threads, some are made by the threads of the level.
 *
 * Owns        the per-thread lists of streams; output that waits for a stream's next holder.
 * Threads     main; a move is IO_MSG_LEAVE, IO_MSG_LEFT, IO_MSG_JOIN.
 * Invariants  1. home is the thread that holds the stream or, while moving_to is set, held it last.
 *             2. Behind IO_MSG_LEAVE nothing is sent to the holder that a stream leaves.
 *             3. held[].coming is the number of streams with this thread in moving_to; such a thread does not end.
 *             4. survey.who names no stream that is gone.
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
#define FULL_PERCENT 80 /* of a window: the thread that greets is near its limit */
#define GREETED_AT_ONCE 64
#define MOVES_AT_ONCE 1024 /* some hundreds of microseconds */
#define SURVEY_AT_ONCE 1024
#define SURVEY_STALE_MS 500 /* what was counted since the last one says nothing of now */
#define IDLE_LOOK_MS 100
#define CRON_PER_LOOK 10 /* at the processors: once a second */

static_assert(BALANCE_THREADS == IO_THREADS_MAX, "the policy has room for all that hold streams for long");

static struct {
    balancePolicy policy;
    int level;
    int processors;    /* 0: not known yet */
    int crons;         /* since they were looked at */
    bool misplaced;    /* there may be streams on threads that are not to hold any */
    bool greeter_full; /* was near its limit */
    uint64_t moves;    /* of streams, because of load, since the start */
    monotime window_start;
    long long commands_seen;
    double idle; /* processors, while a thread is near its limit; -1: not known */
    monotime idle_since;
    long long idle_seen_ms;
} rebalancer;

/* What main knows of each thread; by number. */
static struct {
    clientIo *ios; /* those whose home it is */
    size_t nclients, coming;
    uint64_t active_ns_seen, acting_ns_seen;
} held[IO_THREADS_ALL];

/* The survey: streams that have cost something, and what. */
static struct {
    bool under_way, warm; /* warm: the one before is not long ago, so the counts' growth says something */
    unsigned thread;      /* it has come to */
    clientIo *at;         /* next */
    monotime began, began_before;
    balanceClient *ios; /* own */
    clientIo **who;     /* the same ones; NULL: it is gone */
    size_t n, room;
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

/* I/O threads that may take part: no more than processors beside main's, at least one. */
static int levelMax(void) {
    int threads = ioThreadsCount() - 1;
    if (threads == 0 || net_settings.io_threads_always_active) return threads;
    if (!rebalancer.processors) rebalancer.processors = processorsAvailable();
    int most = rebalancer.processors > 1 ? rebalancer.processors - 1 : 1;
    return threads < most ? threads : most;
}

/* For a stream of this cost. */
static ioThread *leastLoaded(double cost) {
    if (rebalancer.level == 0) return ioThreadMain();
    bool may[BALANCE_THREADS] = {false};
    size_t counts[BALANCE_THREADS];
    for (int i = 1; i <= rebalancer.level; i++) {
        const ioThread *t = ioThreadGet((unsigned)i);
        may[i] = t && !ioThreadIsRetiring(t);
        counts[i] = held[i].nclients + held[i].coming;
    }
    return ioThreadGet(balancePick(&rebalancer.policy, may, counts, cost)); /* number 0 is main's own */
}

static bool fits(const ioThread *t) {
    unsigned id = ioThreadId(t);
    if (id == 0) return rebalancer.level == 0;
    return (int)id <= rebalancer.level && !ioThreadIsRetiring(t);
}

/* --- moving ------------------------------------------------------------------------------------------- */

static void join(clientIo *s, ioThread *t) {
    linkIo(s, t);
    ioMessage m = {.type = IO_MSG_JOIN, .io = s};
    if (s->admitted) m.number |= CLIENT_STREAM_ADMITTED;
    if (s->session && s->session->authenticated) m.number |= CLIENT_STREAM_AUTHENTICATED;
    ioThreadPost(t, &m);
}

/* NULL: the stream is for the thread that will read it. */
static ioThread *handshakerFor(const clientIo *s) {
    ioThread *t = ioThreadGet(IO_THREAD_GREETER);
    if (!t || ioThreadIsRetiring(t) || !connShakesHands(s->conn)) return NULL;
    bool others = levelMax() > 1;
    return rebalancer.greeter_full && held[IO_THREAD_GREETER].nclients >= GREETED_AT_ONCE && others ? NULL : t;
}

void rebalanceAdopt(clientIo *s) {
    assertMainRole();
    ioThread *handshaker = handshakerFor(s);
    join(s, handshaker ? handshaker : leastLoaded(rebalancer.policy.cost_typical));
}

static void leaveFor(clientIo *s, ioThread *to) {
    s->moving_to = to;
    held[ioThreadId(to)].coming++;
    ioMessage m = {.type = IO_MSG_LEAVE, .io = s};
    ioThreadPost(s->home, &m);
}

static bool move(clientIo *s, ioThread *to) {
    if (s->moving_to || s->closing || s->home == to) return false;
    leaveFor(s, to);
    return true;
}

static void moveForLoad(clientIo *s, ioThread *to) {
    rebalancer.moves += move(s, to);
}

void rebalanceGreeted(clientIo *s) {
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
    if (!s->moving_to) leaveFor(s, s->home);
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
    serverAssert(held[ioThreadId(to)].coming > 0);
    held[ioThreadId(to)].coming--;
    if (!fits(to)) to = leastLoaded(s->cost); /* the load has changed meanwhile */
    join(s, to);
    if (s->closing) {
        ioMessage m = {.type = IO_MSG_CLOSE, .io = s};
        ioThreadPost(to, &m);
        return;
    }
    if (s->held_replies || s->returning) {
        ioMessage m = {.type = IO_MSG_OUTPUT, .io = s, .block = s->returning, .reply = s->held_replies};
        if (s->admitted) m.number |= CLIENT_STREAM_ADMITTED;
        if (s->session->authenticated) m.number |= CLIENT_STREAM_AUTHENTICATED;
        s->returning = NULL;
        s->held_replies = NULL;
        ioThreadPost(to, &m);
    }
}

static bool isSurveyed(const clientIo *s) {
    return s->looked_at < survey.n && survey.who[s->looked_at] == s;
}

void rebalanceForget(clientIo *s) {
    assertMainRole();
    serverAssert(s->closing && !s->moving_to);
    unlinkIo(s);
    if (isSurveyed(s)) survey.who[s->looked_at] = NULL;
}

/* --- always active: by number ---------------------------------------------------------------------------- */

/* Streams each thread should hold at most, rounded up. */
static size_t fairShare(void) {
    size_t all = 0;
    for (unsigned i = 0; i < IO_THREADS_MAX; i++) all += held[i].nclients;
    return (all + (size_t)rebalancer.level - 1) / (size_t)rebalancer.level;
}

/* All threads are to be used at once, whatever the load. */
static void spreadByNumber(void) {
    size_t share = fairShare();
    size_t planned[IO_THREADS_MAX] = {0};
    for (unsigned i = 0; i < IO_THREADS_MAX; i++)
        for (const clientIo *s = held[i].ios; s; s = s->next) planned[s->moving_to ? ioThreadId(s->moving_to) : i]++;
    unsigned to = 1;
    for (unsigned i = 0; i < IO_THREADS_MAX; i++) {
        const ioThread *from = ioThreadGet(i);
        size_t stays = from && fits(from) ? share : 0;
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

/* --- threads that are not to hold any ----------------------------------------------------------------------- */

/* Some of what they hold, so that a turn stays short. */
static void evacuate(void) {
    size_t looks = MOVES_AT_ONCE;
    rebalancer.misplaced = false;
    for (unsigned i = 0; i < IO_THREADS_MAX; i++) {
        const ioThread *from = ioThreadGet(i);
        if (!held[i].ios || fits(from)) continue;
        rebalancer.misplaced = true; /* until they have left */
        for (clientIo *s = held[i].ios, *next; s && looks > 0; s = next, looks--) {
            next = s->next;
            if (!s->moving_to && !s->closing) moveForLoad(s, leastLoaded(s->cost));
        }
    }
}

static void takeLevel(void) {
    int level = ioThreadsCount() > 1 ? rebalancer.policy.level : 0;
    if (level == rebalancer.level) return;
    rebalancer.level = level;
    rebalancer.misplaced = true;
}

/* There are no threads any more: whatever comes later begins anew. */
static void forgetLoads(void) {
    rebalancer.policy = (balancePolicy){0};
    rebalancer.window_start = 0;
    survey.under_way = false;
    survey.n = 0;
}

void rebalanceApply(void) {
    assertMainRole();
    if (ioThreadsCount() > 1) balanceBounds(&rebalancer.policy, levelMax(), net_settings.io_threads_always_active);
    else forgetLoads();
    takeLevel();
    rebalancer.misplaced = true; /* threads may retire */
    if (rebalancer.level > 0 && net_settings.io_threads_always_active) spreadByNumber();
    evacuate();
}

void rebalanceCron(void) {
    assertMainThread();
    if (++rebalancer.crons < CRON_PER_LOOK || ioThreadsCount() == 1) return;
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
    return held[ioThreadId(t)].nclients == 0 && held[ioThreadId(t)].coming == 0;
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

/* What it has cost since the last one. */
static void lookAt(clientIo *s, double ms) {
    uint64_t work = atomic_load_explicit(&s->work, memory_order_relaxed), more = work - s->work_seen;
    if (isSurveyed(s)) return; /* it has moved to a thread that was still to be looked at */
    s->work_seen = work;
    double cost = (double)more / ms;
    if (s->cost > 0) cost = (cost + s->cost) / 2;
    s->cost = !survey.warm ? 0 : cost < UINT32_MAX ? (uint32_t)cost : UINT32_MAX;
    if (s->cost == 0) return;
    size_t room = survey.room; /* of both arrays */
    survey.ios = zgrowArray(survey.ios, survey.n, &room, sizeof(*survey.ios));
    survey.who = zgrowArray(survey.who, survey.n, &survey.room, sizeof(*survey.who));
    s->looked_at = (uint32_t)survey.n;
    survey.who[survey.n++] = s;
}

/* A window's part of it. True when all were looked at. */
static bool surveyGoesOn(void) {
    double ms = (double)clockTicksToNs(survey.began - survey.began_before) / 1e6;
    for (size_t looks = 0; looks < SURVEY_AT_ONCE; looks++) {
        while (!survey.at) {
            if (++survey.thread >= IO_THREADS_MAX) return true;
            survey.at = held[survey.thread].ios;
        }
        clientIo *s = survey.at;
        survey.at = s->next;
        if (survey.at) prefetchRead(&survey.at->work);
        lookAt(s, ms);
    }
    return false;
}

/* Some have gone or moved since they were looked at. */
static void surveySettle(void) {
    size_t n = 0;
    for (size_t i = 0; i < survey.n; i++) {
        clientIo *s = survey.who[i];
        if (!s || ioThreadId(s->home) == 0 || ioThreadId(s->home) >= BALANCE_THREADS) continue;
        survey.who[n] = s;
        survey.ios[n++] = (balanceClient){.cost = s->cost,
                                          .thread = (uint16_t)ioThreadId(s->home),
                                          .stays = s->moving_to || s->closing || s->detached};
    }
    survey.n = n;
}

static void surveyEnds(void) {
    static balanceMove moves[MOVES_AT_ONCE];
    survey.under_way = false;
    surveySettle();
    size_t n = survey.warm ? balancePlan(&rebalancer.policy, survey.ios, survey.n, moves, MOVES_AT_ONCE) : 0;
    takeLevel();
    for (size_t i = 0; i < n; i++) {
        ioThread *to = ioThreadGet(moves[i].to);
        if (to && fits(to)) moveForLoad(survey.who[moves[i].io], to);
    }
    survey.n = 0;
}

/* --- when --------------------------------------------------------------------------------------------------------- */

/* What a counter has grown since it was asked last; it may be that of another thread of this number. */
static uint64_t grown(uint64_t now, uint64_t *seen) {
    uint64_t before = *seen;
    *seen = now;
    return now > before ? now - before : 0;
}

static balanceThread worked(unsigned id) {
    const ioThread *t = ioThreadGet(id);
    if (!t) return (balanceThread){0};
    return (balanceThread){.busy_ns = grown(ioThreadActiveNs(t), &held[id].active_ns_seen),
                           .acting_ns = grown(ioThreadActingNs(t), &held[id].acting_ns_seen)};
}

/* Asked while a thread is near its limit: after a window, as more threads may be taken soon, then each IDLE_LOOK_MS.
 * The system counts in hundredths of a second, so the first answer is a rough one. */
static void lookForIdle(monotime now, long long (*idle_ms)(void)) {
    if (rebalancer.policy.hot_ns == 0) {
        rebalancer.idle = -1;
        rebalancer.idle_since = 0;
        return;
    }
    bool first = !rebalancer.idle_since;
    uint64_t ms = first ? 0 : clockTicksToNs(now - rebalancer.idle_since) / 1000000;
    if (!first && rebalancer.idle >= 0 && ms < IDLE_LOOK_MS) return;
    long long seen = idle_ms();
    if (ms > 0 && seen >= 0 && rebalancer.idle_seen_ms >= 0)
        rebalancer.idle = (double)(seen - rebalancer.idle_seen_ms) / (double)ms;
    rebalancer.idle_seen_ms = seen;
    rebalancer.idle_since = now;
}

static bool windowEnds(monotime now, uint64_t window_ns, const mainLoad *load) {
    balanceThread threads[BALANCE_THREADS] = {{0}};
    for (int i = 1; i < ioThreadsCount(); i++) threads[i] = worked((unsigned)i);
    rebalancer.window_start = now;
    rebalancer.greeter_full = worked(IO_THREAD_GREETER).busy_ns * 100 / window_ns >= FULL_PERCENT;
    const balanceMachine machine = {.commands = load->commands - rebalancer.commands_seen, .idle = rebalancer.idle};
    rebalancer.commands_seen = load->commands;
    balanceBounds(&rebalancer.policy, levelMax(), net_settings.io_threads_always_active);
    bool look = balanceWindow(&rebalancer.policy, window_ns, threads, &machine);
    lookForIdle(now, load->idle_ms);
    takeLevel();
    return look;
}

void rebalanceCheck(monotime now, const mainLoad *load) {
    assertMainRole();
    if (unlikely(rebalancer.misplaced)) evacuate();
    if (likely(ioThreadsCount() == 1) || now < rebalancer.window_start) return;
    uint64_t window_ns = clockTicksToNs(now - rebalancer.window_start);
    if (window_ns < WINDOW_MS * 1000000ull) return;
    bool look = windowEnds(now, window_ns, load);
    if (!survey.under_way && look) surveyBegin(now);
    if (survey.under_way && surveyGoesOn()) surveyEnds();
}
