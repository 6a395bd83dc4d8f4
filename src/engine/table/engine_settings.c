/* engine_settings.c -- the settings and counters of this layer.
 *
 * Not here    the limit of one argument on the wire, which the thread that reads it checks (net).
 * Owns        engine_settings, engine_stats, string_bytes_max.
 * Threads     main.
 * Tests       tests/unit/engine/table/engine_settings_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "engine_settings.h"

#include "numbers.h"
#include "sds.h"
#include "setting.h"
#include "store_latency.h"

#include <limits.h>
#include <stdio.h>

engineSettings engine_settings;
engineStats engine_stats;
long long string_bytes_max = 512ll * 1024 * 1024;

size_t enginePercentileText(char *out, size_t size, double percentile) {
    int len = snprintf(out, size, "%f", percentile);
    while (out[len - 1] == '0') len--;
    if (out[len - 1] == '.') len--;
    out[len] = '\0';
    return (size_t)len;
}

static bool setPercentiles(const setting *s, char **words, int count, const char **err) {
    double values[LATENCY_PERCENTILES_MAX];

    unused(s);
    /* An empty value, or one in quotes, arrives as one word. */
    if (count == 1 && words[0][0] == '\0') count = 0;
    if (count > LATENCY_PERCENTILES_MAX) {
        *err = "Invalid latency-tracking-info-percentiles parameters";
        return false;
    }
    for (int i = 0; i < count; i++) {
        if (!string2d(words[i], sdsLen(words[i]), &values[i])) {
            *err = "Invalid latency-tracking-info-percentiles parameters";
            return false;
        }
        if (values[i] < 0 || values[i] > 100) {
            *err = "latency-tracking-info-percentiles parameters should sit between [0.0,100.0]";
            return false;
        }
    }
    for (int i = 0; i < count; i++) engine_settings.percentiles[i] = values[i];
    engine_settings.npercentiles = count;
    return true;
}

static char *getPercentiles(const setting *s) {
    sds out = sdsEmpty();

    unused(s);
    for (int i = 0; i < engine_settings.npercentiles; i++) {
        char text[32];
        size_t len = enginePercentileText(text, sizeof(text), engine_settings.percentiles[i]);
        if (i > 0) out = sdsCat(out, " ");
        out = sdsCatLen(out, text, len);
    }
    return out;
}

static bool applyMonitorThreshold(const char **err) {
    unused(err);
    storeMeasureLatency(engine_settings.latency_monitor_threshold_ms > 0);
    return true;
}

static const settingName yield_names[] = {{"when-due", YIELD_WHEN_DUE}, {"always", YIELD_ALWAYS}, {NULL, 0}};

static const settingName pubsub_names[] = {
    {"allchannels", ACL_CHANNELS_ALL}, {"resetchannels", ACL_CHANNELS_NONE}, {NULL, 0}};

static const settingName endpoint_names[] = {
    {"ip", ENDPOINT_IP}, {"hostname", ENDPOINT_HOSTNAME}, {"unknown-endpoint", ENDPOINT_UNKNOWN}, {NULL, 0}};

static const setting rows[] = {
    BYTES_SETTING("requirepass", engine_settings.requirepass, NULL, .flags = SETTING_SENSITIVE, .empty_is_null = true),
    STRING_SETTING("aclfile", engine_settings.aclfile, NULL, .flags = SETTING_IMMUTABLE, .empty_is_null = true),
    ENUM_SETTING("acl-pubsub-default", engine_settings.acl_pubsub_default, ACL_CHANNELS_NONE, pubsub_names),
    INT_SETTING("acllog-max-len", engine_settings.acllog_max_len, 128, 0, LLONG_MAX),
    INT_SETTING("commandlog-execution-slower-than", engine_settings.slower_than_us, 10000, -1, LLONG_MAX,
                .alias = "slowlog-log-slower-than"),
    INT_SETTING("commandlog-slow-execution-max-len", engine_settings.slow_max_len, 128, 0, LLONG_MAX,
                .alias = "slowlog-max-len"),
    INT_SETTING("commandlog-request-larger-than", engine_settings.request_larger_than, 1048576, -1, LLONG_MAX),
    INT_SETTING("commandlog-large-request-max-len", engine_settings.request_max_len, 128, 0, LLONG_MAX),
    INT_SETTING("commandlog-reply-larger-than", engine_settings.reply_larger_than, 1048576, -1, LLONG_MAX),
    INT_SETTING("commandlog-large-reply-max-len", engine_settings.reply_max_len, 128, 0, LLONG_MAX),
    INT_SETTING("latency-monitor-threshold", engine_settings.latency_monitor_threshold_ms, 0, 0, LLONG_MAX,
                .apply = applyMonitorThreshold),
    BOOL_SETTING("latency-tracking", engine_settings.latency_tracking, true),
    {.name = "latency-tracking-info-percentiles",
     .type = SETTING_SPECIAL,
     .flags = SETTING_MULTI_ARG,
     .default_text = "50 99 99.9",
     .set = setPercentiles,
     .get = getPercentiles},
    INT_SETTING("tracking-table-max-keys", engine_settings.tracking_table_max_keys, 1000000, 0, LLONG_MAX),
    INT_SETTING("prefetch-batch-max-size", engine_settings.prefetch_batch_max_size, 16, 0, 128),
    BOOL_SETTING("slice-large-values", engine_settings.slice_large_values, true),
    STRING_SETTING("notify-keyspace-events-stream", engine_settings.event_stream, NULL, .empty_is_null = true),
    INT_SETTING("notify-keyspace-events-stream-maxlen", engine_settings.event_stream_maxlen, 10000, 1, 1000000000),
    MEMORY_SETTING("notify-keyspace-events-stream-value-max", engine_settings.event_stream_value_max, 4096, 0),
    BOOL_SETTING("cluster-allow-reads-when-down", engine_settings.cluster_allow_reads_when_down, false),
    BOOL_SETTING("cluster-allow-pubsubshard-when-down", engine_settings.cluster_allow_pubsubshard_when_down, true),
    ENUM_SETTING("cluster-preferred-endpoint-type", engine_settings.cluster_preferred_endpoint_type, ENDPOINT_IP,
                 endpoint_names),
    ENUM_SETTING("yield", engine_settings.yield, YIELD_WHEN_DUE, yield_names, .flags = SETTING_HIDDEN),
    SETTINGS_END,
};

SETTINGS_START_AT_DEFAULTS(rows)

void engineSettingsRegister(void) { settingRegister(rows); }
