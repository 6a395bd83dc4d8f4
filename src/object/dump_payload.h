/* dump_payload.h -- bytes that one server gives to another: what they say, then a version and a checksum.
 *
 *   +----------------+-------------------+------------------+
 *   | as RDB has it  | RDB version       | CRC-64 of all    |
 *   |                | 2, little-endian  | before, 8, l.-e. |
 *   +----------------+-------------------+------------------+
 *
 * Threads     any: a function knows only its arguments.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef OBJECT_DUMP_PAYLOAD_H
#define OBJECT_DUMP_PAYLOAD_H

#include "object.h"
#include "sds.h"
#include "slice.h"

#define DUMP_FOOTER_BYTES 10

/* Version and checksum behind what `content` says (takes it). */
sds dumpPayloadSealTake(sds content) must_check;
/* The value of an entry, whole: what RESTORE takes. */
sds dumpPayloadOf(const robj *o, bool compress) must_check;
/* Whether version and checksum are good; `relaxed`: every version is, `unchecked`: every checksum is. If it returns
 * true, the payload has DUMP_FOOTER_BYTES at least. The bytes before them may still be nonsense. */
bool dumpPayloadIsGood(slice payload, bool relaxed, bool unchecked);

#endif
