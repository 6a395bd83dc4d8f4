/* snapshot_peek.h -- whether the RDB that a primary begins to send has keys, before anything is done for it.
 *
 * Runs on: the job's thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPL_SNAPSHOT_PEEK_H
#define REPL_SNAPSHOT_PEEK_H

#include "link_job.h"

/* Reads from the connection until the first key of the RDB, or its end, has arrived, and sets job->is_empty. The bytes
 * stay in the `early` bytes. Call when the header has been read into job->frame. An RDB is taken for one with keys if
 * it has a fault, or no key in its first megabyte. Returns false with errno if the connection fails. */
bool snapshotPeek(linkJob *job) must_check;

#endif
