/* script_settings.h -- the settings of this layer.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_SCRIPT_SETTINGS_H
#define SCRIPT_SCRIPT_SETTINGS_H

typedef struct scriptSettings {
    long long busy_reply_threshold_ms; /* a script that runs longer lets others in; 0: never */
} scriptSettings;
extern scriptSettings script_settings;

/* Boot only. */
void scriptSettingsRegister(void);

#endif
