/* store_setting_table.h -- the names, ranges and effects of the keyspace's settings.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef STORE_STORE_SETTING_TABLE_H
#define STORE_STORE_SETTING_TABLE_H

/* As maxmemory-policy shows it. */
const char *storeMaxmemoryPolicyName(void);
/* Boot only. */
void storeSettingsRegister(void);

#endif
