/* hot_keys.c -- finds the keys that take the most time and the most bytes, from a sample of the commands.
 *
 *     thread that reads            main                        thread that reads
 *     hotKeysPick()          ->    hotKeysRan()          ->    hotKeysCount()
 *     a requestSample in front     ns and bytes into it        for each key: heavyHittersAdd()
 *     of the record's keys
 *
 * Main has a collector of its own for commands that such a thread does not see again: those that a transaction or a
 * blocked client has kept longer than their block. Commands of a script count as part of the command that runs it.
 *
 * A session lasts from one hotKeysBegin() to the next. A collector belongs to one session. When its thread counts or
 * picks a sample of another session, the collector discards its counts.
 *
 * Not here    HOTKEYS and its replies (hot_keys_cmd.c), how keys are counted in little memory (ds/heavy_hitters.c).
 * Owns        main's collector; the list of all collectors with counts.
 * Threads     as the header says. No other lock is taken while `lock` is held. It is held for microseconds, and to
 *             merge all lists for some milliseconds with hundreds of threads. No command's path takes it.
 * Invariants  1. A collector is in the list iff it has a heavyHitters.
 *             2. Only its thread, or main when that has ended, changes a collector.
 * Cost        nothing tracked: one branch a block for the thread that reads, none for main. Tracked: some ten
 *             instructions a block, some ten a command for main; docs/design/hot_keys.md has the figures.
 * Tests       tests/unit/engine/observe/hot_keys_test.c, tests/server/hotkeys.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "hot_keys.h"

#include "call_after.h"
#include "panic.h"
#include "rng.h"
#include "zmalloc.h"

#include <pthread.h>

_Atomic uint32_t hot_keys_session;
hotKeysTotals hot_keys_totals;

static struct {
    pthread_mutex_t lock;
    hotCollector *first;        /* under lock: the list of all collectors with counts */
    _Atomic uint32_t counted;   /* atomic, relaxed: the session that is counted:
                               * hot_keys_session, or the last one if that is 0 */
    _Atomic unsigned metrics;   /* atomic: published by hot_keys_session */
    _Atomic uint64_t ratio;     /* atomic: published by hot_keys_session */
    uint32_t last;              /* main: the number of the last session */
    hotCollector mains;         /* main */
    void (*tidy_threads)(void); /* const after startup */
    void (*gather)(void);       /* const after startup */
} hot = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* --- a collector ---------------------------------------------------------------------------------------- */

/* Call with the lock held. */
static void listAdd(hotCollector *hc) {
    hc->prev = NULL;
    hc->next = hot.first;
    if (hot.first) hot.first->prev = hc;
    hot.first = hc;
}

static bool isInList(const hotCollector *hc) {
    for (int m = 0; m < HOT_KEYS_METRICS; m++)
        if (hc->by[m]) return true;
    return false;
}

static void listRemove(hotCollector *hc) {
    debugAssert(hc->prev ? hc->prev->next == hc : hot.first == hc);
    if (hc->prev) hc->prev->next = hc->next;
    else hot.first = hc->next;
    if (hc->next) hc->next->prev = hc->prev;
}

/* Returns the number of commands to the next one to pick. It is random: if every `ratio`-th command were picked, a
 * client that repeats a few commands in the same order might have the same one picked each time. */
static uint64_t nextGap(void) {
    uint64_t ratio = atomic_load_explicit(&hot.ratio, memory_order_relaxed);
    return ratio <= 1 ? 1 : 1 + rngBelow(rngThread(), 2 * ratio - 1);
}

/* Discards the collector's counts and makes it count for `session` (0: for none). */
static void hotKeysJoin(hotCollector *hc, uint32_t session) {
    pthread_mutex_lock(&hot.lock);
    if (isInList(hc)) listRemove(hc);
    for (int m = 0; m < HOT_KEYS_METRICS; m++) {
        heavyHittersFree(hc->by[m]);
        hc->by[m] = NULL;
    }
    hc->session = session;
    hc->until = nextGap();
    pthread_mutex_unlock(&hot.lock);
}

