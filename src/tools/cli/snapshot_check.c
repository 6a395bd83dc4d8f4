/* snapshot_check.c -- checks that received bytes are a complete snapshot.
 *
 * A snapshot begins with a magic, and its last eight bytes are the checksum of all bytes before, or zero if the server
 * computes none. A correct checksum also shows that no byte is missing.
 *
 * Not here    checking the contents (valkey-check-rdb).
 * Owns        nothing.
 * Tests       tests/unit/tools/snapshot_check_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "snapshot_check.h"
#include "hash.h"
#include "endian.h"
#include <string.h>

#define CHECKSUM_SINCE 5 /* first version of the format with a checksum */

void snapshotCheckAdd(snapshotCheck *c, const char *bytes, size_t len) {
    size_t head = sizeof(c->head) - c->head_len;
    if (head > len) head = len;
    memcpy(c->head + c->head_len, bytes, head);
    c->head_len += head;
    if (len >= SNAPSHOT_TAIL_BYTES) {
        size_t body = len - SNAPSHOT_TAIL_BYTES;
        c->crc = crc64(c->crc, c->tail, c->tail_len);
        c->crc = crc64(c->crc, bytes, body);
        memcpy(c->tail, bytes + body, SNAPSHOT_TAIL_BYTES);
        c->tail_len = SNAPSHOT_TAIL_BYTES;
        return;
    }
    char both[2 * SNAPSHOT_TAIL_BYTES];
    memcpy(both, c->tail, c->tail_len);
    memcpy(both + c->tail_len, bytes, len);
    size_t all = c->tail_len + len, body = all > SNAPSHOT_TAIL_BYTES ? all - SNAPSHOT_TAIL_BYTES : 0;
    c->crc = crc64(c->crc, both, body);
    c->tail_len = all - body;
    memcpy(c->tail, both + body, c->tail_len);
}

/* Returns the version after the magic; -1 if there is none. */
static int versionOf(const snapshotCheck *c) {
    size_t magic = memcmp(c->head, "VALKEY", 6) == 0 ? 6 : memcmp(c->head, "REDIS", 5) == 0 ? 5 : sizeof(c->head);
    int version = magic < sizeof(c->head) ? 0 : -1;
    for (size_t i = magic; i < sizeof(c->head); i++) {
        if (c->head[i] < '0' || c->head[i] > '9') return -1;
        version = 10 * version + (c->head[i] - '0');
    }
    return version;
}

const char *snapshotCheckEnd(const snapshotCheck *c) {
    int version = c->head_len < sizeof(c->head) ? -1 : versionOf(c);
    if (version < 0) return "it does not begin like an RDB file";
    uint64_t checksum = loadLe64(c->tail);
    if (version < CHECKSUM_SINCE || (checksum == 0 && c->tail_len == SNAPSHOT_TAIL_BYTES)) return NULL;
    return c->tail_len == SNAPSHOT_TAIL_BYTES && checksum == c->crc ? NULL : "its checksum is wrong";
}
