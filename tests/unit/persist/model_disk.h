/* model_disk.h -- a simulated disk that knows what a crash would leave.
 *
 * Before each call a test may check the state after a loss of power or a kill. Any call can be made to fail.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_MODEL_DISK_H
#define TESTS_MODEL_DISK_H

#include "aof_system.h"
#include "sds.h"

typedef enum { CALL_OPEN, CALL_WRITE, CALL_SYNC, CALL_TRUNCATE, CALL_RENAME, CALL_UNLINK, CALL_KINDS } diskCall;

/* States after a crash: the least after a loss of power, the state after a kill, names without the bytes, or the
 * manifest's name before all others. */
typedef enum { DISK_LEAST, DISK_ALL, DISK_NAMES, DISK_MANIFEST, DISK_VIEWS } diskView;

/* Empties the disk, begins to use it, and calls `check` before each call, on the thread that makes it. */
void diskBegin(void (*check)(void));
void diskEnd(void);
/* Makes `per_mille` of a thousand calls of a kind fail with `error`; a failing write may write a part. */
void diskFail(diskCall kind, int per_mille, int error);
/* Sets the duration of a sync. */
void diskSlow(int us);
/* Returns the bytes of a file in this state, or NULL. The disk must not change meanwhile: call from `check`, or without
 * a thread. */
sds diskContent(diskView view, const char *path);
/* Makes a complete and synced file. */
void diskPut(const char *path, slice bytes);
/* Returns the number of calls of a kind. */
long diskCalls(diskCall kind);
long diskOpenFiles(void);
/* Returns the number of files whose blocks the AOF thread had to free. */
long diskFreedByAof(void);

#endif
