/* backup_commands.h -- BACKUP: a copy of the append-only file's folder, made by other programs, that starts.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_BACKUP_COMMANDS_H
#define PERSIST_BACKUP_COMMANDS_H

#include "aof_backup.h"
#include "client.h"

/* Call at startup. */
void backupInit(void);
/* Call at each tick: gives up a backup that is not used any more. */
void backupTick(void);
void backupStartCommand(client *c);
void backupSealCommand(client *c);
void backupStatusCommand(client *c);
void backupEndCommand(client *c);
/* Returns the backup, for INFO. */
const aofBackup *backupNow(void);
/* Resets its counters, for CONFIG RESETSTAT. */
void backupResetStats(void);

#endif
