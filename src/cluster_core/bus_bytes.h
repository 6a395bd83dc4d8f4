/* bus_bytes.h -- big-endian integers, as frames of the bus have them; for bus_read.c and bus_write.c.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLUSTER_BUS_BYTES_H
#define CLUSTER_BUS_BYTES_H

#include "endian.h"

static inline uint16_t loadBe16(const void *p) { return __builtin_bswap16(loadLe16(p)); }
static inline uint32_t loadBe32(const void *p) { return __builtin_bswap32(loadLe32(p)); }
static inline uint64_t loadBe64(const void *p) { return __builtin_bswap64(loadLe64(p)); }
static inline void storeBe16(void *p, uint16_t v) { storeLe16(p, __builtin_bswap16(v)); }
static inline void storeBe32(void *p, uint32_t v) { storeLe32(p, __builtin_bswap32(v)); }
static inline void storeBe64(void *p, uint64_t v) { storeLe64(p, __builtin_bswap64(v)); }

/* Offsets in a header, and sizes in a body. */
enum {
    AT_LENGTH = 4,
    AT_VERSION = 8,
    AT_PORT = 10,
    AT_TYPE = 12,
    AT_GOSSIP = 14,
    AT_CURRENT_EPOCH = 16,
    AT_CONFIG_EPOCH = 24,
    AT_OFFSET = 32,
    AT_SENDER = 40,
    AT_SLOTS = 80,
    AT_PRIMARY = 2128,
    AT_IP = 2168,
    AT_EXTENSIONS = 2214,
    AT_OTHER_PORT = 2246,
    AT_BUS_PORT = 2248,
    AT_FLAGS = 2250,
    AT_STATE = 2252,
    AT_MARKS = 2253,
    UPDATE_BYTES = 8 + 40 + 2048,
    EXTENSION_HEAD = 8,
};
#define BUS_SIGNATURE "RCmb"
#define BUS_VERSION 1
#define BUS_LIGHT 0x8000 /* in the type */

enum { /* types of extensions */
       EXT_HOSTNAME,
       EXT_HUMAN_NAME,
       EXT_FORGOTTEN,
       EXT_SHARD,
       EXT_CLIENT_IPV4,
       EXT_CLIENT_IPV6,
       EXT_CLIENT_PORT,
       EXT_CLIENT_TLS_PORT,
       EXT_ZONE,
};

#endif
