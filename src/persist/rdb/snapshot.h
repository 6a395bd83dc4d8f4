/* snapshot.h -- when snapshots are made, by a command, a save point or a schedule, and what follows their end.
 *
 * Runs on: main; functions that fork or wait for the disk, main's own thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_SNAPSHOT_H
#define PERSIST_SNAPSHOT_H

#include "client.h"
#include "rdb_save.h"

/* Call at startup: sets the time of the last save to now. */
void snapshotInit(void);
/* Call at each tick: starts a snapshot that is due or scheduled, and logs from time to time that saving fails. */
void snapshotTick(void);
/* Returns true if the settings have a save point. */
bool snapshotHasSavePoints(void);
/* While on, save points are not due and a shutdown does not save by itself, because the file may be the last copy of
 * the dataset that a failed load replaced. A snapshot that a command asks for is still made, and turns this off. */
void snapshotHold(bool on);
/* Returns whether a shutdown saves by itself: if there are save points and they are not held. */
bool snapshotAtShutdown(void);
/* Writes the dataset to its file and waits for the disk. Resets the number of changes. Returns false, and logs a line,
 * if it fails. */
bool snapshotWriteNow(void);
/* Kills a child that writes a snapshot and removes its temporary file. Waits for both. */
void snapshotAbandon(void);
/* Does the same without waiting, for a signal handler that ends the process. */
void snapshotAbandonFromSignal(void);
/* Sets a function that fills in the dataset's position in the replication stream, for files; it returns false if there
 * is none. Startup only. */
void snapshotSetReplication(bool (*fill)(rdbReplication *out));
/* Sets a function that is called when a child that wrote a snapshot has ended; `file` is the path of the snapshot, as
 * `dir` and `dbfilename` may have changed since. Startup only. */
void snapshotOnEnd(void (*fn)(bool ok, const char *file));
/* Starts a child that writes a snapshot to the usual file, from where replicas will get it. Returns false with errno,
 * and logs a line, if it cannot be started. */
bool snapshotStart(void) must_check;
/* Call after FLUSHALL has emptied all databases: kills a child that still writes them, and with save points writes an
 * empty snapshot. */
void snapshotAllFlushed(void);

/* INFO fields. `in_progress` is also true while a scheduled snapshot waits for a quiet moment: a program that polls for
 * the end of the one that it has asked for must not take it for written. Times are seconds of the wall clock; -1 means
 * never, or not now. */
typedef struct snapshotFigures {
    bool in_progress, last_ok;
    int64_t last_save_s;
    long long last_took_s, current_took_s;
    long long saves;
    size_t last_cow_bytes;
} snapshotFigures;
snapshotFigures snapshotFiguresNow(void);
/* Resets the number of saves, for CONFIG RESETSTAT. */
void snapshotResetStats(void);

/* The handlers of SAVE, BGSAVE [SCHEDULE | CANCEL] and LASTSAVE. */
void saveCommand(client *c);
void bgsaveCommand(client *c);
void lastsaveCommand(client *c);

#endif
