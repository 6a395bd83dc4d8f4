/* config.h -- CONFIG: the settings of all layers, loaded at startup and then read and changed by clients.
 *
 * At startup: layers register; settingTableInit(); settingFileLoad(argc - 1, argv + 1); serverSettingsApply();
 *             settingFileWarnPending().
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ADMIN_CONFIG_H
#define ADMIN_CONFIG_H

#include "client.h"
#include "setting_file.h"
#include "setting_table.h"

/* Changes settings as CONFIG SET does, all or none. `pairs` alternates names and values; `count` is the number of
 * pairs. Returns false with *culprit (one of the names) and *err. The caller has checked that the names exist and may
 * be changed. */
bool configChange(sds *pairs, int count, const char **culprit, const char **err);

void configGetCommand(client *c);
void configSetCommand(client *c);
void configResetstatCommand(client *c);
void configRewriteCommand(client *c);

#endif
