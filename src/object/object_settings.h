/* object_settings.h -- the settings of encodings, and of the RDB format whoever writes or reads it.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef OBJECT_OBJECT_SETTINGS_H
#define OBJECT_OBJECT_SETTINGS_H

#include "platform.h"

enum { RDB_VERSION_CHECK_STRICT, RDB_VERSION_CHECK_RELAXED };

typedef struct objectSettings {
    /* How far a compact encoding goes: elements, and bytes of the longest. What has gone beyond never comes back. */
    long long hash_max_listpack_entries, hash_max_listpack_value;
    long long set_max_intset_entries, set_max_listpack_entries, set_max_listpack_value;
    long long zset_max_listpack_entries, zset_max_listpack_value;
    long long list_max_listpack_size; /* > 0: elements of a node; -1 .. -5: 4 to 64 KiB */
    long long list_compress_depth;    /* nodes at either end that are not compressed; 0: none are */
    long long stream_node_max_bytes, stream_node_max_entries; /* 0: no bound */
    long long hll_sparse_max_bytes;
    bool compression;    /* rdbcompression */
    int version_check;   /* rdb-version-check */
    bool skip_checksums; /* no setting: DEBUG SET-SKIP-CHECKSUM-VALIDATION */
} objectSettings;
extern objectSettings object_settings; /* main writes; a child process or main reads */

/* Boot only. */
void objectSettingsRegister(void);

#endif
