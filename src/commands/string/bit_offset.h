/* bit_offset.h -- parses the argument of a command that is a bit offset in a string.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef COMMANDS_BIT_OFFSET_H
#define COMMANDS_BIT_OFFSET_H

#include "reply.h"
#include "engine_settings.h"

/* Reads the bit offset in argument `index`. If `width` is not 0, "#N" is the offset of integer N in an array of
 * integers of `width` bits. Returns false, after an error reply, if it is no number or beyond the longest string
 * allowed. */
static inline bool getBitOffsetFromArg(client *c, uint32_t index, unsigned width, uint64_t *out) {
    slice text = c->argv[index];
    bool fields = width && text.len && text.ptr[0] == '#';
    long long offset;

    if (fields) text = sliceOf(text.ptr + 1, text.len - 1);
    if (!string2ll(text.ptr, text.len, &offset) || offset < 0 ||
        (fields && __builtin_mul_overflow(offset, (long long)width, &offset)) || offset >> 3 >= string_bytes_max) {
        addReplyError(c, "bit offset is not an integer or out of range");
        return false;
    }
    *out = (uint64_t)offset;
    return true;
}

#endif
