/* client_settings.c -- the settings of this layer.
 *
 * Owns        client_settings; the limits are in output_limits.c.
 * Threads     main.
 * Tests       tests/unit/client/output_limits_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "client_settings.h"

#include "output_limits.h"
#include "output_share.h"
#include "setting.h"

clientSettings client_settings;

static const setting rows[] = {
    {.name = "client-output-buffer-limit",
     .type = SETTING_SPECIAL,
     .flags = SETTING_MULTI_ARG | SETTING_ACCUMULATES,
     .default_text = "normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60",
     .set = outputLimitsSet,
     .get = outputLimitsGet,
     .rewrite = outputLimitsRewrite},
    BOOL_SETTING("io-threads-reply-offload", client_settings.offload, true),
    INT_SETTING("maxmemory-clients-share", output_share_percent, 5, 0, OUTPUT_SHARE_OFF),
    SETTINGS_END,
};

SETTINGS_START_AT_DEFAULTS(rows)

void clientSettingsRegister(void) { settingRegister(rows); }
