/* snapshot.h -- the life of snapshots: when one is made, by whom, and what its end means.
 *
 * Runs on: main; what may fork or wait for the disk, main's own thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_SNAPSHOT_H
#define PERSIST_SNAPSHOT_H

#include "client.h"
#include "rdb_save.h"

/* Boot: from now on there is a last save. */
void snapshotInit(void);
/* Each tick: start what is due or scheduled; say again that snapshots fail. */
void snapshotTick(void);
/* Whether the settings have a save point. */
bool snapshotHasSavePoints(void);
/* While it is on, save points are not due and a shutdown saves nothing by itself, because the file may be the last copy
 * of what the dataset was. A snapshot that a command asks for is made, and ends it. */
void snapshotHold(bool on);
/* Whether a shutdown saves by itself: there are save points, and they are not held. */
bool snapshotAtShutdown(void);
/* Write the dataset to its file and wait for the disk; the changes of which it consists count no more. False with a
 * line in the log. */
bool snapshotWriteNow(void);
/* End a child that writes a snapshot, and remove what it has written. Waits for both. */
void snapshotAbandon(void);
/* The same without waiting, from a signal handler that ends the process. */
void snapshotAbandonFromSignal(void);
/* Boot: where the dataset stands in a stream of replication, for files; false: in none. */
void snapshotSetReplication(bool (*fill)(rdbReplication *out));
/* Boot: `fn` is called when a child that wrote a snapshot has ended; `file` is the path of the snapshot, which the
 * present `dir` and `dbfilename` need not name any more. */
void snapshotOnEnd(void (*fn)(bool ok, const char *file));
/* A child begins to write a snapshot that is for replicas. False with errno, and a line in the log. */
bool snapshotStart(void) must_check;
/* FLUSHALL has emptied all databases: a child that still writes them ends, and so does what the file has of them. */
void snapshotAllFlushed(void);

/* What INFO shows. Seconds of the wall clock; -1: never, or not now. */
typedef struct snapshotFigures {
    bool in_progress, last_ok;
    int64_t last_save_s;
    long long last_took_s, current_took_s;
    long long saves;
    size_t last_cow_bytes;
} snapshotFigures;
snapshotFigures snapshotFiguresNow(void);
/* CONFIG RESETSTAT. */
void snapshotResetStats(void);

/* SAVE, BGSAVE [SCHEDULE | CANCEL], LASTSAVE */
void saveCommand(client *c);
void bgsaveCommand(client *c);
void lastsaveCommand(client *c);

#endif
