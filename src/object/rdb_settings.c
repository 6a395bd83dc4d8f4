/* rdb_settings.c -- the options of the RDB format: names and defaults as clients see them.
 *
 * Not here    when and where snapshots are written.
 * Owns        rdb_conf.
 * Threads     main.
 * Tests       tests/type/keys.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "rdb_settings.h"

rdbSettings rdb_conf = {.compression = true, .version_check = RDB_VERSION_CHECK_STRICT};

static const settingName version_check_names[] = {
    {"strict", RDB_VERSION_CHECK_STRICT}, {"relaxed", RDB_VERSION_CHECK_RELAXED}, {NULL, 0}};

const setting rdb_settings[] = {
    {.name = "rdbcompression", .type = SETTING_BOOL, .value = &rdb_conf.compression, .default_text = "yes"},
    {.name = "rdb-version-check",
     .type = SETTING_ENUM,
     .value = &rdb_conf.version_check,
     .default_text = "strict",
     .names = version_check_names},
    SETTINGS_END,
};
