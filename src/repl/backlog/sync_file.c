/* sync_file.c -- deletes RDB files that were written only for a full synchronization (rdb-del-sync-files).
 *
 * Threads     main.
 * Tests       tests/repl/sync.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "sync_file.h"

#include "log.h"
#include "persist_settings.h"
#include "snapshot.h"

#include <unistd.h>

void syncFileRelease(const char *file) {
    if (!persist_settings.rdb_del_sync_files || persist_settings.appendonly || snapshotHasSavePoints()) return;
    if (unlink(file) == 0)
        serverLog(LL_NOTICE, "Removed the RDB file of a synchronization, because this server has persistence disabled");
}
