/* net_options.h -- the options of the net layer, as one table for admin/config_table.c.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_NET_OPTIONS_H
#define NET_NET_OPTIONS_H

#include "settings.h"

extern const setting net_settings[]; /* ended by SETTINGS_END */

#endif
