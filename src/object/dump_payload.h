/* dump_payload.h -- the payload of DUMP and RESTORE: content, version and checksum.
 *
 *   +----------------+-------------------+------------------+
 *   | content in RDB  | RDB version       | CRC-64 of all    |
 *   | format         | 2, little-endian  | before, 8, l.-e. |
 *   +----------------+-------------------+------------------+
 *
 * Threads     any: functions use only their arguments.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef OBJECT_DUMP_PAYLOAD_H
#define OBJECT_DUMP_PAYLOAD_H

#include "object.h"
#include "sds.h"
#include "slice.h"

#define DUMP_FOOTER_BYTES 10

/* Appends version and checksum to `content`, which it takes, and returns the payload. */
sds dumpPayloadSealTake(sds content) must_check;
/* Returns the payload of an entry's value, as RESTORE accepts it. */
sds dumpPayloadOf(const robj *o, bool compress) must_check;
/* Returns whether version and checksum are valid. `relaxed` accepts every version, `unchecked` every checksum. If true,
 * the payload has at least DUMP_FOOTER_BYTES; the bytes before these may still be malformed. */
bool dumpPayloadIsGood(slice payload, bool relaxed, bool unchecked);

#endif
