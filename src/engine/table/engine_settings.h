/* engine_settings.h -- the settings and counters of this layer.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_ENGINE_SETTINGS_H
#define ENGINE_ENGINE_SETTINGS_H

#include "slice.h"

#include <stdint.h>

#define LATENCY_PERCENTILES_MAX 64

/* When a long job serves other clients (yield.h): after some milliseconds, or at every call (for tests). */
enum { YIELD_WHEN_DUE, YIELD_ALWAYS };

enum { ACL_CHANNELS_NONE, ACL_CHANNELS_ALL }; /* channels that a new user may access */

/* How redirections name a node of a cluster. */
typedef enum { ENDPOINT_IP, ENDPOINT_HOSTNAME, ENDPOINT_UNKNOWN } endpointType;

typedef struct engineSettings {
    char *requirepass;      /* owns; an sds; password of the default user; NULL: none */
    char *aclfile;          /* owns; NULL: users are in the configuration file */
    int acl_pubsub_default; /* ACL_CHANNELS_ */
    long long acllog_max_len;
    long long slower_than_us, slow_max_len;
    long long request_larger_than, request_max_len;
    long long reply_larger_than, reply_max_len;
    long long latency_monitor_threshold_ms;
    bool latency_tracking;
    long long tracking_table_max_keys; /* most keys in the table of client-side caching; 0: no limit */
    long long prefetch_batch_max_size; /* keys prefetched together: 0 (no prefetching) to 128 */
    int yield;                         /* YIELD_ */
    bool slice_large_values;           /* long commands serve others meanwhile (engine/sliced.h) */
    char *event_stream;                /* owns; key of the streams of events; NULL: none */
    long long event_stream_maxlen, event_stream_value_max;
    bool cluster_allow_reads_when_down, cluster_allow_pubsubshard_when_down;
    int cluster_preferred_endpoint_type;         /* endpointType */
    int npercentiles;                            /* percentiles of INFO latencystats, in the order of the setting */
    double percentiles[LATENCY_PERCENTILES_MAX]; /* 0..100 */
} engineSettings;
extern engineSettings engine_settings;

/* Call at startup. */
void engineSettingsRegister(void);

/* Writes a percentile as its setting and INFO show it ("99.9"); a `size` of 32 is enough. Returns its length. */
size_t enginePercentileText(char *out, size_t size, double percentile);

typedef struct engineStats {
    long long commands_processed;
    long long commands_sliced, slices; /* commands that served other clients meanwhile, and how often they did */
    long long acl_denied_auth, acl_denied_cmd, acl_denied_key, acl_denied_channel, acl_denied_db;
    long long acl_denied_tls_cert;
    uint64_t command_ns; /* time spent in commands, for eventloop_duration_cmd_sum */
} engineStats;
extern engineStats engine_stats;

/* The maximal length of a string value: proto-max-bulk-len, a setting of net, which stores it here. */
extern long long string_bytes_max;

#endif
