/* dataset_stream.h -- a server's dataset, asked for as a replica does.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_DATASET_STREAM_H
#define CLI_DATASET_STREAM_H

#include "progress_line.h"
#include "session.h"
#include "snapshot_frame.h"

typedef struct datasetStream {
    serverLink *link; /* borrowed */
    snapshotFrameScan scan;
    uint64_t received;
    progressLine progress;
} datasetStream;

/* REPLCONF: what this replica can do, or wants. False when the server does not know it or the connection broke; with
 * `needed` a line on stderr says so. */
bool datasetOption(cliSession *s, const char *name, const char *value, bool needed);
/* SYNC, and wait for the header; on a terminal with a word about it. False after a line on stderr. */
bool datasetBegin(datasetStream *d, cliSession *s) must_check;
/* As read(2), for `room` bytes of more than SNAPSHOT_MARK_BYTES: 0 when all has come, -1 after a line on stderr. A
 * terminal sees how much it is so far. */
ssize_t datasetRead(datasetStream *d, char *buf, size_t room);

#endif
