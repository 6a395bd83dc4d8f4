/* expire_conditions.c -- NX, XX, GT, LT: the conditions under which EXPIRE, HEXPIRE and related commands act.
 *
 * Not here    the commands (expire_cmds.c, t_hash_expire.c).
 * Threads     main.
 * Tests       tests/type/keys.tcl, tests/type/hash_expire.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "expire_conditions.h"

#include "reply.h"

#define NO_TIME (-1)

enum { IF_NONE = 1, IF_SOME = 2, IF_GREATER = 4, IF_LESS = 8 }; /* NX XX GT LT */

bool expireConditionsParse(client *c, uint32_t first, uint32_t end, unsigned *conditions) {
    *conditions = 0;
    for (uint32_t i = first; i < end; i++) {
        slice word = c->argv[i];
        if (sliceIs(word, "nx")) {
            *conditions |= IF_NONE;
        } else if (sliceIs(word, "xx")) {
            *conditions |= IF_SOME;
        } else if (sliceIs(word, "gt")) {
            *conditions |= IF_GREATER;
        } else if (sliceIs(word, "lt")) {
            *conditions |= IF_LESS;
        } else {
            sds text = sdsCatLen(sdsNew("Unsupported option "), word.ptr, strnlen(word.ptr, word.len));
            addReplyErrorSlice(c, sdsSlice(text));
            sdsFree(text);
            return false;
        }
    }
    if ((*conditions & IF_NONE) && (*conditions & ~(unsigned)IF_NONE))
        return addReplyError(c, "NX and XX, GT or LT options at the same time are not compatible");
    if ((*conditions & IF_GREATER) && (*conditions & IF_LESS))
        return addReplyError(c, "GT and LT options at the same time are not compatible");
    return true;
}

bool expireConditionsHold(unsigned conditions, int64_t current_ms, int64_t when_ms) {
    if ((conditions & IF_NONE) && current_ms != NO_TIME) return false;
    if ((conditions & IF_SOME) && current_ms == NO_TIME) return false;
    if ((conditions & IF_GREATER) && (current_ms == NO_TIME || when_ms <= current_ms)) return false;
    if ((conditions & IF_LESS) && current_ms != NO_TIME && when_ms >= current_ms) return false;
    return true;
}