/* Returns NULL if there is no memory. */
static __attribute__((noinline)) heavyHitters *makeSketch(hotCollector *hc, hotKeysMetric metric) {
    debugAssert(!hc->by[metric]);
    heavyHitters *h = heavyHittersTryCreate();
    if (!h) return NULL;
    pthread_mutex_lock(&hot.lock);
    if (!isInList(hc)) listAdd(hc);
    hc->by[metric] = h;
    pthread_mutex_unlock(&hot.lock);
    return h;
}

/* Returns whether samples of that session count. The collector joins the session if it is the current one. */
static bool countsFor(hotCollector *hc, uint32_t session) {
    if (likely(hc->session == session)) return true;
    if (session != atomic_load_explicit(&hot.counted, memory_order_relaxed)) return false;
    hotKeysJoin(hc, session);
    return true;
}

/* --- picking ---------------------------------------------------------------------------------------------- */

static __attribute__((noinline)) requestSample *pickSamples(hotCollector *hc, recordArena *a, parsedCommand *p,
                                                            size_t n) {
    requestSample *samples = NULL;
    debugAssert(hc->until > 0 && n >= hc->until);
    for (; n >= hc->until; p = p->next) {
        for (n -= hc->until; hc->until > 1; hc->until--) p = p->next;
        hc->until = nextGap();
        if (p->nkeys == 0) continue;
        requestSample *s = recordSample(a, p);
        s->session = hc->session;
        s->next = samples;
        samples = s;
    }
    hc->until -= n;
    return samples;
}

requestSample *hotKeysPick(hotCollector *hc, recordArena *a, parsedCommand *first, size_t n) {
    uint32_t session = atomic_load_explicit(&hot_keys_session, memory_order_acquire);
    if (unlikely(hc->session != session)) {
        if (!session) return NULL;
        hotKeysJoin(hc, session);
    }
    if (likely(n < hc->until)) {
        hc->until -= n;
        return NULL;
    }
    return pickSamples(hc, a, first, n);
}

/* --- counting ----------------------------------------------------------------------------------------------- */

/* Counts the cost of a command: each of its keys gets the same share. */
static void countCost(hotCollector *hc, hotKeysMetric metric, const parsedCommand *req, uint64_t cost) {
    if (!(atomic_load_explicit(&hot.metrics, memory_order_relaxed) & 1u << metric)) return;
    heavyHitters *h = likely(hc->by[metric] != NULL) ? hc->by[metric] : makeSketch(hc, metric);
    if (unlikely(!h)) return;
    uint64_t weight = req->nkeys == 1 ? cost : cost / req->nkeys;
    for (uint32_t i = 0; i < req->nkeys; i++) {
        const requestKey *k = &req->keys[i];
        heavyHittersAdd(h, k->hash, req->argv[k->index], weight);
    }
}

static void countOne(hotCollector *hc, const requestSample *s) {
    if (s->ns == REQUEST_NOT_RUN || !countsFor(hc, s->session)) return;
    countCost(hc, HOT_KEYS_CPU, s->req, s->ns);
    countCost(hc, HOT_KEYS_NET, s->req, s->req->wire_len + s->reply_bytes);
}

void hotKeysCount(hotCollector *hc, const requestSample *s) {
    for (; s; s = s->next) countOne(hc, s);
}

void hotKeysTidy(hotCollector *hc) {
    if (hc->session != atomic_load_explicit(&hot.counted, memory_order_relaxed)) hotKeysJoin(hc, 0);
}

/* --- main -------------------------------------------------------------------------------------------------- */

void hotKeysRanSampled(const parsedCommand *req, uint64_t ns, size_t reply_bytes) {
    requestSample *s = requestSampleOf(req);
    s->ns = ns;
    s->reply_bytes = reply_bytes;
    if (unlikely(s->detached)) countOne(&hot.mains, s);
}

void hotKeysCountHere(requestSample *s) {
    assertMainRole();
    for (; s; s = s->next) {
        countOne(&hot.mains, s);
        s->ns = REQUEST_NOT_RUN;
    }
}

