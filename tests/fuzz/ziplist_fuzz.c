/* ziplist_fuzz.c -- bytes that an old file could hold: refused, or made into a listpack that is whole.
 *
 * The first byte of the input chooses between ziplist and zipmap; the rest is the bytes.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ziplist.h"
#include "listpack.h"
#include "panic.h"
#include "zmalloc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    bool map = data[0] & 1;
    data++, size--;
    /* A block of its own, so that a step outside is seen at both ends. */
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
