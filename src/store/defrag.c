/* defrag.c -- active defragmentation: a walk over all keys that moves blocks to fuller slabs.
 *
 *   tick, once a second: fragmented? --no--> rest
 *      | yes                                     ^
 *      v                                         | not any more, or a walk moved next to nothing
 *   walk: slice -- pause -- slice ... all keys --+
 *      ^                                         | still fragmented
 *      +-----------------------------------------+
 *
 * A slice handles the keys bucket by bucket. For a large value only the name is noted, and the value is offered in
 * pieces before the walk continues, after a lookup for each piece, so it may change or be deleted between them.
 *
 * Its share of a processor is between active-defrag-cycle-min and -max, as fragmentation is between the two thresholds.
 * A pause after each slice keeps it at that share.
 *
 * Not here    which blocks are worth moving (base/zmalloc_move.c); the blocks of a value (objectTypeOps.defrag);
 *             the references to an entry (dbDefragEntry()).
 * Owns        the position of the walk, the names of large values.
 * Threads     main's own thread only, since the timer runs there.
 * Invariants  1. A shared object (a count above one) does not move.
 *             2. If disabled, it costs one comparison per tick.
 *             3. A slice ends after active-defrag-cycle-us and at most a bucket's entries with PIECE elements of each.
 * Cost        docs/design/defrag.md
 * Tests       tests/unit/store/defrag_test.c, tests/engine/defrag.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "defrag.h"

#include "clock.h"
#include "db_internal.h"
#include "panic.h"
#include "sds.h"
#include "shared_pages.h"
#include "store_latency.h"
#include "zmalloc.h"

#include <limits.h>

#define CHECK_EVERY_US 1000000
#define FRUITLESS_REST_US 10000000 /* pause after a walk that has hardly moved any block: other memory is fragmented */
#define FRUITLESS_SHARE 1000       /* ... which is a walk that has moved less than one block in this many */
#define SLICE_US_MIN 100
#define PIECE 64 /* elements of a large value between two readings of the clock */

/* A value that is offered in pieces. */
typedef struct largeValue {
    sds key; /* owned */
    int dbid;
    defragCursor cursor;
} largeValue;

static struct {
    bool running;
    bool urged; /* by resident memory: at any fragmentation */
    int percent;
    uint64_t began_us, next_check_us, slice_end_us;
    int dbid;        /* database of the walk */
    uint64_t cursor; /* in that database's keys */
    largeValue *large;
    size_t large_count, large_capacity;
    long long moved, seen; /* blocks of this walk */
} defrag;

/* ---- Fragmentation ---- */

/* Returns unused memory in pages that are in use, in percent of live memory; 0: too little to matter. */
static long long fragmentation(void) {
    allocatorInfo info;
    zmallocAllocatorInfo(&info);
    if (info.allocated == 0 || info.active <= info.allocated) return 0;
    size_t idle = info.active - info.allocated;
    if (idle < (size_t)store_settings.active_defrag_ignore_bytes && !defrag.urged) return 0;
    return (long long)((double)idle * 100 / (double)info.allocated);
}

/* Returns the share of a processor for this fragmentation; 0: none. */
static int percentFor(long long fragmented) {
    const storeSettings *s = &store_settings;
    long long low = s->active_defrag_threshold_lower, high = s->active_defrag_threshold_upper;
    long long least = s->active_defrag_cycle_min, most = s->active_defrag_cycle_max;
    if (s->active_defrag_all) return (int)most;
    if (fragmented == 0) return 0;
    if (defrag.urged) return (int)most;
    if (fragmented < low) return 0;
    if (most < least) most = least;
    if (fragmented >= high || high <= low) return (int)most;
    return (int)(least + (most - least) * (fragmented - low) / (high - low));
}

/* ---- One key ---- */

static void noteLarge(const serverDb *db, const robj *o, defragCursor cursor) {
    defrag.large = zgrowArray(defrag.large, defrag.large_count, &defrag.large_capacity, sizeof(*defrag.large));
    defrag.large[defrag.large_count++] =
        (largeValue){.key = sdsFromSlice(objectKey(o)), .dbid = db->id, .cursor = cursor};
}

/* Offers all of a small value; the rest of one that takes longer than there is time is noted. */
static void offerValue(const serverDb *db, robj *o) {
    defragCursor cursor = {0};
    bool large = o->type != OBJ_STRING && objectFreeEffort(o) > (size_t)store_settings.active_defrag_max_scan_fields;
    bool done = false, time_up = large;
    while (!done && !time_up) {
        done = objectDefragValue(o, &cursor, PIECE, zmallocMover);
        time_up = !done && clockMonotonicUs() >= defrag.slice_end_us;
    }
    if (!done) noteLarge(db, o, cursor);
}

static void visitEntry(void *arg, void **ref) {
    serverDb *db = arg;
    if (!objectMayMove(*ref)) return;
    long long moved_before = zmallocMoverCounts()->moved;
    offerValue(db, dbDefragEntry(db, ref, zmallocMover));
    if (zmallocMoverCounts()->moved > moved_before) store_stats.defrag_key_hits++;
    else store_stats.defrag_key_misses++;
}

