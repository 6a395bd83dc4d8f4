/* engine_settings.h -- the settings of this layer: who may in, what is logged as slow or large, how latency is watched.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_ENGINE_SETTINGS_H
#define ENGINE_ENGINE_SETTINGS_H

#include "slice.h"

#define LATENCY_PERCENTILES_MAX 64

/* When a long job serves others (yield.h): after some milliseconds, or at every chance (tests). */
enum { YIELD_WHEN_DUE, YIELD_ALWAYS };

enum { ACL_CHANNELS_NONE, ACL_CHANNELS_ALL }; /* what a new user may hear */

typedef struct engineSettings {
    char *requirepass;      /* owns: an sds; of the default user; NULL: none */
    char *aclfile;          /* owns; NULL: users stand in the configuration file */
    int acl_pubsub_default; /* ACL_CHANNELS_ */
    long long acllog_max_len;
    long long slower_than_us, slow_max_len;
    long long request_larger_than, request_max_len;
    long long reply_larger_than, reply_max_len;
    long long latency_monitor_threshold_ms;
    bool latency_tracking;
    long long tracking_table_max_keys;           /* keys remembered for client-side caching; 0: no limit */
    long long prefetch_batch_max_size;           /* keys fetched together: 0 (no prefetching) to 128 */
    int yield;                                   /* YIELD_ */
    int npercentiles;                            /* of INFO latencystats, in the order they were given */
    double percentiles[LATENCY_PERCENTILES_MAX]; /* 0..100 */
} engineSettings;
extern engineSettings engine_settings;

/* Boot only. */
void engineSettingsRegister(void);

/* A percentile as its setting and INFO show it ("99.9"); `size` of 32 is enough. Returns its length. */
size_t enginePercentileText(char *out, size_t size, double percentile);

#endif
