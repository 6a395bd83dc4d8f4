/* propagate_check.c -- debug builds check everything that is propagated: a sink that asserts.
 *
 * So every test that runs against a debug build also tests how its commands are propagated.
 *
 * Not here    whether the propagated command has the same effect (tests/unit/commands/propagated_test.c).
 * Owns        a copy of the bytes of an item.
 * Threads     main.
 * Invariants  1. An item is one command in its wire form, with a name and a number of arguments that the table knows.
 *             2. It changes the dataset, or has CMD_MAY_REPLICATE; MULTI and EXEC come in pairs, with at least one
 *                item between them.
 * Tests       the suite, under sanitizers
 *
 * SPDX-License-Identifier: BSD-3-Clause */

#ifdef DEBUG_ASSERTIONS
#include "command_table.h"
#include "numbers.h"
#include "panic.h"
#include "propagate.h"
#include "zmalloc.h"

#define WORDS 3 /* enough to look a command up */

static struct {
    bool within;    /* between MULTI and EXEC */
    unsigned items; /* since MULTI */
} unit;

/* Parses "<prefix>n\r\n" at *at, moves *at to the byte after it, and returns n. */
static long long propagateCheckNumber(const char **at, const char *end, char prefix) {
    const char *from = *at + 1, *to = memchr(from, '\r', (size_t)(end - from));
    long long n;
    serverAssert(**at == prefix && to && to[1] == '\n' && string2ll(from, (size_t)(to - from), &n));
    *at = to + 2;
    return n;
}

static void checkCommand(const propagateItem *item, const slice *words, long long argc) {
    if (sliceIs(words[0], "multi")) {
        serverAssert(!unit.within && argc == 1 && item->dbid == -1 && !item->ends_unit);
        unit.within = true;
        unit.items = 0;
        return;
    }
    if (sliceIs(words[0], "exec")) {
        serverAssert(unit.within && unit.items && argc == 1 && item->dbid == -1 && item->ends_unit);
        unit.within = false;
        return;
    }
    bool bad_sub = false;
    const serverCommand *cmd = commandLookup(words, argc < WORDS ? (uint32_t)argc : WORDS, &bad_sub);
    serverAssert(dbGet(item->dbid) && item->ends_unit == !unit.within);
    unit.items++;
    if (!cmd) return; /* the table has it under another name (rename-command) */
    serverAssert(!bad_sub && cmd->proc && commandArityOk(cmd, (uint32_t)argc));
    serverAssert(cmd->flags & (CMD_WRITE | CMD_MAY_REPLICATE));
}

static void propagateCheckTake(const propagateItem *item) {
    char *bytes = ztrymalloc(item->bytes), *to = bytes;
    slice words[WORDS];
    if (!bytes) return; /* no memory: skip the check */
    for (uint32_t i = 0; i < item->count; to += item->pieces[i++].len)
        memcpy(to, item->pieces[i].ptr, item->pieces[i].len);
    const char *at = bytes, *end = bytes + item->bytes;
    serverAssert(to == end);
    long long argc = propagateCheckNumber(&at, end, '*');
    serverAssert(argc > 0);
    for (long long i = 0; i < argc; i++) {
        long long len = propagateCheckNumber(&at, end, '$');
        serverAssert(len >= 0 && len + 2 <= end - at && at[len] == '\r' && at[len + 1] == '\n');
        if (i < WORDS) words[i] = sliceOf(at, (size_t)len);
        at += len + 2;
    }
    serverAssert(at == end);
    checkCommand(item, words, argc);
    zfree(bytes);
}

void propagateCheckInit(void) {
    static const propagateSink sink = {PROPAGATE_CHECK, propagateCheckTake};
    propagateAddSink(&sink);
}
#else
void propagateCheckInit(void) {}
#endif
