/* snapshot_reader.h -- the bytes of a snapshot as they come from the primary: of a known length, or up to a mark.
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
    char stash[SNAPSHOT_STASH_BYTES]; /* for who asks for a few bytes at a time */
    size_t stash_at, stash_len;
} snapshotReader;

/* Behind the header. */
void snapshotReaderBegin(snapshotReader *r, linkJob *job);
/* As read(2): bytes of the snapshot; 0 when it is complete, -1 with errno when it will not be. */
ssize_t snapshotRead(snapshotReader *r, void *buf, size_t len);

/* The work of a job that has the header: receive the snapshot into the file at job->path, and sync it. */
void snapshotReceiveWork(linkJob *job);

#endif
