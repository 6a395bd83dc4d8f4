/* synced_offset.h -- how much of the primary's stream is on this server's disk.
 *
 * The stream and the append-only file count bytes differently. So a pair of offsets is noted: where the stream was when
 * the log ended there. When the log is synced up to the noted end, so is the stream up to the noted offset.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPL_SYNCED_OFFSET_H
#define REPL_SYNCED_OFFSET_H

#include "platform.h"

/* All 0: nothing is known to be synced. */
typedef struct syncedOffset {
    uint64_t synced;     /* the offset in the stream up to which all is on the disk */
    uint64_t offset;     /* the noted offset in the stream; 0: none */
    uint64_t log_offset; /* where the log ended then */
} syncedOffset;

/* Call when a session with a primary begins: offsets of another stream mean nothing in this one. */
void syncedOffsetForget(syncedOffset *p);
/* Returns up to which offset of the stream all is on the disk, as far as is known; notes the present pair when the last
 * one is used up. The log must be on. `offset` is where the stream is applied up to, `log_offset` where the log ends:
 * what was applied is before it, or in the base. `is_synced` tells whether the log is synced up to an offset. */
uint64_t syncedOffsetUpdate(syncedOffset *p, uint64_t offset, uint64_t log_offset,
                            bool (*is_synced)(uint64_t log_offset));

#endif
