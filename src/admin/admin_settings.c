/* admin_settings.c -- the settings of administration: access to dangerous commands, contents of crash reports.
 *
 * Owns        admin_settings.
 * Threads     main.
 * Tests       tests/unit/server/setting_defaults_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "admin_settings.h"

#include "log.h"
#include "setting.h"

adminSettings admin_settings;

static const settingName access_names[] = {{"no", ACCESS_NO}, {"yes", ACCESS_YES}, {"local", ACCESS_LOCAL}, {NULL, 0}};

static const setting rows[] = {
    ENUM_SETTING("enable-protected-configs", admin_settings.enable_protected_configs, ACCESS_NO, access_names,
                 .flags = SETTING_IMMUTABLE),
    ENUM_SETTING("enable-debug-command", admin_settings.enable_debug_command, ACCESS_NO, access_names,
                 .flags = SETTING_IMMUTABLE),
    ENUM_SETTING("enable-module-command", admin_settings.enable_module_command, ACCESS_NO, access_names,
                 .flags = SETTING_IMMUTABLE),
    BOOL_SETTING("enable-debug-assert", admin_settings.enable_debug_assert, false,
                 .flags = SETTING_IMMUTABLE | SETTING_HIDDEN | SETTING_PENDING),
    BOOL_SETTING("hide-user-data-from-log", log_hide_user_data, true),
    BOOL_SETTING("extended-redis-compatibility", admin_settings.extended_redis_compatibility, false),
    STRING_SETTING("debug-context", admin_settings.debug_context, NULL, .flags = SETTING_HIDDEN),
    SETTINGS_END,
};

void adminSettingsRegister(void) { settingRegister(rows); }
