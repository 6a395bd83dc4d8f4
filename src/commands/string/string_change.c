/* string_change.c -- changes strings in place, for APPEND, SETRANGE, SETBIT, BITFIELD and PFADD.
 *
 * Not here    reporting the change, which the command does (key_changed.h).
 * Threads     main.
 * Tests       tests/unit/commands/string/t_string_test.c, tests/type/bitmap.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "string_change.h"

#include "command_memory.h"
#include "db.h"
#include "engine_settings.h"
#include "reply.h"

#define GROW_SLACK (2 * 1024 * 1024) /* extra bytes that a growing value may get */

robj *stringMakeWritable(client *c, hashedKey key, robj *o, size_t capacity) {
    robj *writable = objectMakeWritableTake(o, capacity);

    dbReplaceEntry(c->db, o, writable, key);
    return writable;
}

robj *stringOpen(client *c, hashedKey key, robj *o, size_t len, size_t zero_to) {
    size_t old_len = o ? objectStringLen(o) : 0;

    if (!commandMemoryReserve(c, o ? objectWritableNeeds(o, len) : 2 * key.name.len + len + GROW_SLACK)) return NULL;
    if (!o) {
        o = objectCreateRawString(key.name, sliceOf("", 0), object_main_owner);
        dbAddTake(c->db, o, key);
    }
    o = stringMakeWritable(c, key, o, len);
    if (zero_to > old_len) memset(objectWritableBytes(o) + old_len, 0, zero_to - old_len);
    if (len != old_len) objectSetStringLen(o, len);
    return o;
}

bool getBitOffsetFromArg(client *c, uint32_t index, unsigned width, uint64_t *out) {
    slice text = c->argv[index];
    bool fields = width && text.len && text.ptr[0] == '#';
    long long offset;

    if (fields) text = sliceOf(text.ptr + 1, text.len - 1);
    if (!string2ll(text.ptr, text.len, &offset) || offset < 0 ||
        (fields && __builtin_mul_overflow(offset, (long long)width, &offset)) || offset >> 3 >= string_bytes_max) {
        return addReplyError(c, "bit offset is not an integer or out of range");
    }
    *out = (uint64_t)offset;
    return true;
}
