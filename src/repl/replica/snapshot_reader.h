/* snapshot_reader.h -- reads an RDB from the primary's connection: of a known length, or up to a mark.
 *
 * Runs on: one thread at a time, the one that has the job.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPL_SNAPSHOT_READER_H
#define REPL_SNAPSHOT_READER_H

#include "link_job.h"

#define SNAPSHOT_STASH_BYTES 4096

typedef struct snapshotReader {
    linkJob *job; /* borrowed */
    snapshotFrameScan scan;
    char stash[SNAPSHOT_STASH_BYTES]; /* bytes that were read ahead, for callers that request a few at a time */
    size_t stash_at, stash_len;
} snapshotReader;

/* Initializes the reader. Call when the header has been read into job->frame. Borrows the job. */
void snapshotReaderBegin(snapshotReader *r, linkJob *job);
/* Reads bytes of the RDB like read(2). Returns 0 when it is complete, and -1 with errno on failure. */
ssize_t snapshotRead(snapshotReader *r, void *buf, size_t len);

/* The work() of a job that has read the header: writes the RDB to a new file at job->path and syncs it. On failure
 * deletes the file. */
void snapshotReceiveWork(linkJob *job);

#endif
