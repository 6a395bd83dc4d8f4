/* net_setting_table.h -- the settings of the net layer: names, ranges and effects.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_NET_SETTING_TABLE_H
#define NET_NET_SETTING_TABLE_H

/* Boot only. */
void netSettingsRegister(void);

#endif