/* ---- Large values ---- */

static void forgetLastLarge(void) { sdsFree(defrag.large[--defrag.large_count].key); }

/* Offers a piece of the value noted last, unless it was deleted. Another value may have its name by now, even of
 * another type: then at most a part of that is skipped. */
static void offerPiece(void) {
    largeValue *v = &defrag.large[defrag.large_count - 1];
    slice name = sdsSlice(v->key);
    const serverDb *db = dbGet(v->dbid);
    uint64_t hash = keyHash(name);
    robj *o = dictFind(dbDict(db, hash), name, hash);
    if (!o || !objectMayMove(o) || objectDefragValue(o, &v->cursor, PIECE, zmallocMover)) forgetLastLarge();
}

/* ---- The walk ---- */

static void beginWalk(void) {
    defrag.dbid = 0;
    defrag.cursor = 0;
    defrag.moved = defrag.seen = 0;
    zmallocDropCache();
}

static void defragRest(uint64_t until_us) {
    while (defrag.large_count) forgetLastLarge();
    zfree(defrag.large);
    defrag.large = NULL;
    defrag.large_capacity = 0;
    if (defrag.running) store_stats.defrag_us += (long long)(clockMonotonicUs() - defrag.began_us);
    defrag.running = false;
    defrag.percent = 0;
    defrag.next_check_us = until_us;
    zmallocMoveAll(false);
}

/* Does one step: a piece of a large value, or the entries of a bucket. Returns true at the end of the walk. */
static bool defragStep(void) {
    if (defrag.large_count) {
        offerPiece();
        return false;
    }
    if (defrag.dbid == dbCount()) return true;
    serverDb *db = dbGet(defrag.dbid);
    defrag.cursor = dbScanDefrag(db, defrag.cursor, visitEntry, db, zmallocMover);
    if (defrag.cursor == 0) defrag.dbid++;
    return false;
}

/* Does steps until the slice's time is used up. Returns true at the end of the walk. */
static bool workSlice(void) {
    moverCounts *counts = zmallocMoverCounts(), before = *counts;
    uint64_t length_us = (uint64_t)store_settings.active_defrag_cycle_us;
    defrag.slice_end_us = clockMonotonicUs() + (length_us < SLICE_US_MIN ? SLICE_US_MIN : length_us);
    bool at_end = false;
    while (!at_end && clockMonotonicUs() < defrag.slice_end_us) at_end = defragStep();
    long long moved = counts->moved - before.moved, left = counts->left - before.left;
    store_stats.defrag_hits += moved;
    store_stats.defrag_misses += left;
    defrag.moved += moved;
    defrag.seen += moved + left;
    return at_end;
}

/* Call at the end of a walk. Returns false if no other walk is needed. */
static bool walkAgain(uint64_t now_us) {
    bool fruitless = !store_settings.active_defrag_all && defrag.moved * FRUITLESS_SHARE <= defrag.seen;
    defrag.percent = percentFor(fragmentation());
    if (defrag.percent && !fruitless) {
        beginWalk();
        return true;
    }
    defragRest(now_us + (defrag.percent ? FRUITLESS_REST_US : CHECK_EVERY_US));
    return false;
}

void defragUrge(bool on) { defrag.urged = on; }

bool defragTick(void) {
    assertMainRole();
    if (likely(!store_settings.activedefrag) || sharedPages()) return false;
    uint64_t now_us = clockMonotonicUs();
    if (now_us < defrag.next_check_us) return false;
    defrag.next_check_us = now_us + CHECK_EVERY_US;
    int percent = percentFor(fragmentation());
    if (defrag.running) {
        if (percent > defrag.percent) defrag.percent = percent;
        return false;
    }
    if (percent == 0) return false;
    zmallocMoveAll(store_settings.active_defrag_all);
    defrag.running = true;
    defrag.percent = percent;
    defrag.began_us = now_us;
    beginWalk();
    return true;
}

long long defragRun(void) {
    assertMainThread();
    uint64_t begin_us = clockMonotonicUs();
    if (!store_settings.activedefrag || sharedPages()) defragRest(0);
    if (!defrag.running) return 0;
    bool at_end = workSlice();
    storeLatencyEnd("active-defrag-cycle", begin_us);
    uint64_t now_us = clockMonotonicUs();
    if (at_end && !walkAgain(now_us)) return 0;
    uint64_t pause_us = (now_us - begin_us) * (uint64_t)(100 - defrag.percent) / (uint64_t)defrag.percent;
    return (long long)(pause_us + 999) / 1000 + (pause_us == 0);
}

/* ---- Figures ---- */

int defragPercent(void) { return defrag.percent; }

long long defragNowMs(void) { return defrag.running ? (long long)(clockMonotonicUs() - defrag.began_us) / 1000 : 0; }

long long defragTotalMs(void) { return store_stats.defrag_us / 1000 + defragNowMs(); }
