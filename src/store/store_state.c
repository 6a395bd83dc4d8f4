/* store_state.c -- the counters and the clock of this layer.
 *
 * They have a file of their own below all others of the folder, so that these do not depend on each other.
 *
 * Owns        store_stats, the cached time.
 * Threads     main.
 * Tests       tests/unit/store/db_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "store_state.h"

#include "object.h"
#include "panic.h"

#define EXPIRY_PAUSES_MAX 8

storeStats store_stats;

int64_t store_now_ms;
int64_t store_expire_cutoff_ms;
storeFollowing store_following;
static bool expire_ignored;
static bool (*expiry_pauses[EXPIRY_PAUSES_MAX])(void); /* const after boot */
static unsigned expiry_pause_count;                    /* const after boot */

void storeSetNowMs(int64_t now_ms) {
    assertMainRole();
    store_now_ms = now_ms;
    if (!expire_ignored) store_expire_cutoff_ms = object_expire_cutoff_ms = now_ms;
}

void storeSetExpireIgnored(bool ignored) {
    assertMainRole();
    expire_ignored = ignored;
    store_expire_cutoff_ms = object_expire_cutoff_ms = ignored ? INT64_MIN : store_now_ms;
}

void storeSetFollowing(storeFollowing now) {
    assertMainRole();
    store_following = now;
}

void storeAddExpiryPause(bool (*in_force)(void)) {
    assertMainRole();
    serverAssert(expiry_pause_count < EXPIRY_PAUSES_MAX);
    expiry_pauses[expiry_pause_count++] = in_force;
}

bool storeExpiryPaused(void) {
    assertMainRole();
    for (unsigned i = 0; i < expiry_pause_count; i++)
        if (expiry_pauses[i]()) return true;
    return false;
}
