/* nodes_saver.h -- writes nodes.conf on a thread of its own, so that nothing else waits for the disk.
 *
 *   nodesSaverSave(7, text) --> waits --> file, fsync, rename, fsync of the folder --> {7, 0}   by nodesSaverNext()
 *                                 ^ a newer version takes its place
 *
 * Versions are numbers that the caller makes. When one is on disk, all before it are: each text is the whole file. A
 * version that failed is not tried again: the caller saves it once more, or a newer one.
 *
 * Runs on: any thread, unless a function says otherwise.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLUSTER_NODES_SAVER_H
#define CLUSTER_NODES_SAVER_H

#include "ae.h"
#include "sds.h"

typedef struct nodesSaved {
    uint64_t version;
    int error; /* 0: on disk; otherwise errno, and the file on disk is an older version, or this one if only the sync of
                * the folder failed */
} nodesSaved;

/* Starts the thread for the cluster-config-file `name`, which stays in the present working directory whatever CONFIG
 * SET dir does, and removes temporary files that a crash left beside it. A name that is a symbolic link becomes a file
 * by the first save, as in Valkey. `wakeup` is sent after each result and borrowed until nodesSaverStop(); NULL: the
 * caller polls. Returns false with errno. Main's own thread, at startup, after nodesLockTake(). */
bool nodesSaverStart(const char *name, const aeWakeup *wakeup) must_check;
/* Saves `text` (takes ownership) as this version, and returns at once. It replaces a version that waits for the one
 * that is being written. A version that is older than one already passed is dropped. */
void nodesSaverSave(uint64_t version, sds text);
/* Removes the oldest result and stores it in *result. Returns false if there is none. A version that was replaced or
 * dropped has no result of its own. */
bool nodesSaverNext(nodesSaved *result) must_check;
/* Like nodesSaverSave(), and waits until this version or a newer one is on disk, or the last one tried has failed.
 * There is a result for nodesSaverNext() as well. Returns 0 or errno. For startup, CLUSTER SAVECONFIG and shutdown. */
int nodesSaverSaveNow(uint64_t version, sds text) must_check;
/* Adds the longest durations of the steps of writing to LATENCY, if they are long enough. Main, at each tick. */
void nodesSaverReportLatency(void);
/* Writes what waits, ends the thread, and frees results that were not taken. Main's own thread. */
void nodesSaverStop(void);

#endif
