/* reply_error.c -- error replies, and how often each code was sent.
 *
 * The first word of an error is its code: clients distinguish errors by it, and INFO errorstats counts by it. Scripts
 * may invent codes: once ERROR_CODES_MAX are known, a new one of a script counts under OVERFLOW_CODE. The codes of
 * commands are few and always counted.
 *
 * Not here    which errors commands find; the error of a protocol violation (net).
 * Owns        client_state.errors: the codes and their counters.
 * Threads     main.
 * Tests       tests/unit/client/reply_error_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "log.h"
#include "panic.h"
#include "reply.h"
#include "zmalloc.h"
#include <stdarg.h>

#define ERROR_CODES_MAX 128
#define ERROR_CODE_BYTES 30 /* a longer first word is not a code: the error counts as ERR */
#define OVERFLOW_CODE "ERRORSTATS_OVERFLOW"

/* ---- Statistics ------------------------------------------------------------------------------------------------- */

typedef struct errorCode {
    long long count;
    size_t len;
    char name[];
} errorCode;

static slice entryName(const void *entry) {
    const errorCode *e = entry;
    return sliceOf(e->name, e->len);
}

static const dictType code_dict_type = {.entryKey = entryName, .entryFree = zfree};

static errorCode *findCode(slice name) {
    return dictFind(client_state.errors, name, dictHash(client_state.errors, name));
}

static errorCode *addCode(slice name) {
    errorCode *e = zmalloc(sizeof(*e) + name.len);
    e->count = 0;
    e->len = name.len;
    memcpy(e->name, name.ptr, name.len);
    dictAddNew(client_state.errors, e, dictHash(client_state.errors, name));
    return e;
}

/* Counts an error. `of_script` means that a script chose the code. */
static void countCode(slice name, bool of_script) {
    if (!client_state.errors) client_state.errors = dictCreate(&code_dict_type);
    errorCode *e = findCode(name);
    if (!e && of_script && dictSize(client_state.errors) >= ERROR_CODES_MAX) {
        name = sliceStr(OVERFLOW_CODE);
        e = findCode(name);
        if (!e)
            serverLog(LL_WARNING, "Errorstats stopped adding new errors: it has reached its limit of %d codes.",
                      ERROR_CODES_MAX);
    }
    if (!e) e = addCode(name);
    e->count++;
}

void clientErrorStatsEach(void (*fn)(void *arg, slice code, long long count), void *arg) {
    assertMainRole();
    dictIterator it;
    errorCode *e;
    if (!client_state.errors) return;
    dictIterBegin(&it, client_state.errors, false);
    while ((e = dictIterNext(&it))) fn(arg, sliceOf(e->name, e->len), e->count);
    dictIterEnd(&it);
}

void clientErrorStatsReset(void) {
    assertMainRole();
    if (client_state.errors) dictEmpty(client_state.errors, NULL);
}

static bool isLineEnd(char ch) { return ch == '\r' || ch == '\n'; }

/* Returns the code of an error text: its first word if it begins with '-' and another word follows, and if it is
 * neither too long nor interrupted by a NUL; else "ERR". A colon follows it in INFO, so separators in it are replaced.
 * A line end ends the word, as it becomes a blank in the reply. */
static slice codeOf(slice text, char code[ERROR_CODE_BYTES]) {
    if (text.len == 0 || text.ptr[0] != '-') return sliceStr("ERR");
    size_t n = 0;
    for (const char *p = text.ptr + 1, *end = text.ptr + text.len; p < end && *p != '\0'; p++) {
        if (*p == ' ' || isLineEnd(*p)) return sliceOf(code, n);
        if (n == ERROR_CODE_BYTES) break;
        code[n++] = (char)(*p == ':' || *p == '#' ? '_' : *p);
    }
    return sliceStr("ERR");
}

static void (*on_unexpected)(client *c, slice text); /* const after startup; may be NULL */

void replyErrorOnUnexpected(void (*fn)(client *c, slice text)) { on_unexpected = fn; }

