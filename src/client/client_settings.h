/* client_settings.h -- the settings of this layer.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLIENT_CLIENT_SETTINGS_H
#define CLIENT_CLIENT_SETTINGS_H

#include "platform.h"

typedef struct clientSettings {
    bool offload; /* io-threads-reply-offload */
} clientSettings;
extern clientSettings client_settings;

/* Registers the settings. Call at startup. */
void clientSettingsRegister(void);

#endif
