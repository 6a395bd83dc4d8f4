/* hot_keys_cmd.h -- HOTKEYS: START, STOP, GET, RESET, HELP.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_HOT_KEYS_CMD_H
#define ENGINE_HOT_KEYS_CMD_H

#include "client.h"

/* Call from cron: stops a session whose DURATION has passed. */
void hotkeysTick(void);

void hotkeysStartCommand(client *c);
void hotkeysStopCommand(client *c);
void hotkeysGetCommand(client *c);
void hotkeysResetCommand(client *c);

#endif
