/* snapshot_check.h -- checks that received bytes are a complete snapshot.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_SNAPSHOT_CHECK_H
#define CLI_SNAPSHOT_CHECK_H

#include "platform.h"

#define SNAPSHOT_TAIL_BYTES 8

typedef struct snapshotCheck {
    char head[9]; /* magic and version */
    size_t head_len;
    char tail[SNAPSHOT_TAIL_BYTES]; /* the last bytes, which may be the checksum */
    size_t tail_len;
    uint64_t crc; /* of all bytes before the tail */
} snapshotCheck;  /* initially all zero */

/* Adds the next bytes that were received. */
void snapshotCheckAdd(snapshotCheck *c, const char *bytes, size_t len);
/* Call after all bytes. Returns NULL if they are a complete snapshot, or else the reason why not. */
const char *snapshotCheckEnd(const snapshotCheck *c);

#endif
