/* store_state.c -- settings, counters and clock of this layer.
 *
 * They have a file of their own below all others of the folder, so that no two of those need each other for them.
 *
 * Owns        store_conf, store_stats, the cached time. The values here hold before the configuration is read.
 * Threads     main.
 * Tests       tests/unit/store/db_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "store_state.h"

storeStats store_stats;
storeSettings store_conf = {
    .databases = 16,
    .maxmemory_samples = 5,
    .maxmemory_eviction_tenacity = 10,
    .maxmemory_policy = MAXMEMORY_NO_EVICTION,
    .lfu_log_factor = 10,
    .lfu_decay_time = 1,
    .active_expire_effort = 1,
    .hz = 10,
    .lazyfree_eviction = true,
    .lazyfree_expire = true,
    .lazyfree_server_del = true,
    .lazyfree_user_del = true,
    .lazyfree_user_flush = true,
    .activerehashing = true,
};

int64_t store_now_ms;
int64_t store_expire_horizon_ms;
static bool expire_ignored;

void storeSetNowMs(int64_t now_ms) {
    store_now_ms = now_ms;
    if (!expire_ignored) store_expire_horizon_ms = now_ms;
}

void storeSetExpireIgnored(bool ignored) {
    expire_ignored = ignored;
    store_expire_horizon_ms = ignored ? INT64_MIN : store_now_ms;
}
