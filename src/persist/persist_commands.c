/* persist_commands.c -- the commands whose handlers are in this layer: SAVE, BGSAVE, LASTSAVE, BGREWRITEAOF, BACKUP.
 *
 * Owns        the array, for good.
 * Threads     main, at startup.
 * Tests       tests/type/command.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "persist.h"

#include "aof_rewrite.h"
#include "backup_commands.h"
#include "command_rows.h"
#include "snapshot.h"

static serverCommand rows[] = {
#include "persist_commands.def"
};

void persistCommandsRegister(void) {
    commandTableRegister(rows, array_len(rows));
    commandSetMainThread("bgrewriteaof");
    commandSetMainThread("bgsave"); /* the kernel ends a child together with the thread that forked it */
    commandSetMainThread("save");
}
