/* object_settings.c -- the settings of the RDB format: names and defaults as clients see them.
 *
 * Not here    when and where snapshots are written.
 * Owns        object_settings.
 * Threads     main.
 * Tests       tests/type/keys.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "object_settings.h"

#include "setting.h"

objectSettings object_settings = {.compression = true, .version_check = RDB_VERSION_CHECK_STRICT};

static const settingName version_check_names[] = {
    {"strict", RDB_VERSION_CHECK_STRICT}, {"relaxed", RDB_VERSION_CHECK_RELAXED}, {NULL, 0}};

static const setting rows[] = {
    {.name = "rdbcompression", .type = SETTING_BOOL, .value = &object_settings.compression, .default_text = "yes"},
    {.name = "rdb-version-check",
     .type = SETTING_ENUM,
     .value = &object_settings.version_check,
     .default_text = "strict",
     .names = version_check_names},
    SETTINGS_END,
};

void objectSettingsRegister(void) {
    settingRegister(rows);
}
