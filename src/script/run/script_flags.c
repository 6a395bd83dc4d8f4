/* script_flags.c -- what a script or function declares: its first line, its flags, and whether they let it run.
 *
 * Owns        nothing.
 * Threads     main.
 * Tests       tests/script/eval.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "script_flags.h"

#include "command_table.h"
#include "gates.h"
#include "reply.h"
#include "slot_table.h"

#include <string.h>
#include <strings.h>

static const char *const names[] = {"no-writes", "allow-oom", "allow-stale", "no-cluster", "allow-cross-slot-keys"};

static_assert(array_len(names) == SCRIPT_FLAGS, "a name for each");

const char *scriptFlagName(unsigned i) { return names[i]; }

static uint32_t flagByName(slice name) {
    for (uint32_t i = 0; i < array_len(names); i++)
        if (sliceEq(name, sliceStr(names[i]))) return 1u << i;
    return 0;
}

/* Parses "no-writes,allow-oom"; an empty list has no flags. */
static sds readFlags(const char *list, uint32_t *flags) {
    while (*list) {
        size_t len = strcspn(list, ",");
        uint32_t flag = flagByName(sliceOf(list, len));
        if (!flag) return sdsCatPrintf(sdsEmpty(), "Unexpected flag in script shebang: %.*s", (int)len, list);
        *flags |= flag;
        list += len;
        if (*list == ',' && *++list == '\0') return sdsNew("Unexpected flag in script shebang: ");
    }
    return NULL;
}

/* Parses the words of the first line after the first one, which is "#!" and the name of the engine. */
static sds readWords(const sds *words, int count, scriptHead *head) {
    static const char option[] = "flags=";
    for (int i = 1; i < count; i++) {
        if (strncmp(words[i], option, sizeof(option) - 1) != 0)
            return sdsCatPrintf(sdsEmpty(), "Unknown lua shebang option: %s", words[i]);
        sds error = readFlags(words[i] + sizeof(option) - 1, &head->flags);
        if (error) return error;
    }
    if (strcasecmp(words[0] + 2, "lua") == 0) return NULL;
    return sdsCatPrintf(sdsEmpty(), "Could not find scripting engine '%s'", words[0] + 2);
}

sds scriptReadHead(slice text, scriptHead *head) {
    *head = (scriptHead){.flags = SCRIPT_UNDECLARED, .code = text};
    if (text.len < 2 || memcmp(text.ptr, "#!", 2) != 0) return NULL;
    const char *end = memchr(text.ptr, '\n', text.len < SCRIPT_HEAD_BYTES ? text.len : SCRIPT_HEAD_BYTES);
    if (!end) return sdsNew("Invalid script shebang");
    head->flags = 0;
    head->code = sliceOf(end, text.len - (size_t)(end - text.ptr));
    sds line = sdsNewLen(text.ptr, (size_t)(end - text.ptr));
    int count = 0;
    sds *words = sdsSplitArgs(line, &count);
    sdsFree(line);
    if (!words) return sdsNew("Invalid engine in script shebang");
    sds error = readWords(words, count, head);
    sdsFreeSplitRes(words, count);
    return error;
}

uint32_t scriptCommandFlags(uint32_t command_flags, uint32_t flags) {
    if (flags & SCRIPT_UNDECLARED) return command_flags;
    command_flags &= ~(uint32_t)CMD_MAY_REPLICATE;
    if (!(flags & SCRIPT_ALLOW_STALE)) command_flags &= ~(uint32_t)CMD_STALE;
    if (flags & SCRIPT_NO_WRITES) return command_flags;
    return command_flags | CMD_WRITE | (flags & SCRIPT_ALLOW_OOM ? 0 : CMD_DENYOOM);
}

bool scriptMayRun(client *c, uint32_t flags, bool read_only, bool memory_full) {
    if (slots_enabled && flags & SCRIPT_NO_CLUSTER) {
        addReplyError(c, "Can not run script on cluster, 'no-cluster' flag is set.");
        return false;
    }
    if (gateStaleIsEnabled() && !(flags & SCRIPT_ALLOW_STALE)) {
        addReplyError(c, STALE_ERROR);
        return false;
    }
    if (flags & (SCRIPT_UNDECLARED | SCRIPT_NO_WRITES)) return true;
    if (read_only) {
        addReplyError(c, "Can not execute a script with write flag using *_ro command.");
        return false;
    }
    if (memory_full && !(flags & SCRIPT_ALLOW_OOM)) {
        addReplyError(c, "-OOM command not allowed when used memory > 'maxmemory'.");
        return false;
    }
    return true;
}
