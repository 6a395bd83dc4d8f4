/* string_change.h -- strings that a command reads a range of, or changes where they lie.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef COMMANDS_STRING_CHANGE_H
#define COMMANDS_STRING_CHANGE_H

#include "client.h"

/* Make the value of `o` writable up to `capacity` bytes, which commandMemoryReserve() has granted. Gives the entry that
 * the key has now. */
robj *stringMakeWritable(client *c, hashedKey key, robj *o, size_t capacity);
/* Open the string `o` of `key` for a change at any place in `len` bytes, at least as many as it has; NULL: the key is
 * not there, and gets a string. New bytes before `zero_to` are zero, the caller writes the others. Gives the entry that
 * the key has now; NULL: there is no memory, an error was sent and nothing has changed. */
robj *stringOpen(client *c, hashedKey key, robj *o, size_t len, size_t zero_to) must_check;

/* Turn a range with positions counted from either end into from..to inside `len`. False: it is empty. */
static inline bool clampRange(long long *from, long long *to, long long len) {
    if (len == 0 || (*from < 0 && *to < 0 && *from > *to)) return false;
    if (*from < 0) *from = *from < -len ? 0 : *from + len;
    if (*to < 0) *to = *to < -len ? 0 : *to + len;
    if (*to >= len) *to = len - 1;
    return *from <= *to;
}

#endif
