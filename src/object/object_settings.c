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

objectSettings object_settings = {
    .hash_max_listpack_entries = 512,
    .hash_max_listpack_value = 64,
    .set_max_intset_entries = 512,
    .set_max_listpack_entries = 128,
    .set_max_listpack_value = 64,
    .zset_max_listpack_entries = 128,
    .zset_max_listpack_value = 64,
    .list_max_listpack_size = -2,
    .stream_node_max_bytes = 4096,
    .stream_node_max_entries = 100,
    .hll_sparse_max_bytes = 3000,
    .compression = true,
    .version_check = RDB_VERSION_CHECK_STRICT,
};

static const settingName version_check_names[] = {
    {"strict", RDB_VERSION_CHECK_STRICT}, {"relaxed", RDB_VERSION_CHECK_RELAXED}, {NULL, 0}};

#define BOUND(name_, alias_, type_, field, default_, min_, max_)                                                  \
    {                                                                                                             \
        .name = name_, .alias = alias_, .type = type_, .value = &object_settings.field, .default_text = default_, \
        .min = min_, .max = max_                                                                                  \
    }
#define ENTRIES(name_, alias_, field, default_) BOUND(name_, alias_, SETTING_INT, field, default_, 0, LLONG_MAX)
#define BYTES(name_, alias_, field, default_) BOUND(name_, alias_, SETTING_MEMORY, field, default_, 0, LLONG_MAX)

static const setting rows[] = {
    ENTRIES("hash-max-listpack-entries", "hash-max-ziplist-entries", hash_max_listpack_entries, "512"),
    BYTES("hash-max-listpack-value", "hash-max-ziplist-value", hash_max_listpack_value, "64"),
    BOUND("list-max-listpack-size", "list-max-ziplist-size", SETTING_INT, list_max_listpack_size, "-2", INT_MIN,
          INT_MAX),
    BOUND("list-compress-depth", NULL, SETTING_INT, list_compress_depth, "0", 0, INT_MAX),
    ENTRIES("set-max-intset-entries", NULL, set_max_intset_entries, "512"),
    ENTRIES("set-max-listpack-entries", NULL, set_max_listpack_entries, "128"),
    ENTRIES("set-max-listpack-value", NULL, set_max_listpack_value, "64"),
    ENTRIES("zset-max-listpack-entries", "zset-max-ziplist-entries", zset_max_listpack_entries, "128"),
    BYTES("zset-max-listpack-value", "zset-max-ziplist-value", zset_max_listpack_value, "64"),
    BYTES("hll-sparse-max-bytes", NULL, hll_sparse_max_bytes, "3000"),
    BYTES("stream-node-max-bytes", NULL, stream_node_max_bytes, "4096"),
    ENTRIES("stream-node-max-entries", NULL, stream_node_max_entries, "100"),
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
