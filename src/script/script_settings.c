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

void scriptSettingsRegister(void) {
    static const setting rows[] = {{.name = "busy-reply-threshold",
                                    .alias = "lua-time-limit",
                                    .type = SETTING_INT,
                                    .value = &script_settings.busy_reply_threshold_ms,
                                    .default_text = "5000",
                                    .min = 0,
                                    .max = LLONG_MAX},
                                   SETTINGS_END};
    settingRegister(rows);
}
