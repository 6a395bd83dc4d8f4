/* object_settings.c -- the settings of encodings and of the RDB format: names and defaults as clients see them.
 *
 * Not here    when and where snapshots are written.
 * Owns        object_settings.
 * Threads     main.
 * Tests       tests/type/keys.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "object_settings.h"

#include "setting.h"

#include <limits.h>

objectSettings object_settings;

static const settingName version_check_names[] = {
    {"strict", RDB_VERSION_CHECK_STRICT}, {"relaxed", RDB_VERSION_CHECK_RELAXED}, {NULL, 0}};

static const setting rows[] = {
    INT_SETTING("hash-max-listpack-entries", object_settings.hash_max_listpack_entries, 512, 0, LLONG_MAX,
                .alias = "hash-max-ziplist-entries"),
    MEMORY_SETTING("hash-max-listpack-value", object_settings.hash_max_listpack_value, 64, 0,
                   .alias = "hash-max-ziplist-value"),
    INT_SETTING("list-max-listpack-size", object_settings.list_max_listpack_size, -2, INT_MIN, INT_MAX,
                .alias = "list-max-ziplist-size"),
    INT_SETTING("list-compress-depth", object_settings.list_compress_depth, 0, 0, INT_MAX),
    INT_SETTING("set-max-intset-entries", object_settings.set_max_intset_entries, 512, 0, LLONG_MAX),
    INT_SETTING("set-max-listpack-entries", object_settings.set_max_listpack_entries, 128, 0, LLONG_MAX),
    INT_SETTING("set-max-listpack-value", object_settings.set_max_listpack_value, 64, 0, LLONG_MAX),
    INT_SETTING("zset-max-listpack-entries", object_settings.zset_max_listpack_entries, 128, 0, LLONG_MAX,
                .alias = "zset-max-ziplist-entries"),
    MEMORY_SETTING("zset-max-listpack-value", object_settings.zset_max_listpack_value, 64, 0,
                   .alias = "zset-max-ziplist-value"),
    MEMORY_SETTING("hll-sparse-max-bytes", object_settings.hll_sparse_max_bytes, 3000, 0),
    MEMORY_SETTING("stream-node-max-bytes", object_settings.stream_node_max_bytes, 4096, 0),
    INT_SETTING("stream-node-max-entries", object_settings.stream_node_max_entries, 100, 0, LLONG_MAX),
    INT_SETTING("stream-idmp-duration", object_settings.stream_idmp_duration, 100, 1, 86400),
    INT_SETTING("stream-idmp-maxsize", object_settings.stream_idmp_maxsize, 100, 1, 10000),
    BOOL_SETTING("rdbcompression", object_settings.compression, true),
    ENUM_SETTING("rdb-version-check", object_settings.version_check, RDB_VERSION_CHECK_STRICT, version_check_names),
    SETTINGS_END,
};

SETTINGS_START_AT_DEFAULTS(rows)

void objectSettingsRegister(void) { settingRegister(rows); }