static bool isUnexpected(const client *c) {
    clientType type = clientTypeOf(c);
    return type == CLIENT_TYPE_PRIMARY || type == CLIENT_TYPE_REPLICA;
}

static void reportUnexpected(client *c, slice text) {
    if (unlikely((isUnexpected(c) || c->flags & CLIENT_REPLAYS) && on_unexpected)) on_unexpected(c, text);
}

static void countError(client *c, slice text, bool of_script) {
    client_state.total_error_replies++;
    c->error_replies++;
    char code[ERROR_CODE_BYTES];
    countCode(codeOf(text, code), of_script);
    client_state.unexpected_error_replies += isUnexpected(c);
    reportUnexpected(c, text);
}

/* ---- Replies ---------------------------------------------------------------------------------------------------- */

static slice withoutLineEnds(slice text) {
    while (text.len && isLineEnd(text.ptr[text.len - 1])) text.len--;
    while (text.len && isLineEnd(text.ptr[0])) text = sliceOf(text.ptr + 1, text.len - 1);
    return text;
}

static void sendError(client *c, slice text) { addReplyLine(c, text.len && text.ptr[0] == '-' ? "" : "-ERR ", text); }

static bool addError(client *c, slice text, bool of_script) {
    assertMainRole();
    text = withoutLineEnds(text);
    countError(c, text, of_script);
    sendError(c, text);
    return false;
}

bool addReplyErrorSlice(client *c, slice text) { return addError(c, text, false); }

void addReplyErrorOfScript(client *c, slice text) { addError(c, text, true); }

void addReplyErrorCounted(client *c, slice text) {
    assertMainRole();
    c->error_replies++;
    text = withoutLineEnds(text);
    reportUnexpected(c, text);
    sendError(c, text);
}

void clientCountError(slice code) {
    assertMainRole();
    client_state.total_error_replies++;
    countCode(code, false);
}

bool addReplyError(client *c, const char *text) { return addReplyErrorSlice(c, sliceStr(text)); }

bool addReplyErrorFormat(client *c, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    sds text = sdsCatVprintf(sdsEmpty(), fmt, ap);
    va_end(ap);
    addReplyErrorSlice(c, sdsSlice(text));
    sdsFree(text);
    return false;
}

bool addReplyErrorArity(client *c) {
    return addReplyErrorFormat(c, "wrong number of arguments for '%s' command", clientCommandName(c->cmd));
}

bool addReplyErrorExpire(client *c) {
    return addReplyErrorFormat(c, "invalid expire time in '%s' command", clientCommandName(c->cmd));
}

bool addReplySyntaxError(client *c) { return addReplyError(c, "syntax error"); }

void addReplyWrongType(client *c) {
    addReplyError(c, "-WRONGTYPE Operation against a key holding the wrong kind of value");
}

void addReplyNoKeyError(client *c) { addReplyError(c, "no such key"); }

bool addReplyNotIntegerError(client *c) { return addReplyError(c, "value is not an integer or out of range"); }

bool addReplyNotFloatError(client *c) { return addReplyError(c, "value is not a valid float"); }

bool addReplyNoMemory(client *c) {
    return addReplyError(c, "-OOM command not allowed: there is not enough memory for it");
}

/* Sends the error "<what> '<argv[1]>'. Try <ARGV[0]> HELP." */
static bool addSubcommandError(client *c, const char *what) {
    sds container = sdsFromSlice(c->argv[0]);
    slice sub = c->argc > 1 ? c->argv[1] : sliceStr("");
    sdsToUpper(container);
    addReplyErrorFormat(c, "%s '%.*s'. Try %s HELP.", what, sub.len < 128 ? (int)sub.len : 128, sub.ptr, container);
    sdsFree(container);
    return false;
}

void addReplyUnknownSubcommand(client *c) { addSubcommandError(c, "unknown subcommand"); }

bool addReplySubcommandSyntaxError(client *c) {
    return addSubcommandError(c, "unknown subcommand or wrong number of arguments for");
}

bool checkType(client *c, const robj *o, objectTypeId type) {
    if (!o || o->type == type) return false;
    addReplyWrongType(c);
    return true;
}
