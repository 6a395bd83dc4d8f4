/* engine_settings.c -- the settings of this layer.
 *
 * Owns        engine_settings.
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

engineSettings engine_settings = {.prefetch_batch_max_size = 16};

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
    /* A value quoted as a whole comes as one word. */
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

#define NUMBER(name_, alias_, field, default_, min_)                                          \
    {                                                                                         \
        .name = name_, .alias = alias_, .type = SETTING_INT, .value = &engine_settings.field, \
        .default_text = default_, .min = min_, .max = LLONG_MAX                               \
    }

static void (*on_password)(slice password); /* const after boot */

void engineSettingsOnPassword(void (*fn)(slice password)) {
    on_password = fn;
}

static bool applyRequirepass(const char **err) {
    unused(err);
    sds password = engine_settings.requirepass;
    if (on_password) on_password(password ? sdsSlice(password) : sliceOf(NULL, 0));
    return true;
}

static bool applyMonitorThreshold(const char **err) {
    unused(err);
    storeMeasureLatency(engine_settings.latency_monitor_threshold_ms > 0);
    return true;
}

static const settingName yield_names[] = {{"when-due", YIELD_WHEN_DUE}, {"always", YIELD_ALWAYS}, {NULL, 0}};

static const settingName pubsub_names[] = {
    {"allchannels", ACL_CHANNELS_ALL}, {"resetchannels", ACL_CHANNELS_NONE}, {NULL, 0}};

static const setting rows[] = {
    {.name = "requirepass",
     .flags = SETTING_SENSITIVE,
     .type = SETTING_BYTES,
     .value = &engine_settings.requirepass,
     .empty_is_null = true,
     .apply = applyRequirepass},
    {.name = "aclfile",
     .flags = SETTING_IMMUTABLE,
     .type = SETTING_STRING,
     .value = &engine_settings.aclfile,
     .empty_is_null = true},
    {.name = "acl-pubsub-default",
     .type = SETTING_ENUM,
     .value = &engine_settings.acl_pubsub_default,
     .default_text = "resetchannels",
     .names = pubsub_names},
    NUMBER("acllog-max-len", NULL, acllog_max_len, "128", 0),
    NUMBER("commandlog-execution-slower-than", "slowlog-log-slower-than", slower_than_us, "10000", -1),
    NUMBER("commandlog-slow-execution-max-len", "slowlog-max-len", slow_max_len, "128", 0),
    NUMBER("commandlog-request-larger-than", NULL, request_larger_than, "1048576", -1),
    NUMBER("commandlog-large-request-max-len", NULL, request_max_len, "128", 0),
    NUMBER("commandlog-reply-larger-than", NULL, reply_larger_than, "1048576", -1),
    NUMBER("commandlog-large-reply-max-len", NULL, reply_max_len, "128", 0),
    {.name = "latency-monitor-threshold",
     .type = SETTING_INT,
     .value = &engine_settings.latency_monitor_threshold_ms,
     .default_text = "0",
     .max = LLONG_MAX,
     .apply = applyMonitorThreshold},
    {.name = "latency-tracking",
     .type = SETTING_BOOL,
     .value = &engine_settings.latency_tracking,
     .default_text = "yes"},
    {.name = "latency-tracking-info-percentiles",
     .flags = SETTING_MULTI_ARG,
     .type = SETTING_SPECIAL,
     .default_text = "50 99 99.9",
     .set = setPercentiles,
     .get = getPercentiles},
    NUMBER("tracking-table-max-keys", NULL, tracking_table_max_keys, "1000000", 0),
    {.name = "prefetch-batch-max-size",
     .type = SETTING_INT,
     .value = &engine_settings.prefetch_batch_max_size,
     .default_text = "16",
     .min = 0,
     .max = 128},
    {.name = "yield",
     .flags = SETTING_HIDDEN,
     .type = SETTING_ENUM,
     .value = &engine_settings.yield,
     .default_text = "when-due",
     .names = yield_names},
    SETTINGS_END,
};

void engineSettingsRegister(void) {
    settingRegister(rows);
}
