/* script_settings.c -- the settings of this layer.
 *
 * Owns        the table.
 * Threads     main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "script_settings.h"

#include "setting.h"

#include <limits.h>

scriptSettings script_settings;

static void (*on_api)(void); /* const after boot */

void scriptSettingsOnApi(void (*changed)(void)) {
    on_api = changed;
}

static bool applyApi(const char **err) {
    unused(err);
    on_api();
    return true;
}

void scriptSettingsRegister(void) {
    static const setting rows[] = {{.name = "busy-reply-threshold",
                                    .alias = "lua-time-limit",
                                    .type = SETTING_INT,
                                    .value = &script_settings.busy_reply_threshold_ms,
                                    .default_text = "5000",
                                    .min = 0,
                                    .max = LLONG_MAX},
                                   {.name = "lua-enable-insecure-api",
                                    .alias = "lua-enable-deprecated-api",
                                    .flags = SETTING_HIDDEN | SETTING_PROTECTED,
                                    .type = SETTING_BOOL,
                                    .value = &script_settings.lua_enable_insecure_api,
                                    .default_text = "no",
                                    .apply = applyApi},
                                   SETTINGS_END};
    settingRegister(rows);
}
