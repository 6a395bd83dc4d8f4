/* rebalance.c -- which thread holds which stream, as the load asks for.
 *
 * With one thread main's own holds every connection. With more, the first I/O thread does, which also executes what it
 * reads (io_threads.c), so that an idle or lightly used server is served by one thread and has nothing to hand over.
 * When that one is busy more threads take part, up to the number of processors that is left beside main's; when the
 * load falls they go back to sleep one by one.
 *
 *   level 0: there is no I/O thread.   level k: threads 1..k hold all, evenly.
 *
 * Before that a stream with a handshake to make is held by the thread that greets, as long as the handshake lasts. When
 * that one has no time left, and there are processors for more threads, some are made by the threads of the level.
 *
 * Measured over windows of WINDOW_MS. Going up needs UP_WINDOWS busy ones in a row, going down DOWN_WINDOWS quiet
 * ones, so that a load at the edge does not swing.
 *
 * Owns        the per-thread lists of streams; output that waits for a stream's next holder.
 * Threads     main; a move is IO_MSG_LEAVE, IO_MSG_LEFT, IO_MSG_JOIN.
 * Invariants  1. home is the thread that holds the stream or, while moving_to is set, held it last.
 *             2. Behind IO_MSG_LEAVE nothing is sent to the holder that a stream leaves.
 * Tests       tests/unit/net/io_threads_test.c, tests/engine/io_threads.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "rebalance.h"

#include "io_threads.h"
#include "net_settings.h"
#include "panic.h"

#include <sched.h>

#define WINDOW_MS 10
#define FULL_PERCENT 80 /* of a window: a thread is near its limit */
#define UP_WINDOWS 2
#define DOWN_WINDOWS 100 /* a second */
#define GREETED_AT_ONCE 64

static struct {
    int level, up_windows, down_windows;
    bool full;         /* all threads that may take part do, and were near their limit in the last window */
    bool greeter_full; /* was near its limit */
    monotime window_start;
} rebalancer;

/* What main knows of each thread; by number. */
static struct {
    clientStream *streams; /* those whose home it is */
    size_t nstreams;
    uint64_t active_ns_seen;
} held[IO_THREADS_ALL];

/* --- lists ------------------------------------------------------------------------------------------ */

static void linkStream(clientStream *s, ioThread *t) {
    s->home = t;
    unsigned id = ioThreadId(t);
    s->prev = NULL;
    s->next = held[id].streams;
    if (s->next) s->next->prev = s;
    held[id].streams = s;
    held[id].nstreams++;
}

static void unlinkStream(clientStream *s) {
    unsigned id = ioThreadId(s->home);
    serverAssert(held[id].nstreams > 0);
    serverAssert(s->prev ? s->prev->next == s : held[id].streams == s);
    if (s->prev) s->prev->next = s->next;
    else held[id].streams = s->next;
    if (s->next) s->next->prev = s->prev;
    s->prev = s->next = NULL;
    held[id].nstreams--;
}

/* --- where to ---------------------------------------------------------------------------------------- */

/* I/O threads that may take part: no more than processors beside main's, at least one. */
static int levelMax(void) {
    int threads = ioThreadsCount() - 1;
    if (threads == 0 || net_settings.io_threads_always_active) return threads;
    static int cpus;
    if (!cpus) {
        cpu_set_t set;
        cpus = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
    }
    int most = cpus > 1 ? cpus - 1 : 1;
    return threads < most ? threads : most;
}

static ioThread *leastLoaded(void) {
    ioThread *best = NULL;
    for (int i = 1; i <= rebalancer.level; i++) {
        ioThread *t = ioThreadGet((unsigned)i);
        if (!t || ioThreadIsRetiring(t)) continue;
        if (!best || held[i].nstreams < held[ioThreadId(best)].nstreams) best = t;
    }
    return best ? best : ioThreadMain();
}

/* `t` may have ended since it was chosen: only its address is looked at until it is found. */
static bool runs(const ioThread *t) {
    for (unsigned i = 0; i < IO_THREADS_MAX; i++)
        if (ioThreadGet(i) == t) return true;
    return false;
}

