/* admin_settings.c -- the settings of what administers the server: who may, and what it tells.
 *
 * Owns        admin_settings.
 * Threads     main.
 * Tests       tests/unit/server/setting_defaults_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "admin_settings.h"

#include "setting.h"

adminSettings admin_settings;

static const settingName access_names[] = {{"no", ACCESS_NO}, {"yes", ACCESS_YES}, {"local", ACCESS_LOCAL}, {NULL, 0}};

#define BOOL(name_, field, default_, flags_) \
    { .name = name_, .type = SETTING_BOOL, .value = &admin_settings.field, .default_text = default_, .flags = flags_ }
#define STRING(name_, field, flags_) \
    { .name = name_, .type = SETTING_STRING, .value = &admin_settings.field, .flags = flags_ }
#define ACCESS(name_, field, flags_)                                                               \
    {                                                                                              \
        .name = name_, .type = SETTING_ENUM, .value = &admin_settings.field, .default_text = "no", \
        .names = access_names, .flags = SETTING_IMMUTABLE | (flags_)                               \
    }

static const setting rows[] = {
    ACCESS("enable-protected-configs", enable_protected_configs, 0),
    ACCESS("enable-debug-command", enable_debug_command, 0),
    ACCESS("enable-module-command", enable_module_command, 0),
    BOOL("enable-debug-assert", enable_debug_assert, "no", SETTING_IMMUTABLE | SETTING_HIDDEN | SETTING_PENDING),
    BOOL("hide-user-data-from-log", hide_user_data_from_log, "yes", 0),
    BOOL("extended-redis-compatibility", extended_redis_compatibility, "no", 0),
    {.name = "availability-zone", .type = SETTING_BYTES, .value = &admin_settings.availability_zone},
    STRING("debug-context", debug_context, SETTING_HIDDEN),
    SETTINGS_END,
};

void adminSettingsRegister(void) {
    settingRegister(rows);
}
