/* intset_fuzz.c -- feeds any bytes as an intset of a file: they are rejected, or every function of intset.h works on
 * them.
 *
 * The first byte of the input selects the value that is added and removed; the rest is the set.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "intset.h"
#include "panic.h"
#include "zmalloc.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static intset *change(intset *set, int64_t value) {
    size_t n = intsetLength(set);
    bool was_there = intsetFind(set, value), added, removed;
    set = intsetAdd(set, value, &added);
    serverAssert(added == !was_there && intsetLength(set) == n + added && intsetFind(set, value));
    serverAssert(intsetValidate(set, intsetBytes(set), true));
    set = intsetRemove(set, value, &removed);
    serverAssert(removed && intsetLength(set) == n + added - 1 && !intsetFind(set, value));
    serverAssert(n + added == 1 || intsetValidate(set, intsetBytes(set), true));
    return set;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    int64_t value = (int64_t)(((uint64_t)(data[0] & 31) << (data[0] >> 5) * 9) - 8);
    data++, size--;
    uint8_t *bytes = zmalloc(size ? size : 1);
    memcpy(bytes, data, size);
    bool shallow = intsetValidate(bytes, size, false);
    if (intsetValidate(bytes, size, true)) {
        serverAssert(shallow);
        intset *set = intsetDup(bytes);
        serverAssert(intsetBytes(set) == size);
        serverAssert(intsetMin(set) <= intsetMax(set));
        for (size_t i = 0; i < intsetLength(set) && i < 4096; i++) serverAssert(intsetFind(set, intsetAt(set, i)));
        set = change(set, value);
        set = change(set, INT64_MIN);
        intsetFree(change(set, INT64_MAX));
    }
    zfree(bytes);
    return 0;
}
