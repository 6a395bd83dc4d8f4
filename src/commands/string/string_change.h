/* string_change.h -- changes strings in place, and converts ranges and bit offsets that are arguments.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef COMMANDS_STRING_CHANGE_H
#define COMMANDS_STRING_CHANGE_H

#include "client.h"

/* Makes the value of `o` writable, with a capacity of `capacity` bytes, which the caller has got from
 * commandMemoryReserve(). Returns the entry that the key has now. */
robj *stringMakeWritable(client *c, hashedKey key, robj *o, size_t capacity);
/* Makes the string `o` of `key` writable and sets its length to `len`, at least its present length; creates the key if
 * `o` is NULL. New bytes before offset `zero_to` are zero, the caller writes the others. Returns the entry that the key
 * has now; NULL, after an error reply and without a change, if there is no memory. */
robj *stringOpen(client *c, hashedKey key, robj *o, size_t len, size_t zero_to) must_check;

/* Converts a range whose positions may count from the end (negative) to from..to within `len`. Returns false if the
 * range is empty. */
static inline bool clampRange(long long *from, long long *to, long long len) {
    if (len == 0 || (*from < 0 && *to < 0 && *from > *to)) return false;
    if (*from < 0) *from = *from < -len ? 0 : *from + len;
    if (*to < 0) *to = *to < -len ? 0 : *to + len;
    if (*to >= len) *to = len - 1;
    return *from <= *to;
}

/* Reads the bit offset in argument `index`. If `width` is not 0, "#N" is the offset of integer N in an array of
 * integers of `width` bits. Returns false, after an error reply, if it is no number or beyond the longest string
 * allowed. */
bool getBitOffsetFromArg(client *c, uint32_t index, unsigned width, uint64_t *out) must_check;

#endif
