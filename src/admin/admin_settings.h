/* admin_settings.h -- the settings of what administers the server: who may, and what it tells.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ADMIN_ADMIN_SETTINGS_H
#define ADMIN_ADMIN_SETTINGS_H

#include "platform.h"

/* Who may use a dangerous thing: enable-debug-command and its like. */
enum { ACCESS_NO, ACCESS_YES, ACCESS_LOCAL };

typedef struct adminSettings {
    int enable_debug_command, enable_module_command, enable_protected_configs; /* ACCESS_ */
    bool enable_debug_assert;     /* nobody reads it: debugAssert() is chosen when the program is built */
    bool hide_user_data_from_log; /* crash reports included */
    bool extended_redis_compatibility;
    char *availability_zone; /* owns: an sds; NULL: none */
    char *debug_context;     /* owns: words for the crash report */
} adminSettings;
extern adminSettings admin_settings;

/* Boot only. */
void adminSettingsRegister(void);

#endif
