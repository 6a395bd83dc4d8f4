/* endian.h -- fixed-width integers as little-endian bytes, as in disk and wire formats.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_ENDIAN_H
#define BASE_ENDIAN_H

#include "platform.h"
#include <string.h>

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define LE64(x) (x)
#define LE32(x) (x)
#define LE16(x) (x)
#else
#define LE64(x) __builtin_bswap64(x)
#define LE32(x) __builtin_bswap32(x)
#define LE16(x) __builtin_bswap16(x)
#endif

static inline uint64_t loadLe64(const void *p) {
    uint64_t v;
    memcpy(&v, p, 8);
    return LE64(v);
}
static inline uint32_t loadLe32(const void *p) {
    uint32_t v;
    memcpy(&v, p, 4);
    return LE32(v);
}
static inline uint16_t loadLe16(const void *p) {
    uint16_t v;
    memcpy(&v, p, 2);
    return LE16(v);
}
static inline void storeLe64(void *p, uint64_t v) {
    v = LE64(v);
    memcpy(p, &v, 8);
}
static inline void storeLe32(void *p, uint32_t v) {
    v = LE32(v);
    memcpy(p, &v, 4);
}
static inline void storeLe16(void *p, uint16_t v) {
    v = LE16(v);
    memcpy(p, &v, 2);
}

#endif
