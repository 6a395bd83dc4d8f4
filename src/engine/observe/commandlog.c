/* commandlog.c -- the last commands that were slow, or had a large request or reply.
 *
 * An entry is a copy of the important parts: long arguments are cut, and so is a long list of them, each with a note of
 * how much is missing, so that an entry never takes more than a few kilobytes.
 *
 * Not here    when a command is measured (call.c); which arguments are secrets (redact.h).
 * Owns        the entries.
 * Threads     main.
 * Invariants  1. Ids of one log grow by one, also across a reset.
 *             2. A log is cut to its length when an entry is added, and at no other time.
 * Tests       tests/unit/engine/observe/commandlog_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "commandlog.h"

#include <limits.h>

#include "adlist.h"
#include "panic.h"
#include "redact.h"
#include "reply.h"
#include "zmalloc.h"

#define ARGS_MAX 32
#define ARG_BYTES_MAX 128

typedef struct logEntry {
    long long id, value; /* value: microseconds or bytes */
    int64_t time_s;
    sds peer, name; /* owns */
    uint32_t argc;
    sds argv[]; /* owns */
} logEntry;

/* ---- Entries ---------------------------------------------------------------------------------------------------- */

static void entryFree(void *p) {
    logEntry *e = p;
    for (uint32_t i = 0; i < e->argc; i++) sdsFree(e->argv[i]);
    sdsFree(e->peer);
    sdsFree(e->name);
    zfree(e);
}

static struct {
    list entries; /* owns; newest first */
    long long next_id;
} logs[COMMANDLOG_KINDS] = {{.entries.free = entryFree}, {.entries.free = entryFree}, {.entries.free = entryFree}};

size_t commandlogLength(commandlogKind kind) {
    assertMainRole();
    return listLength(&logs[kind].entries);
}

static sds commandlogShortened(slice arg) {
    if (arg.len <= ARG_BYTES_MAX) return sdsFromSlice(arg);
    return sdsCatPrintf(sdsNewLen(arg.ptr, ARG_BYTES_MAX), "... (%zu more bytes)", arg.len - ARG_BYTES_MAX);
}

static logEntry *entryCreate(const client *c, long long id, long long value) {
    uint32_t sent = c->req->argc;
    uint32_t argc = sent < ARGS_MAX ? sent : ARGS_MAX;
    logEntry *e = zmalloc(sizeof(*e) + argc * sizeof(sds));

    *e = (logEntry){
        .id = id,
        .value = value,
        .time_s = clockWallMs() / 1000,
        .peer = sdsDup(c->peer),
        .name = c->name ? sdsDup(c->name) : sdsEmpty(),
        .argc = argc,
    };
    for (uint32_t i = 0; i < argc; i++) {
        bool stands_for_rest = i == ARGS_MAX - 1 && sent > ARGS_MAX;
        e->argv[i] = stands_for_rest ? sdsCatPrintf(sdsEmpty(), "... (%u more arguments)", sent - i)
                                     : commandlogShortened(redactedArgument(c, i));
    }
    return e;
}

static void addIfReached(client *c, commandlogKind kind, long long value, long long threshold, long long max_len) {
    if (threshold < 0 || value < threshold || max_len == 0) return;
    list *entries = &logs[kind].entries;
    listAddNodeHead(entries, entryCreate(c, logs[kind].next_id++, value));
    while ((long long)listLength(entries) > max_len) listDelNode(entries, listLast(entries));
    debugAssert((long long)listLength(entries) <= logs[kind].next_id); /* invariant 1 */
}

void commandlogRecord(client *c, uint64_t duration_ns, size_t request_bytes, size_t reply_bytes) {
    assertMainRole();
    const engineSettings *s = &engine_settings;
    addIfReached(c, COMMANDLOG_SLOW, (long long)(duration_ns / 1000), s->slower_than_us, s->slow_max_len);
    addIfReached(c, COMMANDLOG_LARGE_REQUEST, (long long)request_bytes, s->request_larger_than, s->request_max_len);
    addIfReached(c, COMMANDLOG_LARGE_REPLY, (long long)reply_bytes, s->reply_larger_than, s->reply_max_len);
}

size_t commandlogMemUsage(void) {
    assertMainRole();
    size_t bytes = 0;
    for (int kind = 0; kind < COMMANDLOG_KINDS; kind++) {
        listIter it = listBegin(&logs[kind].entries, false);
        for (listNode *n = listNext(&it); n; n = listNext(&it)) {
            const logEntry *e = listNodeValue(n);
            bytes += zmallocSize(n) + zmallocSize(e) + sdsAllocSize(e->peer) + sdsAllocSize(e->name);
            for (uint32_t i = 0; i < e->argc; i++) bytes += sdsAllocSize(e->argv[i]);
        }
    }
    return bytes;
}

/* ---- Commands --------------------------------------------------------------------------------------------------- */

static void replyEntries(client *c, commandlogKind kind, long long count) {
    long long total = (long long)commandlogLength(kind);
    if (count == -1 || count > total) count = total;
    addReplyArrayLen(c, count);
    for (const listNode *n = listFirst(&logs[kind].entries); count > 0; count--, n = n->next) {
        const logEntry *e = listNodeValue(n);
        addReplyArrayLen(c, 6);
        addReplyLongLong(c, e->id);
        addReplyLongLong(c, e->time_s);
        addReplyLongLong(c, e->value);
        addReplyArrayLen(c, e->argc);
        for (uint32_t i = 0; i < e->argc; i++) addReplyBulk(c, sdsSlice(e->argv[i]));
        addReplyBulk(c, sdsSlice(e->peer));
        addReplyBulk(c, sdsSlice(e->name));
    }
}

static void commandlogReset(client *c, commandlogKind kind) {
    listEmpty(&logs[kind].entries);
    addReplyOk(c);
}

static bool countArg(client *c, long long *count) {
    return getRangeLongFromArg(c, 2, -1, LONG_MAX, count, "count should be greater than or equal to -1");
}

static bool kindArg(client *c, uint32_t index, commandlogKind *kind) {
    static const char *const names[COMMANDLOG_KINDS] = {"slow", "large-request", "large-reply"};
    for (int i = 0; i < COMMANDLOG_KINDS; i++) {
        if (!sliceIs(c->argv[index], names[i])) continue;
        *kind = (commandlogKind)i;
        return true;
    }
    return addReplyError(c, "type should be one of the following: slow, large-request, large-reply");
}

void slowlogGetCommand(client *c) {
    assertMainRole();
    long long count = 10;
    if (c->argc > 3) {
        addReplySubcommandSyntaxError(c);
        return;
    }
    if (c->argc == 3 && !countArg(c, &count)) return;
    replyEntries(c, COMMANDLOG_SLOW, count);
}

void slowlogLenCommand(client *c) {
    assertMainRole();
    addReplyLongLong(c, (long long)commandlogLength(COMMANDLOG_SLOW));
}

void slowlogResetCommand(client *c) {
    assertMainRole();
    commandlogReset(c, COMMANDLOG_SLOW);
}

void commandlogGetCommand(client *c) {
    assertMainRole();
    long long count;
    commandlogKind kind;
    if (countArg(c, &count) && kindArg(c, 3, &kind)) replyEntries(c, kind, count);
}

void commandlogLenCommand(client *c) {
    assertMainRole();
    commandlogKind kind;
    if (kindArg(c, 2, &kind)) addReplyLongLong(c, (long long)commandlogLength(kind));
}

void commandlogResetCommand(client *c) {
    assertMainRole();
    commandlogKind kind;
    if (kindArg(c, 2, &kind)) commandlogReset(c, kind);
}
