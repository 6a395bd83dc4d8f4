/* reply_text.c -- formats a reply as text, in one of several styles.
 *
 * Scripts parse these texts, so no byte of them may change.
 *
 * Tests       tests/unit/tools/reply_text_test.c, tests/tools/cli.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "reply_text.h"

static const char *boolText(const replyValue *v) { return v->integer ? "true" : "false"; }

/* ---- For people ------------------------------------------------------------------------------------------------- */

static sds prettyList(sds out, const replyValue *v, const char *prefix) {
    const char *kind = v->type == '%' ? "hash" : v->type == '~' ? "set" : v->type == '>' ? "push" : "array";
    char mark = v->type == '%' ? '#' : v->type == '~' ? '~' : ')';
    size_t step = v->type == '%' ? 2 : 1;
    if (v->count == 0) return sdsCatPrintf(out, "(empty %s)\n", kind);
    int digits = 0;
    for (size_t n = v->count / step; n; n /= 10) digits++;
    sds inner = sdsCatPrintf(sdsEmpty(), "%s%*s", prefix, digits + 2, "");
    for (size_t i = 0; i < v->count; i += step) {
        out = sdsCatPrintf(out, "%s%*zu%c ", i ? prefix : "", digits, i / step + 1, mark);
        const replyValue *item = &v->items[i];
        out = replyTextPretty(out, item, inner);
        if (step == 1) continue;
        item = &v->items[i + 1];
        sdsIncrLen(out, -1); /* removes the newline after the key */
        out = sdsCat(out, " => ");
        sds value = replyTextPretty(sdsEmpty(), item, inner);
        if (memchr(value, '\n', sdsLen(value) - 1) && replyIsList(item)) out = sdsCat(sdsCat(out, "\n"), inner);
        out = sdsCatLen(out, value, sdsLen(value));
        sdsFree(value);
    }
    sdsFree(inner);
    return out;
}

sds replyTextPretty(sds out, const replyValue *v, const char *prefix) {
    switch (v->type) {
    case '-':
        out = sdsCat(out, "(error) ");
        out = sdsCatLen(out, v->str, v->len);
        return sdsCat(out, "\n");
    case ':': return sdsCatPrintf(out, "(integer) %lld\n", v->integer);
    case ',': return sdsCatPrintf(out, "(double) %s\n", v->str);
    case '(': return sdsCatPrintf(out, "(big number) %s\n", v->str);
    case '#': return sdsCatPrintf(out, "(%s)\n", boolText(v));
    case '_': return sdsCat(out, "(nil)\n");
    case '$': return sdsCat(sdsCatRepr(out, v->str, v->len), "\n");
    case '+':
    case '=': return sdsCat(sdsCatLen(out, v->str, v->len), "\n");
    default: return prettyList(out, v, prefix);
    }
}

/* ---- For programs ----------------------------------------------------------------------------------------------- */

sds replyTextRaw(sds out, const replyValue *v, const char *delimiter) {
    switch (v->type) {
    case '_': return out;
    case '-': return sdsCat(sdsCatLen(out, v->str, v->len), "\n");
    case '#': return sdsCatPrintf(out, "(%s)", boolText(v));
    case ':': return sdsCatPrintf(out, "%lld", v->integer);
    case '%':
    case '*':
    case '~':
    case '>':
        for (size_t i = 0; i < v->count; i++) {
            if (i > 0) out = sdsCat(out, v->type == '%' && i % 2 ? " " : delimiter);
            out = replyTextRaw(out, &v->items[i], delimiter);
        }
        return out;
    default: return sdsCatLen(out, v->str, v->len);
    }
}

sds replyTextCsv(sds out, const replyValue *v) {
    switch (v->type) {
    case '-': return sdsCatRepr(sdsCat(out, "ERROR,"), v->str, v->len);
    case ':': return sdsCatPrintf(out, "%lld", v->integer);
    case ',':
    case '(': return sdsCatLen(out, v->str, v->len);
    case '#': return sdsCat(out, boolText(v));
    case '_': return sdsCat(out, "NULL");
    case '$':
    case '+':
    case '=': return sdsCatRepr(out, v->str, v->len);
    default:
        for (size_t i = 0; i < v->count; i++) {
            if (i > 0) out = sdsCat(out, ",");
            out = replyTextCsv(out, &v->items[i]);
        }
        return out;
    }
}

static sds jsonString(sds out, const char *s, size_t len) {
    out = sdsCat(out, "\"");
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)s[i];
        switch (c) {
        case '"': out = sdsCat(out, "\\\""); break;
        case '\\': out = sdsCat(out, "\\\\"); break;
        case '\n': out = sdsCat(out, "\\n"); break;
        case '\r': out = sdsCat(out, "\\r"); break;
        case '\t': out = sdsCat(out, "\\t"); break;
        case '\b': out = sdsCat(out, "\\b"); break;
        case '\f': out = sdsCat(out, "\\f"); break;
        default: out = c < 32 ? sdsCatPrintf(out, "\\u%04x", c) : sdsCatLen(out, &s[i], 1);
        }
    }
    return sdsCat(out, "\"");
}

/* Appends a JSON string; with `ascii`, of the text as the pretty style quotes it. */
static sds jsonText(sds out, const char *s, size_t len, bool ascii) {
    if (!ascii) return jsonString(out, s, len);
    sds quoted = sdsCatRepr(sdsEmpty(), s, len);
    out = jsonString(out, quoted + 1, sdsLen(quoted) - 2);
    sdsFree(quoted);
    return out;
}

/* Appends a key of a JSON object, which must be a string. */
static sds jsonKey(sds out, const replyValue *v, bool ascii) {
    if (replyIsText(v)) return jsonText(out, v->str, v->len, ascii);
    sds key = replyTextJson(sdsEmpty(), v, ascii);
    out = v->type == '-' || replyIsList(v) ? jsonString(out, key, sdsLen(key)) : sdsCatPrintf(out, "\"%s\"", key);
    sdsFree(key);
    return out;
}

sds replyTextJson(sds out, const replyValue *v, bool ascii) {
    switch (v->type) {
    case '-': return jsonText(sdsCat(out, "error:"), v->str, v->len, ascii);
    case ':': return sdsCatPrintf(out, "%lld", v->integer);
    case ',':
    case '(': return sdsCatLen(out, v->str, v->len);
    case '#': return sdsCat(out, boolText(v));
    case '_': return sdsCat(out, "null");
    case '$':
    case '+':
    case '=': return jsonText(out, v->str, v->len, ascii);
    default: break;
    }
    bool is_map = v->type == '%';
    out = sdsCat(out, is_map ? "{" : "[");
    for (size_t i = 0; i < v->count; i++) {
        if (i > 0) out = sdsCat(out, is_map && i % 2 ? ":" : ",");
        out = is_map && i % 2 == 0 ? jsonKey(out, &v->items[i], ascii) : replyTextJson(out, &v->items[i], ascii);
    }
    return sdsCat(out, is_map ? "}" : "]");
}
