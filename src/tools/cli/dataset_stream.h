/* dataset_stream.h -- receives a server's dataset as a replica does.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_DATASET_STREAM_H
#define CLI_DATASET_STREAM_H

#include "progress_line.h"
#include "cli_connection.h"
#include "snapshot_frame.h"

typedef struct datasetStream {
    serverLink *link; /* borrowed */
    snapshotFrameScan scan;
    uint64_t received;
    progressLine progress;
} datasetStream;

/* Sends REPLCONF: a capability or a filter of this replica. Returns false if the server rejects it or the connection
 * breaks; with `needed` it also prints a line on stderr. */
bool datasetOption(cliConnection *c, const char *name, const char *value, bool needed);
/* Sends SYNC and waits for the header of the dataset; a terminal shows a message meanwhile. Returns false after a
 * line on stderr. */
bool datasetBegin(datasetStream *d, cliConnection *c) must_check;
/* Like read(2), for `size` bytes, which must be more than SNAPSHOT_MARK_BYTES. Returns 0 at the end of the dataset, -1
 * after a line on stderr. Shows the progress on a terminal. */
ssize_t datasetRead(datasetStream *d, char *buf, size_t size);

#endif
