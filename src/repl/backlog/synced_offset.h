/* synced_offset.h -- up to which offset the replication stream is on this replica's disk.
 *
 * The replication stream and the append-only file count bytes differently. So a replica records pairs: its replication
 * offset and, at the same moment, the end of its log. When the log is synced up to the recorded end, the replication
 * stream is on disk up to the recorded offset.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPL_SYNCED_OFFSET_H
#define REPL_SYNCED_OFFSET_H

#include "platform.h"

/* All 0 if nothing is known to be synced. */
typedef struct syncedOffset {
    uint64_t synced;     /* the replication offset up to which all is on the disk */
    uint64_t offset;     /* the recorded replication offset; 0 if there is no pair */
    uint64_t log_offset; /* the end of the log at that moment */
} syncedOffset;

/* Call when a link to a primary begins: offsets in another replication stream mean nothing in this one. */
void syncedOffsetForget(syncedOffset *p);
/* Returns the replication offset up to which all is known to be on the disk. Records the present pair if there is none,
 * or if the last one has just been synced. The log must be on. `offset` is the offset that is applied, `log_offset` the
 * end of the log: all applied commands are before it, or in the base file. `is_synced` returns whether the log is
 * synced up to an offset. */
uint64_t syncedOffsetUpdate(syncedOffset *p, uint64_t offset, uint64_t log_offset,
                            bool (*is_synced)(uint64_t log_offset));

#endif
