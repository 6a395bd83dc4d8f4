/* text_escape.c -- escapes arbitrary bytes as a JSON string or as XML text.
 *
 * Tests       tests/unit/tools/text_escape_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "result_files.h"
#include "utf8.h"

#define REPLACEMENT "\xef\xbf\xbd"

/* Appends `s` with each character replaced by the text that `special` returns for it, unless that is NULL. */
static sds catEscaped(sds out, const char *s, const char *(*special)(uint32_t code, char *buffer)) {
    char buffer[8];
    for (size_t len = strlen(s), n; len > 0; s += n, len -= n) {
        uint32_t code;
        n = utf8Decode(s, len, &code);
        const char *word = code == UTF8_BAD && n == 1 ? REPLACEMENT : special(code, buffer);
        out = word ? sdsCat(out, word) : sdsCatLen(out, s, n);
    }
    return out;
}

static const char *jsonSpecial(uint32_t code, char *buffer) {
    static const char hex[] = "0123456789abcdef";
    switch (code) {
    case '"': return "\\\"";
    case '\\': return "\\\\";
    case '\n': return "\\n";
    case '\r': return "\\r";
    case '\t': return "\\t";
    default: break;
    }
    if (code >= 0x20) return NULL;
    memcpy(buffer, "\\u00", 4);
    buffer[4] = hex[code >> 4];
    buffer[5] = hex[code & 15];
    buffer[6] = '\0';
    return buffer;
}

/* XML 1.0 cannot represent most control characters and the last two code points of the basic plane. */
static const char *xmlSpecial(uint32_t code, char *buffer) {
    unused(buffer);
    switch (code) {
    case '&': return "&amp;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '"': return "&quot;";
    case '\'': return "&#39;";
    default: return code < 0x20 || code == 0x7f || code == 0xfffe || code == 0xffff ? REPLACEMENT : NULL;
    }
}

sds catJsonString(sds out, const char *s) {
    if (!s) return sdsCat(out, "null");
    return sdsCat(catEscaped(sdsCat(out, "\""), s, jsonSpecial), "\"");
}

sds catXmlText(sds out, const char *s) { return catEscaped(out, s, xmlSpecial); }
