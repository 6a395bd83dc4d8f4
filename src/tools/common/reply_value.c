/* reply_value.c -- a complete reply as a tree, for programs that print or inspect it.
 *
 * replyScan() finds the end of the reply before anything is built, so the parser below never waits for bytes. It limits
 * the depth, and rejects a reply that is cut off.
 *
 * Tests       tests/unit/tools/reply_text_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "reply_value.h"
#include "numbers.h"
#include "zmalloc.h"

#define DEPTH_MAX 128

typedef struct cursor {
    const char *p, *end;
} cursor;

static bool parseValue(cursor *in, replyValue *v, int depth);

/* Frees the contents of a value. Items are stored in their parent's array: only the root has an allocation of its
 * own. */
static void clearValue(replyValue *v) {
    for (size_t i = 0; i < v->count; i++) clearValue(&v->items[i]);
    zfree(v->items);
    zfree(v->str);
}

/* Takes a line off the input. Returns false if its end has not arrived. */
static bool replyValueTakeLine(cursor *in, slice *line) {
    const char *nl = memchr(in->p, '\n', (size_t)(in->end - in->p));
    if (!nl || nl == in->p) return false;
    *line = sliceOf(in->p, (size_t)(nl - in->p - 1));
    in->p = nl + 1;
    return true;
}

static void setText(replyValue *v, slice text) {
    v->str = zmalloc(text.len + 1);
    if (text.len) memcpy(v->str, text.ptr, text.len);
    v->str[text.len] = '\0';
    v->len = text.len;
}

static bool parseItems(cursor *in, replyValue *v, long long count, int depth) {
    if (depth >= DEPTH_MAX || count > in->end - in->p) return false;
    v->items = zcalloc((size_t)count + 1, sizeof(replyValue));
    for (long long i = 0; i < count; i++) {
        v->count = (size_t)i + 1; /* includes an item that is not complete, so that it is freed as well */
        if (!parseValue(in, &v->items[i], depth + 1)) return false;
    }
    return true;
}

static bool parseBody(cursor *in, replyValue *v, long long len) {
    if (len < 0) {
        v->type = '_';
        return true;
    }
    if (in->end - in->p < len + 2) return false;
    slice body = sliceOf(in->p, (size_t)len);
    in->p += len + 2;
    if (v->type == '=' && body.len >= 4) body = sliceOf(body.ptr + 4, body.len - 4);
    if (v->type == '!') v->type = '-';
    setText(v, body);
    return true;
}

static bool parseValue(cursor *in, replyValue *v, int depth) {
    long long n = 0;
    if (in->p >= in->end) return false;
    v->type = *in->p++;
    slice line;
    if (!replyValueTakeLine(in, &line)) return false;
    switch (v->type) {
    case '+':
    case '-':
    case ',':
    case '(': setText(v, line); return true;
    case ':': setText(v, line); return string2ll(line.ptr, line.len, &v->integer);
    case '#': v->integer = line.len && line.ptr[0] == 't'; return true;
    case '_': return true;
    default: break;
    }
    if (!string2ll(line.ptr, line.len, &n)) return false;
    switch (v->type) {
    case '$':
    case '=':
    case '!': return parseBody(in, v, n);
    case '%':
    case '|':
        if (!parseItems(in, v, 2 * n, depth)) return false;
        if (v->type == '%') return true;
        clearValue(v);
        *v = (replyValue){0};
        return depth < DEPTH_MAX && parseValue(in, v, depth + 1);
    default:
        if (n >= 0) return parseItems(in, v, n, depth);
        v->type = '_';
        return true;
    }
}

replyValue *replyValueParse(const char *p, size_t len) {
    cursor in = {p, p + len};
    replyValue *v = zcalloc(1, sizeof(*v));
    if (parseValue(&in, v, 0)) return v;
    replyValueFree(v);
    return NULL;
}

void replyValueFree(replyValue *v) {
    if (!v) return;
    clearValue(v);
    zfree(v);
}

bool replyIsError(const replyValue *v) { return v->type == '-'; }
bool replyIsText(const replyValue *v) { return v->type == '$' || v->type == '+' || v->type == '='; }
bool replyIsList(const replyValue *v) { return v->type == '*' || v->type == '~' || v->type == '>' || v->type == '%'; }

const replyValue *replyLookup(const replyValue *v, const char *key) {
    for (size_t i = 0; replyIsList(v) && i + 1 < v->count; i += 2) {
        const replyValue *name = &v->items[i];
        if (replyIsText(name) && sliceEq(sliceOf(name->str, name->len), sliceStr(key))) return &v->items[i + 1];
    }
    return NULL;
}

const char *replyLookupText(const replyValue *v, const char *key) {
    const replyValue *value = replyLookup(v, key);
    return value ? value->str : NULL;
}
