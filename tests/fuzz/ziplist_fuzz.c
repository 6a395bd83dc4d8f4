/* ziplist_fuzz.c -- feeds any bytes as a ziplist or zipmap of an old file: they are rejected, or converted to a valid
 * listpack.
 *
 * The first byte of the input selects ziplist or zipmap; the rest is its bytes.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "listpack.h"
#include "panic.h"
#include "zmalloc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    bool map = data[0] & 1;
    data++, size--;
    /* Separately allocated, so that an access outside is detected at both ends. */
    uint8_t *bytes = zmalloc(size ? size : 1);
    memcpy(bytes, data, size);
    uint8_t *lp = map ? zipmapToListpack(bytes, size) : ziplistToListpack(bytes, size);
    if (lp) {
        serverAssert(listpackValidate(lp, listpackBytes(lp), true, NULL, NULL));
        serverAssert(!map || (listpackCount(lp) > 0 && listpackCount(lp) % 2 == 0));
    }
    listpackFree(lp);
    zfree(bytes);
    return 0;
}
