/* store_settings.h -- the options of this layer, for admin/config_table.c.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef STORE_STORE_SETTINGS_H
#define STORE_STORE_SETTINGS_H

#include "settings.h"

extern const setting store_settings[]; /* ended by SETTINGS_END; fields of store_conf */

#endif
