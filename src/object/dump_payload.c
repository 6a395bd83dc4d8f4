/* dump_payload.c -- the payload of DUMP and RESTORE: content, version and checksum.
 *
 * Not here    the bytes of a value (rdb_value.c), of libraries (script/functions/function_dump.c).
 * Owns        nothing.
 * Threads     any.
 * Tests       tests/unit/commands/keyspace/keys_test.c, tests/unit/script/functions/function_dump_test.c,
 *             tests/type/keys.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "dump_payload.h"

#include "hash.h"
#include "endian.h"
#include "rdb_value.h"

#define CRC_BYTES 8

sds dumpPayloadSealTake(sds content) {
    char footer[DUMP_FOOTER_BYTES];
    storeLe16(footer, RDB_VERSION);
    sds payload = sdsCatLen(content, footer, DUMP_FOOTER_BYTES - CRC_BYTES);
    storeLe64(footer, crc64(0, payload, sdsLen(payload)));
    return sdsCatLen(payload, footer, CRC_BYTES);
}

sds dumpPayloadOf(const robj *o, bool compress) { return dumpPayloadSealTake(rdbValueBytes(o, compress)); }

bool dumpPayloadIsGood(slice payload, bool relaxed, bool unchecked) {
    if (payload.len < DUMP_FOOTER_BYTES) return false;
    if (!rdbVersionIsReadable(loadLe16(payload.ptr + payload.len - DUMP_FOOTER_BYTES), relaxed)) return false;
    return unchecked ||
           crc64(0, payload.ptr, payload.len - CRC_BYTES) == loadLe64(payload.ptr + payload.len - CRC_BYTES);
}
