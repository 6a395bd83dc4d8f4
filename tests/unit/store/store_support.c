/* store_support.c -- see store_support.h.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "store_support.h"

#include "bio.h"
#include "clock.h"
#include "db_internal.h"
#include "expire.h"
#include "lru.h"
#include "panic.h"

#include <stdio.h>

heard ears;
bool stand_still;
bool with_slots;
static storeSettings defaults;

static void hearModified(serverDb *db, hashedKey key, changeCause cause) {
    unused(db);
    ears.modified++;
    ears.by_command += cause == CHANGED_BY_COMMAND;
    CHECK(key.hash == keyHash(key.name));
    snprintf(ears.last_key, sizeof(ears.last_key), "%.*s", (int)key.name.len, key.name.ptr);
}

static void hearEvent(serverDb *db, int type, const char *event, slice key) {
    CHECK(key.ptr != NULL && db == dbGet(dbId(db)));
    ears.events++;
    if (type == NOTIFY_EXPIRED && strcmp(event, "hexpired") != 0) ears.expired += CHECK_EQ_STR(event, "expired");
    if (type == NOTIFY_EVICTED) ears.evicted += CHECK_EQ_STR(event, "evicted");
    if (type == NOTIFY_NEW) ears.new += CHECK_EQ_STR(event, "new");
    if (type == NOTIFY_KEY_MISS) ears.miss += CHECK_EQ_STR(event, "keymiss");
}

static void hearRemoved(serverDb *db, slice key, bool evicted) {
    CHECK(!dbExists(db, hashedKeyOf(key)));
    ears.removed++;
    ears.removed_by_eviction += evicted;
}

static void hearFlushed(int dbid, bool async) {
    unused(async);
    ears.flushed++;
    ears.flushed_id = dbid;
}

static bool standsStill(void) { return stand_still; }

static void hearSwapped(int a, int b) {
    ears.swapped++;
    ears.swapped_ids = a * 100 + b;
    ears.swapped_first_size = dbSize(dbGet(a));
}

void storeReset(void) {
    static bool made;
    if (!made) {
        clockInit();
        panicSetMainThread();
        bioInit(NULL);
        dbInit(TEST_DBS);
        storeObserveModified(hearModified);
        storeObserveEvents(hearEvent);
        storeObserveRemoved(hearRemoved);
        storeObserveFlushed(hearFlushed);
        storeAddExpiryPause(standsStill);
        storeObserveSwapped(hearSwapped);
        defaults = store_settings;
        made = true;
    }
    store_settings = defaults;
    store_settings.notify_events = NOTIFY_EXPIRED | NOTIFY_EVICTED | NOTIFY_NEW | NOTIFY_KEY_MISS;
    storeSetExpireIgnored(false);
    storeSetNowMs(1000000);
    lruClockRefresh(1000000);
    lruSetFrozen(LRU_FROZEN_BY_CLIENT | LRU_FROZEN_BY_CHILD, false);
    storeSetFreeSink(NULL);
    stand_still = false;
    expireSetActive(true);
    dbEmpty(-1, false);
    dbSetSlots(with_slots);
    bioDrain(BIO_LAZY_FREE);
    lazyfreeCollect();
    lazyfreeResetStats();
    store_stats = (storeStats){0};
    ears = (heard){0};
}

hashedKey keyN(const char *prefix, long n) {
    static char texts[8][64];
    static unsigned turn;
    char *text = texts[turn++ % 8];
    int len = snprintf(text, sizeof(texts[0]), "%s%ld", prefix, n);
    return hashedKeyOf(sliceOf(text, (size_t)len));
}

hashedKey keyOf(const char *name) { return hashedKeyOf(sliceStr(name)); }

robj *stringEntry(hashedKey key, long n, size_t len) {
    static char text[2 << 20];
    int digits = snprintf(text, sizeof(text), "value%ld", n);
    if (len > (size_t)digits) memset(text + digits, '.', len - (size_t)digits);
    return objectCreateString(key.name, sliceOf(text, len > (size_t)digits ? len : (size_t)digits), false, 0);
}
