/* aof_parse.c -- parses the bytes of an append-only file into commands, more strictly than requests of clients.
 *
 * Bytes that neither this server nor Valkey and Redis would write are a fault, because skipping them would be a guess.
 *
 * Owns        the array of arguments.
 * Threads     any.
 * Cost        no allocation once the array has grown to the longest command.
 * Tests       tests/unit/persist/aof/aof_parse_test.c, tests/fuzz/aof_manifest_fuzz.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "aof_parse.h"

#include "panic.h"
#include "zmalloc.h"

#define DIGITS_MAX 19 /* of a number */

aofItemKind aofParseHeader(slice in, size_t *at, char mark, uint64_t *number) {
    size_t p = *at;
    uint64_t value = 0;
    if (p == in.len) return AOF_MORE;
    if (in.ptr[p++] != mark) return AOF_BAD;
    size_t first = p;
    for (; p < in.len && in.ptr[p] >= '0' && in.ptr[p] <= '9'; p++) {
        if (p - first == DIGITS_MAX) return AOF_BAD;
        value = value * 10 + (uint64_t)(in.ptr[p] - '0');
    }
    if (p == in.len) return AOF_MORE;
    if (p == first || in.ptr[p++] != '\r') return AOF_BAD;
    if (p == in.len) return AOF_MORE;
    if (in.ptr[p++] != '\n') return AOF_BAD;
    *at = p;
    *number = value;
    return AOF_COMMAND;
}

static aofItemKind needMore(aofItem *item, size_t least) {
    item->bytes = least;
    return AOF_MORE;
}

static aofItemKind parseCommand(aofItem *item, slice in) {
    uint64_t argc, len;
    size_t at = 0;
    aofItemKind kind = aofParseHeader(in, &at, '*', &argc);
    if (kind == AOF_MORE) return needMore(item, in.len + 1);
    if (kind == AOF_BAD || argc < 1 || argc > AOF_ARGC_MAX) return AOF_BAD;
    for (uint64_t i = 0; i < argc; i++) {
        kind = aofParseHeader(in, &at, '$', &len);
        if (kind == AOF_MORE) return needMore(item, in.len + 1);
        if (kind == AOF_BAD || len > AOF_BULK_MAX) return AOF_BAD;
        if (in.len - at < len + 2) {
            if (in.len - at > len && in.ptr[at + len] != '\r') return AOF_BAD;
            return needMore(item, at + len + 2);
        }
        if (in.ptr[at + len] != '\r' || in.ptr[at + len + 1] != '\n') return AOF_BAD;
        item->args = zgrowArray(item->args, item->argc, &item->capacity, sizeof(*item->args));
        item->args[item->argc++] = sliceOf(in.ptr + at, len);
        at += len + 2;
    }
    item->bytes = at;
    return AOF_COMMAND;
}

static aofItemKind parseAnnotation(aofItem *item, slice in) {
    size_t most = in.len < AOF_ANNOTATION_MAX ? in.len : AOF_ANNOTATION_MAX;
    const char *end = memchr(in.ptr, '\n', most);
    if (!end && most == AOF_ANNOTATION_MAX) return AOF_BAD;
    if (!end) return needMore(item, in.len + 1);
    item->bytes = (size_t)(end - in.ptr) + 1;
    return AOF_ANNOTATION;
}

aofItemKind aofParse(aofItem *item, slice in) {
    debugAssert(in.len > 0);
    item->argc = 0;
    aofItemKind kind = in.ptr[0] == '#' ? parseAnnotation(item, in) : parseCommand(item, in);
    debugAssert(item->argc <= item->capacity && (kind != AOF_COMMAND || item->argc > 0));
    /* A complete item lies within the bytes, and an incomplete one needs more. */
    debugAssert(kind == AOF_BAD || (kind == AOF_MORE ? item->bytes > in.len : item->bytes <= in.len));
    return kind;
}

void aofItemFree(aofItem *item) {
    zfree(item->args);
    *item = (aofItem){.bytes = 0};
}
