/* admin_settings.h -- the settings of administration: access to dangerous commands, contents of crash reports.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ADMIN_ADMIN_SETTINGS_H
#define ADMIN_ADMIN_SETTINGS_H

#include "platform.h"

/* The clients that may use a dangerous command: none, all, or those on the same machine. */
enum { ACCESS_NO, ACCESS_YES, ACCESS_LOCAL };

typedef struct adminSettings {
    int enable_debug_command, enable_module_command, enable_protected_configs; /* ACCESS_ */
    bool enable_debug_assert; /* has no effect: debugAssert() is chosen at build time */
    bool extended_redis_compatibility;
    char *debug_context; /* owns: a text for the crash report */
} adminSettings;
extern adminSettings admin_settings;

/* Registers the settings. Call at startup only. */
void adminSettingsRegister(void);

#endif
