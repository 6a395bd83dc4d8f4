/* transaction.h -- MULTI, EXEC, DISCARD, WATCH, UNWATCH: commands that run as one, if no watched key has changed.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_TRANSACTION_H
#define ENGINE_TRANSACTION_H

#include "command_table.h"

commandHandler multiCommand, execCommand, discardCommand, watchCommand, unwatchCommand;

#endif
