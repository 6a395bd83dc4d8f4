/* persist_settings.c -- the settings of this layer: snapshots and the append-only file.
 *
 * Owns        persist_settings.
 * Threads     main.
 * Tests       tests/unit/admin/setting_test.c, tests/server/config.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "persist_settings.h"

#include "numbers.h"
#include "rdb_value.h"
#include "sds.h"
#include "setting.h"
#include "zmalloc.h"

#include <limits.h>
#include <string.h>

persistSettings persist_settings;

static const settingName fsync_names[] = {
    {"everysec", FSYNC_EVERYSEC}, {"always", FSYNC_ALWAYS}, {"no", FSYNC_NO}, {NULL, 0}};

static const settingName save_version_names[] = {{"80", RDB_VERSION},
                                                 {"13", RDB_VERSION_FOREIGN_KNOWN},
                                                 {"11", 11},
                                                 {"10", 10},
                                                 {"9", 9},
                                                 {"auto", RDB_SAVE_VERSION_AUTO},
                                                 {NULL, 0}};

static bool persistSettingsRefuse(const char **err, const char *text) {
    *err = text;
    return false;
}

/* Defines a check of a file name: it must not be empty and must have no slash. */
#define FILENAME_CHECK(function, name, kind)                                                            \
    static bool function(const char *text, long long number, const char **err) {                        \
        unused(number);                                                                                 \
        if (!*text) return persistSettingsRefuse(err, name " can't be empty");                          \
        return !strchr(text, '/') || persistSettingsRefuse(err, name " can't be a path, just a " kind); \
    }
FILENAME_CHECK(checkAppendDir, "appenddirname", "dirname")
FILENAME_CHECK(checkAppendFile, "appendfilename", "filename")
FILENAME_CHECK(checkDbFile, "dbfilename", "filename")

/* ---- save --------------------------------------------------------------------------------------------- */

static bool setSave(const setting *s, char **words, int count, const char **err) {
    unused(s);
    if (count & 1) return persistSettingsRefuse(err, "Invalid save parameters");
    savePoint *points = zcalloc((size_t)count / 2 + 1, sizeof(*points));
    for (int i = 0; i < count; i++) {
        /* Seconds are at least 1, changes at least 0; a blank at the end of the value means 0 changes. */
        long long *number = i & 1 ? &points[i / 2].changes : &points[i / 2].seconds;
        if ((i & 1) && !*words[i]) continue;
        if (string2ll(words[i], strlen(words[i]), number) && *number >= !(i & 1)) continue;
        zfree(points);
        return persistSettingsRefuse(err, "Invalid save parameters");
    }
    zfree(persist_settings.save_points);
    persist_settings.save_points = points;
    persist_settings.save_point_count = count / 2;
    return true;
}

static sds getSave(const setting *s) {
    sds out = sdsEmpty();
    unused(s);
    for (int i = 0; i < persist_settings.save_point_count; i++) {
        const savePoint *p = &persist_settings.save_points[i];
        out = sdsCatPrintf(out, "%s%lld %lld", i ? " " : "", p->seconds, p->changes);
    }
    return out;
}

/* ---- Table ---------------------------------------------------------------------------------------------- */

static const setting rows[] = {
    /* Snapshots. */
    {.name = "save",
     .type = SETTING_SPECIAL,
     .default_text = "3600 1 300 100 60 10000",
     .flags = SETTING_MULTI_ARG | SETTING_ACCUMULATES,
     .set = setSave,
     .get = getSave},
    STRING_SETTING("dbfilename", persist_settings.dbfilename, "dump.rdb", .flags = SETTING_PROTECTED,
                   .check = checkDbFile),
    BOOL_SETTING("rdbchecksum", persist_settings.rdbchecksum, true, .flags = SETTING_IMMUTABLE),
    BOOL_SETTING("rdb-del-sync-files", persist_settings.rdb_del_sync_files, false),
    BOOL_SETTING("rdb-save-incremental-fsync", persist_settings.rdb_save_incremental_fsync, true),
    ENUM_SETTING("rdb-save-version", persist_settings.rdb_save_version, RDB_VERSION, save_version_names),
    INT_SETTING("save-when-quiet", persist_settings.save_when_quiet_s, 5, 0, 3600),
    INT_SETTING("quiet-commands-per-ms", persist_settings.quiet_commands_per_ms, 2, -1, INT_MAX,
                .flags = SETTING_HIDDEN),
    BOOL_SETTING("stop-writes-on-bgsave-error", persist_settings.stop_writes_on_bgsave_error, true),
    STRING_SETTING("bgsave-cpulist", persist_settings.bgsave_cpulist, NULL, .alias = "bgsave_cpulist",
                   .flags = SETTING_IMMUTABLE, .empty_is_null = true),
    INT_SETTING("rdb-key-save-delay", persist_settings.rdb_key_save_delay, 0, INT_MIN, INT_MAX,
                .flags = SETTING_HIDDEN),
    INT_SETTING("key-load-delay", persist_settings.key_load_delay, 0, INT_MIN, INT_MAX, .flags = SETTING_HIDDEN),
    INT_SETTING("loading-process-events-interval-bytes", persist_settings.loading_process_events_interval_bytes,
                2097152, 1024, INT_MAX, .flags = SETTING_HIDDEN),

    /* Append-only file. */
    BOOL_SETTING("appendonly", persist_settings.appendonly, false, .flags = SETTING_DENY_LOADING),
    STRING_SETTING("appendfilename", persist_settings.appendfilename, "appendonly.aof", .flags = SETTING_IMMUTABLE,
                   .check = checkAppendFile),
    STRING_SETTING("appenddirname", persist_settings.appenddirname, "appendonlydir", .flags = SETTING_IMMUTABLE,
                   .check = checkAppendDir),
    ENUM_SETTING("appendfsync", persist_settings.appendfsync, FSYNC_EVERYSEC, fsync_names),
    BOOL_SETTING("no-appendfsync-on-rewrite", persist_settings.no_appendfsync_on_rewrite, false),
    INT_SETTING("auto-aof-rewrite-percentage", persist_settings.auto_aof_rewrite_percentage, 100, 0, INT_MAX),
    MEMORY_SETTING("auto-aof-rewrite-min-size", persist_settings.auto_aof_rewrite_min_size, 64 << 20, 0),
    INT_SETTING("backup-timeout", persist_settings.backup_timeout, 3600, 0, INT_MAX),
    BOOL_SETTING("aof-load-truncated", persist_settings.aof_load_truncated, true),
    BOOL_SETTING("aof-use-rdb-preamble", persist_settings.aof_use_rdb_preamble, true),
    BOOL_SETTING("aof-timestamp-enabled", persist_settings.aof_timestamp_enabled, false),
    BOOL_SETTING("aof-disable-auto-gc", persist_settings.aof_disable_auto_gc, false, .flags = SETTING_HIDDEN),
    BOOL_SETTING("aof-rewrite-incremental-fsync", persist_settings.aof_rewrite_incremental_fsync, true),
    STRING_SETTING("aof-rewrite-cpulist", persist_settings.aof_rewrite_cpulist, NULL, .alias = "aof_rewrite_cpulist",
                   .flags = SETTING_IMMUTABLE, .empty_is_null = true),
    SETTINGS_END,
};

void persistSettingsRegister(void) { settingRegister(rows); }
