/* script_settings.c -- the settings of this layer.
 *
 * Owns        script_settings and its table.
 * Threads     main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "script_settings.h"

#include "setting.h"

#include <limits.h>

scriptSettings script_settings;

static const setting rows[] = {
    INT_SETTING("busy-reply-threshold", script_settings.busy_reply_threshold_ms, 5000, 0, LLONG_MAX,
                .alias = "lua-time-limit"),
    BOOL_SETTING("lua-enable-insecure-api", script_settings.lua_enable_insecure_api, false,
                 .alias = "lua-enable-deprecated-api", .flags = SETTING_HIDDEN | SETTING_PROTECTED),
    SETTINGS_END,
};

void scriptSettingsRegister(void) { settingRegister(rows); }
