/* migrate.h -- MIGRATE: keys move to another server.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPL_MIGRATE_H
#define REPL_MIGRATE_H

#include "command_table.h"

/* MIGRATE host port key|"" destination-db timeout [COPY] [REPLACE] [AUTH password | AUTH2 user password]
 * [KEYS key ...] */
void migrateCommand(client *c);
/* Its keys: those behind KEYS, or the one in its place. Any thread. */
commandKeysFn migrateGetKeys;

#endif
