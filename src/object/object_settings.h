/* object_settings.h -- the settings of encodings and of the RDB format.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef OBJECT_OBJECT_SETTINGS_H
#define OBJECT_OBJECT_SETTINGS_H

#include "platform.h"

enum { RDB_VERSION_CHECK_STRICT, RDB_VERSION_CHECK_RELAXED };

typedef struct objectSettings {
    /* Limits of the compact encodings: elements, and bytes of the longest. Of the values that have
     * exceeded them, only lists return to the compact encoding. */
    long long hash_max_listpack_entries, hash_max_listpack_value;
    long long set_max_intset_entries, set_max_listpack_entries, set_max_listpack_value;
    long long zset_max_listpack_entries, zset_max_listpack_value;
    long long list_max_listpack_size; /* > 0: elements per node; -1 .. -5: 4 to 64 KiB */
    long long list_compress_depth;    /* nodes at either end that are not compressed; 0: none is */
    long long stream_node_max_bytes, stream_node_max_entries; /* 0: no limit */
    long long stream_idmp_duration, stream_idmp_maxsize;      /* of streams that have no limits of their own yet */
    long long hll_sparse_max_bytes;
    bool compression;    /* rdbcompression */
    int version_check;   /* rdb-version-check */
    bool skip_checksums; /* set by DEBUG SET-SKIP-CHECKSUM-VALIDATION, not a setting */
} objectSettings;
extern objectSettings object_settings; /* main writes; a child process or main reads */

/* Registers the settings. Call at startup. */
void objectSettingsRegister(void);

#endif
