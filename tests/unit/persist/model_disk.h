/* model_disk.h -- a disk in memory that knows what would be left of it.
 *
 * Before each call a test may look at what there would be if the power went or the process was killed. Any call can be
 * made to fail.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_MODEL_DISK_H
#define TESTS_MODEL_DISK_H

#include "aof_system.h"
#include "sds.h"

typedef enum { CALL_OPEN, CALL_WRITE, CALL_SYNC, CALL_TRUNCATE, CALL_RENAME, CALL_UNLINK, CALL_KINDS } diskCall;

/* What may be there after a loss of power: the least, what a kill leaves, names without the bytes, or the manifest's
 * name before all others. */
typedef enum { DISK_LEAST, DISK_ALL, DISK_NAMES, DISK_MANIFEST, DISK_VIEWS } diskView;

/* Empty it, put it into force, and call `check`, on the thread that makes it, before each call. */
void diskBegin(void (*check)(void));
void diskEnd(void);
/* Fail so many in a thousand of a kind of calls, with `error`; a failing write may write a part. */
void diskFail(diskCall kind, int per_mille, int error);
/* Let each sync take so long. */
void diskSlow(int us);
/* The bytes of a file in this view, or NULL. The disk must not change meanwhile: from `check`, or with no thread. */
sds diskContent(diskView view, const char *path);
/* Make a complete and synced file. */
void diskPut(const char *path, slice bytes);
/* Calls of a kind so far. */
long diskCalls(diskCall kind);
long diskOpenFiles(void);
/* Files whose blocks the AOF thread had to free. */
long diskFreedByAof(void);

#endif
