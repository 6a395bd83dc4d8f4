/* config.h -- the settings of all layers: loaded at boot, then read and changed by CONFIG.
 *
 * At boot:  layers register; settingTableInit(); settingFileLoad(argc - 1, argv + 1); serverSettingsApply();
 *           settingFileWarnPending().
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ADMIN_CONFIG_H
#define ADMIN_CONFIG_H

#include "client.h"
#include "setting_file.h"
#include "setting_table.h"

/* Change settings as CONFIG SET does, all or none: names and values alternate, `count` is the number of pairs.
 * False with *culprit (one of the names) and *err. The names exist and may be changed: the caller checks. */
bool configChange(sds *pairs, int count, const char **culprit, const char **err);

void configGetCommand(client *c);
void configSetCommand(client *c);
void configResetstatCommand(client *c);
void configRewriteCommand(client *c);

#endif
