/* web_settings.h -- the settings of the metrics port.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEB_WEB_SETTINGS_H
#define WEB_WEB_SETTINGS_H

#include "platform.h"

#define WEB_BIND_MAX 16

typedef struct webSettings {
    long long port;           /* 0: off */
    char *bind[WEB_BIND_MAX]; /* owns */
    int bind_count;
} webSettings;
extern webSettings web_settings;

/* Call at startup. */
void webSettingsRegister(void);

#endif
