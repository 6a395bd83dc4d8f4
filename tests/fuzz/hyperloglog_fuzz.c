/* hyperloglog_fuzz.c -- feeds any string, as clients can set it, to every function of hyperloglog.h, in a block of
 * exactly its size.
 *
 * The first two bytes of the input select a register and its new value; the rest are runs.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "hyperloglog.h"
#include "panic.h"
#include "zmalloc.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2) return 0;
    hllElement e = {(unsigned)(data[0] | data[1] << 8) % HLL_REGISTERS, 1 + data[1] % 51};
    data += 2, size -= 2;
    size_t len = HLL_HEADER_BYTES + size;
    char *bytes = zmalloc(len), *room = zmalloc(len + HLL_GROWTH);
    memcpy(bytes, "HYLL\1\0\0\0\0\0\0\0\0\0\0\x80", HLL_HEADER_BYTES);
    if (size) memcpy(bytes + HLL_HEADER_BYTES, data, size);
    slice hll = sliceOf(bytes, len);
    uint8_t registers[HLL_REGISTERS] = {0};
    uint64_t count;
    bool sound = hllIsSound(hll);
    serverAssert(hllHasHeader(hll) && hllEstimate(hll, &count) == sound && hllMerge(registers, hll) == sound);
    hllPosition position = {0};
    hllVerdict answer = hllProbe(hll, e, 3000, &position);
    serverAssert(!sound || answer != HLL_CORRUPT);
    serverAssert(!sound || (answer == HLL_PRESENT) == (registers[e.index] >= e.rank));
    if (answer == HLL_RAISES) {
        memcpy(room, bytes, len);
        size_t grown = hllRaise(room, len, e, &position);
        slice raised = sliceOf(room, grown);
        serverAssert(grown <= len + HLL_GROWTH && hllIsSound(raised) == sound);
        position = (hllPosition){0};
        serverAssert(hllProbe(raised, e, 3000, &position) == HLL_PRESENT);
    }
    zfree(bytes);
    zfree(room);
    return 0;
}
