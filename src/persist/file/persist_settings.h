/* persist_settings.h -- the settings of this layer: snapshots and the append-only file.
 *
 * Runs on: main. A child keeps the values of the moment of its fork.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_PERSIST_SETTINGS_H
#define PERSIST_PERSIST_SETTINGS_H

#include "platform.h"

typedef enum { FSYNC_NO, FSYNC_EVERYSEC, FSYNC_ALWAYS } fsyncPolicy;

/* A snapshot is due if there were at least `changes` changes and the last one is more than `seconds` seconds old. */
typedef struct savePoint {
    long long seconds, changes;
} savePoint;

#define RDB_SAVE_VERSION_AUTO 0

typedef struct persistSettings {
    /* Snapshots. */
    savePoint *save_points; /* owns */
    int save_point_count;
    char *dbfilename, *bgsave_cpulist;
    long long save_when_quiet_s;     /* how long an automatic fork waits for a quiet moment; 0: not at all */
    long long quiet_commands_per_ms; /* that count as few; -1, for tests: no moment is quiet */
    int rdb_save_version;            /* RDB_SAVE_VERSION_AUTO, or the version of the snapshots on disk */
    bool rdbchecksum, rdb_del_sync_files, rdb_save_incremental_fsync, stop_writes_on_bgsave_error;
    long long rdb_key_save_delay, key_load_delay; /* microseconds per key; -n: one for about each n-th key */
    long long loading_process_events_interval_bytes;
    /* The append-only file. */
    bool appendonly, no_appendfsync_on_rewrite, aof_load_truncated, aof_use_rdb_preamble, aof_timestamp_enabled;
    bool aof_rewrite_incremental_fsync;
    bool aof_disable_auto_gc; /* keep files that are no longer needed; also read by the AOF thread */
    char *appendfilename, *appenddirname, *aof_rewrite_cpulist;
    int appendfsync;          /* fsyncPolicy */
    long long backup_timeout; /* seconds; 0: none */
    long long auto_aof_rewrite_percentage, auto_aof_rewrite_min_size;
} persistSettings;
extern persistSettings persist_settings;

/* Registers the settings. Startup only. */
void persistSettingsRegister(void);

#endif
