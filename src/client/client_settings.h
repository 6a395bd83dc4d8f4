/* client_settings.h -- the options of this layer.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLIENT_CLIENT_SETTINGS_H
#define CLIENT_CLIENT_SETTINGS_H

#include "settings.h"

extern const setting client_settings[]; /* ended by SETTINGS_END */

#endif
