/* persist_settings.c -- the settings of this layer: snapshots and the append-only file.
 *
 * Owns        persist_settings.
 * Threads     main.
 * Tests       tests/unit/admin/setting_test.c, tests/server/config.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "persist_settings.h"

#include "numbers.h"
#include "sds.h"
#include "setting.h"
#include "zmalloc.h"

#include <limits.h>
#include <string.h>

persistSettings persist_settings;
static persistAppendHooks append_hooks; /* const after boot */

static const settingName fsync_names[] = {
    {"everysec", FSYNC_EVERYSEC}, {"always", FSYNC_ALWAYS}, {"no", FSYNC_NO}, {NULL, 0}};

static bool refuse(const char **err, const char *text) {
    *err = text;
    return false;
}

/* File names that must be there and must not lead elsewhere. */
#define FILENAME_CHECK(function, name, kind)                                             \
    static bool function(const char *text, long long number, const char **err) {         \
        unused(number);                                                                  \
        if (!*text) return refuse(err, name " can't be empty");                          \
        return !strchr(text, '/') || refuse(err, name " can't be a path, just a " kind); \
    }
FILENAME_CHECK(checkAppendDir, "appenddirname", "dirname")
FILENAME_CHECK(checkAppendFile, "appendfilename", "filename")
FILENAME_CHECK(checkDbFile, "dbfilename", "filename")

/* ---- save --------------------------------------------------------------------------------------------- */

static bool setSave(const setting *s, char **words, int count, const char **err) {
    unused(s);
    if (count & 1) return refuse(err, "Invalid save parameters");
    savePoint *points = zcalloc((size_t)count / 2 + 1, sizeof(*points));
    for (int i = 0; i < count; i++) {
        /* Seconds from 1, changes from 0; a blank at the end of the value stands for 0 changes. */
        long long *number = i & 1 ? &points[i / 2].changes : &points[i / 2].seconds;
        if ((i & 1) && !*words[i]) continue;
        if (string2ll(words[i], strlen(words[i]), number) && *number >= !(i & 1)) continue;
        zfree(points);
        return refuse(err, "Invalid save parameters");
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

/* --- The append-only file -------------------------------------------------------------------------------- */

#define APPLY_HOOK(function, hook)                           \
    static bool function(const char **err) {                 \
        return !append_hooks.hook || append_hooks.hook(err); \
    }
APPLY_HOOK(applyAppendOnly, appendonly)
APPLY_HOOK(applyAppendSync, appendfsync)
APPLY_HOOK(applyNoAppendSync, no_appendfsync_on_rewrite)
APPLY_HOOK(applyAutoGc, aof_disable_auto_gc)

void persistSettingsOnAppend(const persistAppendHooks *hooks) {
    append_hooks = *hooks;
}

/* ---- Table ---------------------------------------------------------------------------------------------- */

#define FIXED SETTING_IMMUTABLE
#define HIDDEN SETTING_HIDDEN
#define VALUE(name_, type_, field, default_, flags_) \
    .name = name_, .type = type_, .value = &persist_settings.field, .default_text = default_, .flags = flags_
#define BOOL(name_, field, default_, flags_, ...) \
    { VALUE(name_, SETTING_BOOL, field, default_, flags_), __VA_ARGS__ }
#define INT(name_, field, default_, min_, max_, flags_, ...) \
    { VALUE(name_, SETTING_INT, field, default_, flags_), .min = min_, .max = max_, __VA_ARGS__ }
#define MEMORY(name_, field, default_, min_, flags_, ...) \
    { VALUE(name_, SETTING_MEMORY, field, default_, flags_), .min = min_, .max = LLONG_MAX, __VA_ARGS__ }
#define STRING(name_, field, default_, flags_, ...) \
    { VALUE(name_, SETTING_STRING, field, default_, flags_), __VA_ARGS__ }
#define ENUM(name_, field, default_, names_, flags_, ...) \
    { VALUE(name_, SETTING_ENUM, field, default_, flags_), .names = names_, __VA_ARGS__ }
#define NO_ALIAS .alias = NULL

static const setting rows[] = {
    /* Snapshots. */
    {.name = "save",
     .type = SETTING_SPECIAL,
     .default_text = "3600 1 300 100 60 10000",
     .flags = SETTING_MULTI_ARG | SETTING_ACCUMULATES,
     .set = setSave,
     .get = getSave},
    STRING("dbfilename", dbfilename, "dump.rdb", SETTING_PROTECTED, .check = checkDbFile),
    BOOL("rdbchecksum", rdbchecksum, "yes", FIXED, NO_ALIAS),
    BOOL("rdb-del-sync-files", rdb_del_sync_files, "no", 0, NO_ALIAS),
    BOOL("rdb-save-incremental-fsync", rdb_save_incremental_fsync, "yes", 0, NO_ALIAS),
    BOOL("stop-writes-on-bgsave-error", stop_writes_on_bgsave_error, "yes", 0, NO_ALIAS),
    STRING("bgsave-cpulist", bgsave_cpulist, NULL, FIXED, .alias = "bgsave_cpulist", .empty_is_null = true),
    INT("rdb-key-save-delay", rdb_key_save_delay, "0", INT_MIN, INT_MAX, HIDDEN, NO_ALIAS),
    INT("key-load-delay", key_load_delay, "0", INT_MIN, INT_MAX, HIDDEN, NO_ALIAS),
    INT("loading-process-events-interval-bytes", loading_process_events_interval_bytes, "2097152", 1024, INT_MAX,
        HIDDEN, NO_ALIAS),

    /* Append-only file. */
    BOOL("appendonly", appendonly, "no", SETTING_DENY_LOADING, .apply = applyAppendOnly),
    STRING("appendfilename", appendfilename, "appendonly.aof", FIXED, .check = checkAppendFile),
    STRING("appenddirname", appenddirname, "appendonlydir", FIXED, .check = checkAppendDir),
    ENUM("appendfsync", appendfsync, "everysec", fsync_names, 0, .apply = applyAppendSync),
    BOOL("no-appendfsync-on-rewrite", no_appendfsync_on_rewrite, "no", 0, .apply = applyNoAppendSync),
    INT("auto-aof-rewrite-percentage", auto_aof_rewrite_percentage, "100", 0, INT_MAX, 0, NO_ALIAS),
    MEMORY("auto-aof-rewrite-min-size", auto_aof_rewrite_min_size, "64mb", 0, 0, NO_ALIAS),
    BOOL("aof-load-truncated", aof_load_truncated, "yes", 0, NO_ALIAS),
    BOOL("aof-use-rdb-preamble", aof_use_rdb_preamble, "yes", 0, NO_ALIAS),
    BOOL("aof-timestamp-enabled", aof_timestamp_enabled, "no", 0, NO_ALIAS),
    BOOL("aof-disable-auto-gc", aof_disable_auto_gc, "no", HIDDEN, .apply = applyAutoGc),
    BOOL("aof-rewrite-incremental-fsync", aof_rewrite_incremental_fsync, "yes", 0, NO_ALIAS),
    STRING("aof-rewrite-cpulist", aof_rewrite_cpulist, NULL, FIXED, .alias = "aof_rewrite_cpulist",
           .empty_is_null = true),
    SETTINGS_END,
};

void persistSettingsRegister(void) {
    settingRegister(rows);
}
