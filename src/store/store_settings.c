/* store_settings.c -- the values of the keyspace's settings.
 *
 * They have a file of their own below all others of the folder: what puts a setting into force (store_setting_table.c)
 * needs files that read them.
 *
 * Owns        store_settings. The values here hold before the configuration is read.
 * Threads     main.
 * Tests       tests/unit/store/store_setting_table_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "store_settings.h"

storeSettings store_settings = {
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
    .active_defrag_cycle_max = 25,
    .active_defrag_cycle_min = 1,
    .active_defrag_cycle_us = 500,
    .active_defrag_ignore_bytes = 100 << 20,
    .active_defrag_max_scan_fields = 1000,
    .active_defrag_threshold_lower = 10,
    .active_defrag_threshold_upper = 100,
};
