/* rss_limit.c -- maxmemory-rss-percent: lets maxmemory limit resident memory, too.
 *
 * The system ends a process for its resident memory, not for what it has allocated. While that is above the target,
 * free pages are given back, active defragmentation runs below its thresholds if it is enabled, and the limit for used
 * memory is lowered, so that keys are evicted (or writes refused) as by a smaller maxmemory.
 *
 *   below the target --> at the next seconds 1 and 2 above it: give pages back, close gaps
 *     ^   |                          | still above
 *     |   limit rises by 1 %         v
 *     '-------------------- limit falls by at most 5 %, then it rests: 2 seconds if that helped, 10 if not
 *
 * The danger is a loop that evicts everything: evicting a key leaves a gap in a page of others, so that resident memory
 * stays the same, which would call for more eviction. Hence three bounds. Down to maxmemory * target / rss, which does
 * not depend on what was evicted, the limit falls in slices. Below that it falls only if the last slice has brought
 * resident memory down by half of what was evicted. And it never falls below half of maxmemory.
 *
 * Not here    which keys are evicted (evict.c).
 * Owns        the limit.
 * Threads     main; pages are given back by a background thread.
 * Invariants  1. bytes is 0, or at least half of maxmemory and below maxmemory.
 *             2. While a child shares the pages the limit does not fall.
 * Cost        nothing without the option; with it one reading of /proc/self/statm each second.
 * Tests       tests/unit/store/rss_limit_test.c (a model of pages with gaps), tests/engine/maxmemory_rss.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "rss_limit.h"

#include "bio.h"
#include "defrag.h"
#include "log_limit.h"
#include "panic.h"
#include "shared_pages.h"
#include "store_settings.h"
#include "store_state.h"
#include "zmalloc.h"

#include <stdatomic.h>

#define FLOOR_SHARE 2   /* of maxmemory */
#define GRACE_S 3       /* above the target before the limit falls: free pages first */
#define SLICE_SHARE 20  /* of maxmemory, by which it falls at most */
#define RISE_SHARE 100  /* of maxmemory, by which it rises */
#define BELOW_SHARE 50  /* of the target: so far below it the limit may rise */
#define TRIED_SHARE 200 /* of maxmemory: less evicted memory says nothing about its effect */
#define HELPED_SHARE 2  /* of what was evicted: resident memory that must have come back */
#define REST_S 2
#define REST_LONG_S 10
#define MB ((size_t)1 << 20)

size_t rss_limit_bytes = SIZE_MAX;

static size_t least(size_t a, size_t b) { return a < b ? a : b; }
static size_t most(size_t a, size_t b) { return a > b ? a : b; }

typedef enum { NOT_TRIED, HELPED, USELESS } effect;

/* Returns the effect of lowering the limit the last time. */
static effect effectSoFar(const rssLimit *l, const rssLimitInput *in) {
    if (!l->used_then || in->used + in->maxmemory / TRIED_SHARE > l->used_then) return NOT_TRIED;
    size_t evicted = l->used_then - in->used, back = l->rss_then > in->rss ? l->rss_then - in->rss : 0;
    return back >= evicted / HELPED_SHARE ? HELPED : USELESS;
}

static void rise(rssLimit *l, const rssLimitInput *in) {
    l->over_s = l->rest_s = 0;
    l->used_then = l->rss_then = 0;
    if (!l->bytes || in->rss + in->target / BELOW_SHARE > in->target) return;
    l->bytes += in->maxmemory / RISE_SHARE + 1;
    if (l->bytes >= in->maxmemory) l->bytes = 0;
}

/* Returns the limit that follows from maxmemory and resident memory alone. */
static size_t proportional(const rssLimitInput *in) {
    return (size_t)((double)in->maxmemory * ((double)in->target / (double)in->rss));
}

static void fall(rssLimit *l, const rssLimitInput *in) {
    size_t now = l->bytes ? l->bytes : in->maxmemory, slice = in->maxmemory / SLICE_SHARE + 1;
    size_t bottom = most(proportional(in), in->maxmemory / FLOOR_SHARE + 1);
    effect so_far = effectSoFar(l, in);
    if (now <= bottom) {
        /* In between: used memory may be below the limit, or may not come down to it. */
        if (so_far == USELESS || in->used > now + slice) return;
        now = least(now, most(in->used, in->maxmemory / FLOOR_SHARE + 1));
        bottom = in->maxmemory / FLOOR_SHARE + 1;
    }
    l->rest_s = so_far == USELESS ? REST_LONG_S : REST_S;
    size_t next = most(bottom, now > slice ? now - slice : 0);
    if (next >= in->maxmemory || next == l->bytes) return;
    l->bytes = next;
    l->used_then = in->used;
    l->rss_then = in->rss;
}

bool rssLimitStep(rssLimit *l, const rssLimitInput *in) {
    if (l->bytes && (l->bytes >= in->maxmemory || l->bytes <= in->maxmemory / FLOOR_SHARE)) *l = (rssLimit){0};
    if (in->rss <= in->target) {
        rise(l, in);
        return l->bytes != 0;
    }
    l->over_s++;
    if (l->rest_s) l->rest_s--;
    else if (l->over_s >= GRACE_S && !in->held) fall(l, in);
    return true;
}

static rssLimit now;

size_t rssLimitTarget(void) {
    return (size_t)((double)store_settings.maxmemory * (double)store_settings.maxmemory_rss_percent / 100);
}

static _Atomic bool purging; /* the background job is queued or running */

static void givePagesBack(void *arg) {
    unused(arg);
    (void)zmallocPurge();
    atomic_store_explicit(&purging, false, memory_order_release);
}

static void setLimit(const rssLimitInput *in, size_t before) {
    rss_limit_bytes = now.bytes ? now.bytes : SIZE_MAX;
    if (now.bytes && !before)
        LOG_LIMITED(LL_WARNING, 1, "lowered limits of memory",
                    "%zu MB are resident, %zu MB in use: more than maxmemory-rss-percent allows (%zu MB). Until that "
                    "changes, less than maxmemory may be in use: keys are evicted or writes refused. MEMORY DOCTOR "
                    "names the cause.",
                    in->rss / MB, in->used / MB, in->target / MB);
    if (!now.bytes && before)
        LOG_LIMITED(LL_NOTICE, 1, "limits of memory that hold again",
                    "Resident memory allows all of maxmemory to be used again");
}

bool rssLimitTick(void) {
    static bool urging;
    assertMainRole();
    if (likely(!store_settings.maxmemory_rss_percent) && !urging) return false;
    size_t before = now.bytes;
    rssLimitInput in = {.maxmemory = (size_t)store_settings.maxmemory,
                        .target = rssLimitTarget(),
                        .used = zmallocUsed(),
                        .rss = zmallocRss(),
                        .held = sharedPages()};
    bool off = in.target == 0 || (store_following.on && store_following.all_memory);
    if (off) now = (rssLimit){0};
    urging = !off && rssLimitStep(&now, &in);
    defragUrge(urging);
    if (urging && !atomic_load_explicit(&purging, memory_order_acquire)) {
        atomic_store_explicit(&purging, true, memory_order_relaxed);
        bioSubmit(BIO_CLOSE_FILE, givePagesBack, NULL);
    }
    setLimit(&in, before);
    return now.bytes != 0;
}
