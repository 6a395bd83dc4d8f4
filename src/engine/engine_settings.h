/* engine_settings.h -- the settings of this layer: who may in, what is logged as slow or large, how latency is watched.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_ENGINE_SETTINGS_H
#define ENGINE_ENGINE_SETTINGS_H

#include "platform.h"

#define LATENCY_PERCENTILES_MAX 64

typedef struct engineSettings {
    char *requirepass; /* owns: an sds; of the default user; NULL: none */
    long long slower_than_us, slow_max_len;
    long long request_larger_than, request_max_len;
    long long reply_larger_than, reply_max_len;
    long long latency_monitor_threshold_ms;
    bool latency_tracking;
    long long tracking_table_max_keys;           /* keys remembered for client-side caching; 0: no limit */
    long long prefetch_batch_max_size;           /* keys fetched together: 0 (no prefetching) to 128 */
    int npercentiles;                            /* of INFO latencystats, in the order they were given */
    double percentiles[LATENCY_PERCENTILES_MAX]; /* 0..100 */
} engineSettings;
extern engineSettings engine_settings;

/* Boot only. */
void engineSettingsRegister(void);

/* A percentile as its setting and INFO show it ("99.9"); `size` of 32 is enough. Returns its length. */
size_t enginePercentileText(char *out, size_t size, double percentile);

#endif