/* Moves the counts of `hc` to main's collector. Call with the lock held. */
static void takeOver(hotCollector *hc) {
    for (int m = 0; m < HOT_KEYS_METRICS; m++) {
        if (!hc->by[m]) continue;
        if (hot.mains.by[m]) {
            heavyHittersFold(hot.mains.by[m], hc->by[m]);
            continue;
        }
        heavyHitters *h = hc->by[m];
        hc->by[m] = NULL;
        if (!isInList(hc)) listRemove(hc);
        if (!isInList(&hot.mains)) listAdd(&hot.mains);
        hot.mains.by[m] = h;
    }
}

void hotKeysRetire(hotCollector *hc) {
    assertMainRole();
    if (isInList(hc) && countsFor(&hot.mains, hc->session)) {
        pthread_mutex_lock(&hot.lock);
        takeOver(hc);
        pthread_mutex_unlock(&hot.lock);
    }
    hotKeysJoin(hc, 0);
}

void hotKeysSetNet(void (*tidy_threads)(void), void (*gather)(void)) {
    hot.tidy_threads = tidy_threads;
    hot.gather = gather;
}

static void setCounted(uint32_t session) {
    atomic_store_explicit(&hot.counted, session, memory_order_relaxed);
    hotKeysTidy(&hot.mains);
    if (hot.tidy_threads) hot.tidy_threads();
}

void hotKeysBegin(const hotKeysPlan *plan) {
    assertMainRole();
    serverAssert(plan->ratio > 0);
    if (++hot.last == 0) hot.last = 1;
    hot_keys_totals = (hotKeysTotals){0};
    atomic_store_explicit(&hot.metrics, plan->metrics, memory_order_relaxed);
    atomic_store_explicit(&hot.ratio, plan->ratio, memory_order_relaxed);
    setCounted(hot.last);
    atomic_store_explicit(&hot_keys_session, hot.last, memory_order_release);
    call_after |= CALL_AFTER_HOT_KEYS;
}

void hotKeysEnd(void) {
    assertMainRole();
    atomic_store_explicit(&hot_keys_session, 0, memory_order_relaxed);
    call_after &= ~CALL_AFTER_HOT_KEYS;
}

void hotKeysForget(void) {
    hotKeysEnd();
    setCounted(0);
}

/* --- reading, on any thread -------------------------------------------------------------------------------- */

/* Finds the sketches of the current session. Stores up to `max` of them and returns how many there are. Call with the
 * lock held. */
static size_t sketchesOf(hotKeysMetric metric, heavyHitters **out, size_t max) {
    uint32_t session = atomic_load_explicit(&hot.counted, memory_order_relaxed);
    size_t n = 0;
    for (hotCollector *hc = hot.first; hc; hc = hc->next) {
        if (hc->session != session || !hc->by[metric]) continue;
        if (n < max) out[n] = hc->by[metric];
        n++;
    }
    return n;
}

size_t hotKeysTop(hotKeysMetric metric, heavyKey *out, size_t max) {
    if (panicHoldsMainRole() && hot.gather) hot.gather();
    pthread_mutex_lock(&hot.lock);
    size_t n = sketchesOf(metric, NULL, 0);
    heavyHitters **sketches = zmalloc((n + 1) * sizeof(*sketches));
    sketchesOf(metric, sketches, n);
    size_t count = heavyHittersTop(sketches, n, out, max);
    zfree(sketches);
    pthread_mutex_unlock(&hot.lock);
    return count;
}

uint64_t hotKeysSum(hotKeysMetric metric) {
    uint64_t sum = 0;
    pthread_mutex_lock(&hot.lock);
    uint32_t session = atomic_load_explicit(&hot.counted, memory_order_relaxed);
    for (const hotCollector *hc = hot.first; hc; hc = hc->next)
        if (hc->session == session && hc->by[metric]) sum += heavyHittersTotal(hc->by[metric]);
    pthread_mutex_unlock(&hot.lock);
    return sum;
}

size_t hotKeysMemory(void) {
    size_t bytes = 0;
    pthread_mutex_lock(&hot.lock);
    for (const hotCollector *hc = hot.first; hc; hc = hc->next)
        for (int m = 0; m < HOT_KEYS_METRICS; m++)
            if (hc->by[m]) bytes += heavyHittersMemory(hc->by[m]);
    pthread_mutex_unlock(&hot.lock);
    return bytes;
}
