/* migrate.h -- MIGRATE: moves keys to another server.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPL_MIGRATE_H
#define REPL_MIGRATE_H

#include "command_table.h"

/* MIGRATE host port key|"" destination-db timeout [COPY] [REPLACE] [AUTH password | AUTH2 user password]
 * [KEYS key ...] */
void migrateCommand(client *c);
/* Finds the keys of MIGRATE: those after KEYS, or the one in the third argument. Any thread. */
commandKeysFn migrateGetKeys;

#endif
