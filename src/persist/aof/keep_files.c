/* keep_files.c -- protects the files that a start reads while the dataset in memory must not replace them.
 *
 * A load that fails leaves an empty dataset. The files may then be the last copy of the previous dataset, so nothing
 * that the server does by itself may replace them: neither a rewrite of the append-only file nor a snapshot.
 *
 * Not here    how the log stops (aof.c); when a snapshot is due (snapshot.c).
 * Threads     main's own.
 * Tests       tests/repl/broken_sync.tcl, tests/persist/turn_on.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */

#include "aof.h"
#include "snapshot.h"

void keepFilesBegin(void) {
    aofSuspend();
    snapshotHold(true);
}

bool keepFilesEnd(const char *received) {
    snapshotHold(false);
    return aofResume(received);
}