static bool fits(const ioThread *t) {
    unsigned id = ioThreadId(t);
    if (id == 0) return rebalancer.level == 0;
    return (int)id <= rebalancer.level && !ioThreadIsRetiring(t);
}

/* --- moving ------------------------------------------------------------------------------------------- */

static void join(clientStream *s, ioThread *t) {
    linkStream(s, t);
    ioMessage m = {.type = IO_MSG_JOIN, .stream = s};
    if (s->admitted) m.number |= CLIENT_STREAM_ADMITTED;
    if (s->session && s->session->authenticated) m.number |= CLIENT_STREAM_AUTHENTICATED;
    ioThreadPost(t, &m);
}

/* NULL: the stream is for the thread that will read it. */
static ioThread *greeterFor(const clientStream *s) {
    ioThread *t = ioThreadGet(IO_THREAD_GREETER);
    if (!t || ioThreadIsRetiring(t) || !connShakesHands(s->conn)) return NULL;
    bool others = levelMax() > 1;
    return rebalancer.greeter_full && held[IO_THREAD_GREETER].nstreams >= GREETED_AT_ONCE && others ? NULL : t;
}

void rebalanceAdopt(clientStream *s) {
    assertMainRole();
    ioThread *greeter = greeterFor(s);
    join(s, greeter ? greeter : leastLoaded());
}

static void move(clientStream *s, ioThread *to) {
    if (s->moving_to || s->closing || s->home == to) return;
    s->moving_to = to;
    ioMessage m = {.type = IO_MSG_LEAVE, .stream = s};
    ioThreadPost(s->home, &m);
}

void rebalanceGreeted(clientStream *s) {
    assertMainRole();
    move(s, leastLoaded());
}

void rebalanceKeepOutput(clientStream *s, replyBlock *chain) {
    assertMainRole();
    debugAssert(s->moving_to != NULL);
    replyBlock **end = &s->held_replies;
    while (*end) end = &(*end)->next;
    *end = chain;
}

void rebalanceLend(clientStream *s) {
    assertMainRole();
    serverAssert(!s->lent && !s->closing);
    s->lent = true;
    if (s->moving_to) return; /* it is about to be let go */
    s->moving_to = s->home;
    ioMessage m = {.type = IO_MSG_LEAVE, .stream = s};
    ioThreadPost(s->home, &m);
}

void rebalanceReturn(clientStream *s) {
    assertMainRole();
    serverAssert(s->lent && s->lent_here);
    s->lent = s->lent_here = false;
    rebalanceLeft(s);
}

void rebalanceLeft(clientStream *s) {
    assertMainRole();
    serverAssert(s->moving_to != NULL);
    if (unlikely(s->lent)) {
        s->lent_here = true;
        return;
    }
    unlinkStream(s);
    ioThread *to = s->moving_to;
    s->moving_to = NULL;
    if (!runs(to) || !fits(to)) to = leastLoaded(); /* the load has changed meanwhile */
    join(s, to);
    if (s->closing) {
        ioMessage m = {.type = IO_MSG_CLOSE, .stream = s};
        ioThreadPost(to, &m);
        return;
    }
    if (s->held_replies || s->returning) {
        ioMessage m = {.type = IO_MSG_OUTPUT, .stream = s, .block = s->returning, .reply = s->held_replies};
        if (s->admitted) m.number |= CLIENT_STREAM_ADMITTED;
        if (s->session->authenticated) m.number |= CLIENT_STREAM_AUTHENTICATED;
        s->returning = NULL;
        s->held_replies = NULL;
        ioThreadPost(to, &m);
    }
}

void rebalanceForget(clientStream *s) {
    assertMainRole();
    serverAssert(s->closing && !s->moving_to);
    unlinkStream(s);
}

/* Streams each thread should hold at most, rounded up. */
static size_t fairShare(void) {
    size_t all = 0;
    for (unsigned i = 0; i < IO_THREADS_MAX; i++) all += held[i].nstreams;
    size_t threads = rebalancer.level ? (size_t)rebalancer.level : 1;
    return (all + threads - 1) / threads;
}

