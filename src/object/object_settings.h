/* object_settings.h -- the settings of the RDB format, whoever writes or reads it.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef OBJECT_OBJECT_SETTINGS_H
#define OBJECT_OBJECT_SETTINGS_H

#include "platform.h"

enum { RDB_VERSION_CHECK_STRICT, RDB_VERSION_CHECK_RELAXED };

typedef struct objectSettings {
    bool compression;  /* rdbcompression */
    int version_check; /* rdb-version-check */
} objectSettings;
extern objectSettings object_settings; /* main writes; a child process or main reads */

/* Boot only. */
void objectSettingsRegister(void);

#endif
