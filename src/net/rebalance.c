/* rebalance.c -- which thread holds which stream, as the load asks for.
 *
 * An idle or lightly used server serves every connection on main: no hand-over, no second thread to wake.
 * When main is busy, all streams go to I/O threads; when those are busy, more threads take part, up to the
 * number of processors that is left beside main; when the load falls, threads go back to sleep one by one, and at last
 * main takes the streams back.
 *
 *   level 0: main holds all.   level k: threads 1..k hold all, evenly.
 *
 * Measured over windows of WINDOW_MS. Going up needs UP_WINDOWS busy ones in a row, going down DOWN_WINDOWS quiet
 * ones, so that a load at the edge does not swing.
 *
 * Owns        the per-thread lists of streams.
 * Threads     main; a move is MSG_LEAVE, MSG_LEFT, MSG_JOIN.
 * Invariants  1. home is the thread that holds the stream or, while moving_to is set, held it last.
 *             2. No message but MSG_LEAVE is under way to a holder that a stream leaves.
 * Tests       tests/unit/net/io_threads_test.c, tests/engine/io_threads.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "rebalance.h"

#include "net_settings.h"
#include "panic.h"

#include <sched.h>

#define WINDOW_MS 10
#define BUSY_PERCENT 60 /* of a window: main is busy; threads: they are near their limit at 80 */
#define FULL_PERCENT 80
#define QUIET_PERCENT 30
#define UP_WINDOWS 2
#define DOWN_WINDOWS 100 /* a second */

static struct {
    int level, up_windows, down_windows;
    monotime window_start;
    uint64_t main_busy_seen;
} state;

/* --- lists ------------------------------------------------------------------------------------------ */

static void linkStream(clientStream *s, ioThread *t) {
    s->home = t;
    s->prev = NULL;
    s->next = t->streams;
    if (t->streams) t->streams->prev = s;
    t->streams = s;
    t->nstreams++;
}

static void unlinkStream(clientStream *s) {
    ioThread *t = s->home;
    if (s->prev) s->prev->next = s->next;
    else t->streams = s->next;
    if (s->next) s->next->prev = s->prev;
    s->prev = s->next = NULL;
    t->nstreams--;
}

/* --- where to ---------------------------------------------------------------------------------------- */

