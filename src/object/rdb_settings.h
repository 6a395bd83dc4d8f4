/* rdb_settings.h -- the options of the RDB format, whoever writes or reads it.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef OBJECT_RDB_SETTINGS_H
#define OBJECT_RDB_SETTINGS_H

#include "settings.h"

enum { RDB_VERSION_CHECK_STRICT, RDB_VERSION_CHECK_RELAXED };

typedef struct rdbSettings {
    bool compression;  /* rdbcompression */
    int version_check; /* rdb-version-check */
} rdbSettings;
extern rdbSettings rdb_conf; /* main writes; a child process or main reads */

extern const setting rdb_settings[]; /* ended by SETTINGS_END */

#endif
