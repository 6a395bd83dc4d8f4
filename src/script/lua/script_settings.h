/* script_settings.h -- the settings of this layer.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_SCRIPT_SETTINGS_H
#define SCRIPT_SCRIPT_SETTINGS_H

#include "platform.h"

typedef struct scriptSettings {
    long long busy_reply_threshold_ms; /* a script that runs longer lets other clients be served; 0: never */
    bool lua_enable_insecure_api;      /* new interpreters have getfenv(), setfenv() and newproxy() */
} scriptSettings;
extern scriptSettings script_settings;

/* Call at startup. */
void scriptSettingsRegister(void);

#endif