/* I/O threads that may take part: no more than processors beside main's, at least one. */
static int levelMax(void) {
    int threads = ioThreadsCount() - 1;
    if (threads == 0 || net_conf.io_threads_always_active) return threads;
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
    for (int i = 1; i <= state.level; i++) {
        ioThread *t = ioThreadGet((unsigned)i);
        if (t && !t->retiring && (!best || t->nstreams < best->nstreams)) best = t;
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
    if (t->id == 0) return state.level == 0;
    return (int)t->id <= state.level && !t->retiring;
}

/* --- moving ------------------------------------------------------------------------------------------- */

static void join(clientStream *s, ioThread *t) {
    linkStream(s, t);
    ioMessage m = {.type = MSG_JOIN, .stream = s};
    if (s->session && s->session->authenticated) m.number = STREAM_AUTHENTICATED;
    ioThreadPost(t, &m);
}

void rebalanceAdopt(clientStream *s) {
    join(s, leastLoaded());
}

static void move(clientStream *s, ioThread *to) {
    if (s->moving_to || s->closing || s->home == to) return;
    s->moving_to = to;
    ioMessage m = {.type = MSG_LEAVE, .stream = s};
    ioThreadPost(s->home, &m);
}

void rebalanceLeft(clientStream *s) {
    unlinkStream(s);
    ioThread *to = s->moving_to;
    s->moving_to = NULL;
    if (!runs(to) || !fits(to)) to = leastLoaded(); /* the load has changed meanwhile */
    join(s, to);
    if (s->closing) {
        ioMessage m = {.type = MSG_CLOSE, .stream = s};
        ioThreadPost(to, &m);
        return;
    }
    if (s->held_replies || s->returning) {
        ioMessage m = {.type = MSG_OUTPUT, .stream = s, .block = s->returning, .reply = s->held_replies};
        if (s->session->authenticated) m.number = STREAM_AUTHENTICATED;
        s->returning = NULL;
        s->held_replies = NULL;
        ioThreadPost(to, &m);
    }
    if (s->drain_sent) {
        ioMessage m = {.type = MSG_DRAIN, .stream = s};
        ioThreadPost(to, &m);
    }
}

void rebalanceForget(clientStream *s) {
    unlinkStream(s);
}

/* Streams each thread should hold at most, rounded up. */
static size_t fairShare(void) {
    size_t all = 0;
    for (unsigned i = 0; i < IO_THREADS_MAX; i++) {
        const ioThread *t = ioThreadGet(i);
        if (t) all += t->nstreams;
    }
    size_t threads = state.level ? (size_t)state.level : 1;
    return (all + threads - 1) / threads;
}

/* A thread of the level that holds, and is about to hold, fewer streams than its share; `planned` counts both. */
static ioThread *withRoom(const size_t *planned, size_t share) {
    for (int i = 1; i <= state.level; i++) {
        ioThread *t = ioThreadGet((unsigned)i);
        if (t && !t->retiring && planned[i] < share) return t;
    }
    return ioThreadMain();
}

/* Bring every stream to where the level wants it. */
static void spread(void) {
    size_t share = fairShare(), planned[IO_THREADS_MAX] = {0};
    for (unsigned i = 0; i < IO_THREADS_MAX; i++) {
        ioThread *t = ioThreadGet(i);
        for (const clientStream *s = t ? t->streams : NULL; s; s = s->next)
            planned[s->moving_to && runs(s->moving_to) ? s->moving_to->id : i]++;
    }
    for (unsigned i = 0; i < IO_THREADS_MAX; i++) {
        ioThread *from = ioThreadGet(i);
        if (!from) continue;
        size_t stays = fits(from) ? share : 0;
        clientStream *next;
        for (clientStream *s = from->streams; s && planned[i] > stays; s = next) {
            next = s->next;
            if (s->moving_to || s->closing) continue;
            ioThread *to = state.level ? withRoom(planned, share) : ioThreadMain();
            if (to == from) break;
            planned[i]--;
            planned[to->id]++;
            move(s, to);
        }
    }
}

static void setLevel(int level) {
    state.up_windows = state.down_windows = 0;
    if (level == state.level) return;
    state.level = level;
    spread();
}

void rebalanceApply(void) {
    int most = levelMax();
    if (net_conf.io_threads_always_active) setLevel(most);
    else if (state.level > most) setLevel(most);
    spread();
}

int rebalanceActiveThreads(void) {
    return state.level + 1;
}

/* --- when --------------------------------------------------------------------------------------------- */

/* Work of I/O threads in the window, in percent of one thread. */
static unsigned threadsBusy(uint64_t window_ns) {
    uint64_t sum = 0;
    for (int i = 1; i < ioThreadsCount(); i++) {
        ioThread *t = ioThreadGet((unsigned)i);
        if (!t) continue;
        uint64_t ns = ioThreadActiveNs(t);
        sum += ns - t->active_ns_seen;
        t->active_ns_seen = ns;
    }
    return (unsigned)(sum * 100 / window_ns);
}

static bool wantsMore(unsigned main_busy, unsigned threads_busy) {
    if (state.level == 0) return main_busy >= BUSY_PERCENT;
    return threads_busy >= FULL_PERCENT * (unsigned)state.level;
}

static bool wantsLess(unsigned main_busy, unsigned threads_busy) {
    if (state.level == 0) return false;
    if (state.level == 1) return main_busy + threads_busy < QUIET_PERCENT;
    return threads_busy < FULL_PERCENT / 2 * (unsigned)(state.level - 1);
}

void rebalanceCheck(monotime now, uint64_t main_busy_ns) {
    if (likely(ioThreadsCount() == 1) || net_conf.io_threads_always_active) return;
    uint64_t window_ns = clockTicksToNs(now - state.window_start);
    if (window_ns < WINDOW_MS * 1000000ull) return;
    unsigned main_busy = (unsigned)((main_busy_ns - state.main_busy_seen) * 100 / window_ns);
    unsigned threads_busy = threadsBusy(window_ns);
    state.window_start = now;
    state.main_busy_seen = main_busy_ns;
    state.up_windows = wantsMore(main_busy, threads_busy) ? state.up_windows + 1 : 0;
    state.down_windows = wantsLess(main_busy, threads_busy) ? state.down_windows + 1 : 0;
    if (state.up_windows >= UP_WINDOWS && state.level < levelMax()) setLevel(state.level + 1);
    else if (state.down_windows >= DOWN_WINDOWS) setLevel(state.level - 1);
}
