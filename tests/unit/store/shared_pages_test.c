/* shared_pages_test.c -- what a child process switches off, and that two reasons do not cancel each other.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "shared_pages.h"

#include "lru.h"
#include "store_support.h"

/* Returns the slots of a database's table after adding 1000 keys. */
static size_t slotsAfterMore(void) {
    static long next;
    serverDb *db = dbGet(0);
    for (long end = next + 1000; next < end; next++) dbAddTake(db, stringEntry(keyN("p", next), 1, 0), keyN("p", next));
    return dictSlots(dbDict(db, 0));
}

TEST(shared_pages_keep_tables) {
    storeReset();
    size_t slots = slotsAfterMore();
    sharedPagesSet(true);
    CHECK(sharedPages());
    CHECK_EQ_INT(slotsAfterMore(), slots);
    sharedPagesAllowResizing(false);
    sharedPagesSet(false);
    CHECK_EQ_INT(slotsAfterMore(), slots);
    sharedPagesAllowResizing(true);
    CHECK(slotsAfterMore() > slots);
    CHECK(!sharedPages());
}

TEST(shared_pages_and_a_client_freeze_lru_apart) {
    storeReset();
    lruSetFrozen(LRU_FROZEN_BY_CLIENT, true);
    sharedPagesSet(true);
    lruSetFrozen(LRU_FROZEN_BY_CLIENT, false);
    CHECK_EQ_INT(lru_frozen, LRU_FROZEN_BY_CHILD);
    lruSetFrozen(LRU_FROZEN_BY_CLIENT, true);
    sharedPagesSet(false);
    CHECK_EQ_INT(lru_frozen, LRU_FROZEN_BY_CLIENT);
    lruSetFrozen(LRU_FROZEN_BY_CLIENT, false);
}