/* A thread of the level that holds, and is about to hold, fewer streams than its share; `planned` counts both. */
static ioThread *withRoom(const size_t *planned, size_t share) {
    for (int i = 1; i <= rebalancer.level; i++) {
        ioThread *t = ioThreadGet((unsigned)i);
        if (t && !ioThreadIsRetiring(t) && planned[i] < share) return t;
    }
    return leastLoaded();
}

/* Bring every stream to where the level wants it. */
static void spread(void) {
    size_t share = fairShare(), planned[IO_THREADS_MAX] = {0};
    for (unsigned i = 0; i < IO_THREADS_MAX; i++) {
        for (const clientStream *s = held[i].streams; s; s = s->next)
            planned[s->moving_to && runs(s->moving_to) ? ioThreadId(s->moving_to) : i]++;
    }
    for (unsigned i = 0; i < IO_THREADS_MAX; i++) {
        ioThread *from = ioThreadGet(i);
        if (!from) continue;
        size_t stays = fits(from) ? share : 0;
        clientStream *next;
        for (clientStream *s = held[i].streams; s && planned[i] > stays; s = next) {
            next = s->next;
            if (s->moving_to || s->closing) continue;
            ioThread *to = rebalancer.level ? withRoom(planned, share) : ioThreadMain();
            if (to == from) break;
            planned[i]--;
            planned[ioThreadId(to)]++;
            move(s, to);
        }
    }
}

static void setLevel(int level) {
    serverAssert(level >= 0 && level < ioThreadsCount());
    rebalancer.up_windows = rebalancer.down_windows = 0;
    if (level == rebalancer.level) return;
    rebalancer.level = level;
    spread();
}

void rebalanceApply(void) {
    assertMainRole();
    int most = levelMax(), least = ioThreadsCount() > 1;
    if (net_settings.io_threads_always_active || rebalancer.level > most) setLevel(most);
    else if (rebalancer.level < least) setLevel(least);
    spread();
}

int rebalanceActiveThreads(void) {
    assertMainRole();
    return rebalancer.level + 1;
}

bool rebalanceIsIdle(const ioThread *t) {
    assertMainRole();
    return held[ioThreadId(t)].nstreams == 0;
}

bool rebalanceIsFull(void) {
    assertMainRole();
    return rebalancer.full;
}

/* --- when --------------------------------------------------------------------------------------------- */

/* What a thread has worked since it was asked last. */
static uint64_t workedNs(unsigned id) {
    const ioThread *t = ioThreadGet(id);
    if (!t) return 0;
    uint64_t before = held[id].active_ns_seen, ns = ioThreadActiveNs(t);
    held[id].active_ns_seen = ns;
    return ns > before ? ns - before : 0; /* it may be another thread of this number */
}

/* Work of I/O threads in the window, in percent of one thread. */
static unsigned threadsBusy(uint64_t window_ns) {
    uint64_t sum = 0;
    for (int i = 1; i < ioThreadsCount(); i++) sum += workedNs((unsigned)i);
    return (unsigned)(sum * 100 / window_ns);
}

static bool wantsLess(unsigned busy) {
    return rebalancer.level > 1 && busy < FULL_PERCENT / 2 * (unsigned)(rebalancer.level - 1);
}

void rebalanceCheck(monotime now) {
    assertMainRole();
    if (likely(ioThreadsCount() == 1)) return;
    uint64_t window_ns = clockTicksToNs(now - rebalancer.window_start);
    if (window_ns < WINDOW_MS * 1000000ull) return;
    unsigned busy = threadsBusy(window_ns);
    bool full = busy >= FULL_PERCENT * (unsigned)rebalancer.level;
    int most = levelMax();
    rebalancer.window_start = now;
    rebalancer.full = full && rebalancer.level >= most;
    rebalancer.greeter_full = workedNs(IO_THREAD_GREETER) * 100 / window_ns >= FULL_PERCENT;
    if (net_settings.io_threads_always_active) return;
    rebalancer.up_windows = full ? rebalancer.up_windows + 1 : 0;
    rebalancer.down_windows = wantsLess(busy) ? rebalancer.down_windows + 1 : 0;
    if (rebalancer.up_windows >= UP_WINDOWS && rebalancer.level < most) setLevel(rebalancer.level + 1);
    else if (rebalancer.down_windows >= DOWN_WINDOWS) setLevel(rebalancer.level - 1);
}
