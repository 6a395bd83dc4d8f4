/* http_request.c -- a parser of HTTP/1.1 requests for bytes that arrive in pieces.
 *
 * A request consists of lines: the request line, header fields, an empty line. Each line is parsed once, when its end
 * has arrived, so the result does not depend on how the request was split.
 *
 *     GET /metrics?x=1 HTTP/1.1\r\n       method, target, version
 *     Host: example\r\n                   header fields: name ":" blanks value blanks
 *     \r\n                                the end
 *
 * Strict where leniency makes attacks on proxies possible: no blanks before a colon, no folded lines, no second Host,
 * nothing that announces a body. Lenient where people type: a line may end in a bare LF, and up to four empty lines may
 * precede a request.
 *
 * Not here    sockets, time limits, and resources (http_server.c).
 * Owns        nothing.
 * Threads     one owner of a request at a time.
 * Invariants  line <= scanned <= len of the last call.
 * Cost        linear in the bytes.
 * Tests       tests/unit/web/http_request_test.c, tests/fuzz/http_request_fuzz.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "http_request.h"

#include "panic.h"

#define TARGET_MAX 4096 /* bytes of the request line */
#define FIELDS_MAX 100
#define BLANK_LINES_MAX 4
#define WEIGHT_ONE 1000

void httpRequestReset(httpRequest *r) { *r = (httpRequest){.method = HTTP_OTHER}; }

/* ---- Bytes ---- */

/* Returns true for a "tchar" of the grammar, of which methods and names of header fields consist. */
static bool isToken(unsigned char c) {
    if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) return true;
    return c && strchr("!#$%&'*+-.^_`|~", c);
}

static slice httpRequestTrimmed(slice s) {
    while (s.len && (s.ptr[0] == ' ' || s.ptr[0] == '\t')) s.ptr++, s.len--;
    while (s.len && (s.ptr[s.len - 1] == ' ' || s.ptr[s.len - 1] == '\t')) s.len--;
    return s;
}

static bool allTokens(slice s) {
    for (size_t i = 0; i < s.len; i++)
        if (!isToken((unsigned char)s.ptr[i])) return false;
    return s.len > 0;
}

/* ---- The request line ---- */

static int readMethod(httpRequest *r, slice word) {
    if (!allTokens(word)) return 400;
    r->method = word.len == 3 && bytesEq(word.ptr, "GET", 3)    ? HTTP_GET
                : word.len == 4 && bytesEq(word.ptr, "HEAD", 4) ? HTTP_HEAD
                                                                : HTTP_OTHER;
    return HTTP_OK;
}

/* Reads "/path?query", or the same after "http://host", which is sent to proxies. OPTIONS may have the target "*", and
 * CONNECT a host: neither is served, whatever its target. */
static int readTarget(httpRequest *r, slice target) {
    for (size_t i = 0; i < target.len; i++)
        if ((unsigned char)target.ptr[i] <= ' ' || (unsigned char)target.ptr[i] >= 0x7f) return 400;
    if (target.len >= 7 && !strncasecmp(target.ptr, "http://", 7)) {
        target.ptr += 7, target.len -= 7;
        const char *slash = target.len ? memchr(target.ptr, '/', target.len) : NULL;
        if (slash == target.ptr) return 400; /* no host */
        r->host = slash ? sliceOf(target.ptr, (size_t)(slash - target.ptr)) : target;
        target = slash ? sliceOf(slash, target.len - (size_t)(slash - target.ptr)) : sliceStr("/");
    }
    if (target.len == 0) return 400;
    if (target.ptr[0] != '/' && r->method != HTTP_OTHER) return 400;
    if (memchr(target.ptr, '#', target.len)) return 400;
    r->path = sliceTakeUntil(&target, '?');
    r->query = target;
    return HTTP_OK;
}

static int readVersion(httpRequest *r, slice word) {
    if (word.len != 8 || memcmp(word.ptr, "HTTP/", 5) || word.ptr[6] != '.') return 400;
    if (word.ptr[5] < '0' || word.ptr[5] > '9' || word.ptr[7] < '0' || word.ptr[7] > '9') return 400;
    if (word.ptr[5] != '1') return 505;
    r->minor_0 = word.ptr[7] == '0';
    return HTTP_OK;
}

static int readRequestLine(httpRequest *r, slice line) {
    if (line.len > TARGET_MAX) return 414;
    slice method = sliceTakeUntil(&line, ' '), target = sliceTakeUntil(&line, ' ');
    int status = readMethod(r, method);
    if (status == HTTP_OK) status = readTarget(r, target);
    if (status == HTTP_OK) status = readVersion(r, line);
    return status;
}

/* ---- Header fields ---- */

static void readConnection(httpRequest *r, slice list) {
    while (list.len) {
        slice word = httpRequestTrimmed(sliceTakeUntil(&list, ','));
        r->closes |= sliceIs(word, "close");
        r->keep_alive |= sliceIs(word, "keep-alive");
    }
}

/* Returns the weight "0", "1" or "0.625" in thousandths; an invalid one counts as 1. */
static int weightOf(slice text) {
    if (text.len == 0 || text.len > 5 || (text.ptr[0] != '0' && text.ptr[0] != '1')) return WEIGHT_ONE;
    if (text.ptr[0] == '1' || text.len == 1) return text.ptr[0] == '1' ? WEIGHT_ONE : 0;
    int weight = 0, unit = 100;
    for (size_t i = 2; i < text.len; i++, unit /= 10) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9') return WEIGHT_ONE;
        weight += (text.ptr[i] - '0') * unit;
    }
    return text.ptr[1] == '.' ? weight : WEIGHT_ONE;
}

/* Reads one media range, such as "application/openmetrics-text; version=1.0.0; q=0.7". */
static void readMediaRange(httpRequest *r, slice range) {
    slice type = httpRequestTrimmed(sliceTakeUntil(&range, ';'));
    int weight = WEIGHT_ONE;
    while (range.len) {
        slice word = httpRequestTrimmed(sliceTakeUntil(&range, ';'));
        if (word.len > 2 && (word.ptr[0] == 'q' || word.ptr[0] == 'Q') && word.ptr[1] == '=')
            weight = weightOf(sliceOf(word.ptr + 2, word.len - 2));
    }
    int *known = sliceIs(type, "application/openmetrics-text") ? &r->open_weight
                 : sliceIs(type, "text/plain")                 ? &r->text_weight
                                                               : NULL;
    if (known && weight > *known) *known = weight;
}

static int readLength(httpRequest *r, slice value) {
    if (r->has_length || value.len == 0) return 400;
    r->has_length = true;
    for (size_t i = 0; i < value.len; i++) {
        if (value.ptr[i] < '0' || value.ptr[i] > '9') return 400;
        r->has_body |= value.ptr[i] != '0';
    }
    return HTTP_OK;
}

static int readAuthorization(httpRequest *r, slice value) {
    if (r->has_credentials) return 400;
    r->has_credentials = true;
    slice scheme = sliceTakeUntil(&value, ' ');
    if (sliceIs(scheme, "Basic")) r->credentials = httpRequestTrimmed(value);
    return HTTP_OK;
}

static int readField(httpRequest *r, slice line) {
    if (++r->fields > FIELDS_MAX) return 431;
    slice name = sliceTakeUntil(&line, ':'), value = httpRequestTrimmed(line);
    /* The line has a colon, and does not continue the previous line: a name cannot begin with a blank. */
    if (line.ptr == name.ptr + name.len || !allTokens(name)) return 400;
    for (size_t i = 0; i < value.len; i++) {
        unsigned char c = (unsigned char)value.ptr[i];
        if ((c < ' ' && c != '\t') || c == 0x7f) return 400;
    }
    if (sliceIs(name, "host")) {
        bool again = r->has_host;
        r->has_host = true;
        if (!r->host.ptr) r->host = value;
        return again ? 400 : HTTP_OK;
    }
    if (sliceIs(name, "content-length")) return readLength(r, value);
    if (sliceIs(name, "authorization")) return readAuthorization(r, value);
    if (sliceIs(name, "transfer-encoding")) r->has_encoding = r->has_body = true;
    else if (sliceIs(name, "connection")) readConnection(r, value);
    else if (sliceIs(name, "if-none-match")) r->etags = value;
    else if (sliceIs(name, "accept"))
        while (value.len) readMediaRange(r, sliceTakeUntil(&value, ','));
    return HTTP_OK;
}

/* Called for the empty line, which ends the request. */
static int httpRequestFinish(httpRequest *r) {
    if (!r->minor_0 && !r->has_host) return 400;
    if (r->has_length && r->has_encoding) return 400; /* its length would be ambiguous */
    if (r->method == HTTP_OTHER) return 405;
    if (r->has_body) return 413;
    r->keeps_alive = r->minor_0 ? r->keep_alive && !r->closes : !r->closes;
    r->prefers_open = r->open_weight > 0 && r->open_weight >= r->text_weight;
    return HTTP_OK;
}

/* ---- Lines ---- */

static int readLine(httpRequest *r, slice line, bool *whole) {
    if (line.len && line.ptr[line.len - 1] == '\r') line.len--; /* another CR in the line is a syntax error */
    if (line.len == 0) {
        *whole = r->has_line;
        return r->has_line ? httpRequestFinish(r) : ++r->blank_lines > BLANK_LINES_MAX ? 400 : HTTP_OK;
    }
    if (r->has_line) return readField(r, line);
    r->has_line = true;
    r->open_weight = r->text_weight = -1;
    return readRequestLine(r, line);
}

/* Returns an error if the current line is too long for its end to come within the limits. */
static int tooLong(const httpRequest *r, size_t len) {
    if (!r->has_line && len - r->line > TARGET_MAX + 1) return 414;
    return len >= HTTP_REQUEST_MAX ? 431 : HTTP_MORE;
}

/* Asserts the invariants, and that no result is set before the request line; at both ends of httpRequestRead(). */
static void requestCheck(const httpRequest *r, size_t len) {
    debugAssert(r->line <= r->scanned && r->scanned <= len);
    debugAssert(r->end == 0 || r->end == r->line);
    debugAssert(r->has_line || (r->fields == 0 && !r->has_host && !r->has_length && !r->path.ptr));
    debugAssert(r->fields <= FIELDS_MAX + 1 && r->blank_lines <= BLANK_LINES_MAX + 1);
    debugAssert(r->open_weight <= WEIGHT_ONE && r->text_weight <= WEIGHT_ONE);
    debugAssert((!r->has_body && !r->has_encoding) || r->has_length || r->has_encoding);
    unused(r), unused(len);
}

static int readRequest(httpRequest *r, const char *bytes, size_t len) {
    while (r->scanned < len) {
        const char *end = memchr(bytes + r->scanned, '\n', len - r->scanned);
        if (!end) {
            r->scanned = len;
            break;
        }
        size_t next = (size_t)(end - bytes) + 1;
        if (next > HTTP_REQUEST_MAX) return tooLong(r, next);
        bool whole = false;
        int status = readLine(r, sliceOf(bytes + r->line, next - 1 - r->line), &whole);
        r->line = r->scanned = next;
        if (status != HTTP_OK) return status;
        if (whole) {
            r->end = next;
            return HTTP_OK;
        }
    }
    return tooLong(r, len);
}

int httpRequestRead(httpRequest *r, const char *bytes, size_t len) {
    requestCheck(r, len);
    debugAssert(r->end == 0); /* after a complete request httpRequestReset() must be called */
    int status = readRequest(r, bytes, len);
    requestCheck(r, len);
    debugAssert((status == HTTP_OK) == (r->end > 0) && (status == HTTP_MORE || status == HTTP_OK || status >= 400));
    debugAssert(status != HTTP_OK || (r->path.len > 0 && r->path.ptr[0] == '/' && !r->has_body));
    return status;
}

/* ---- Values ---- */

static int base64Digit(char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Returns the number of bytes; -1 if the text is not base64 or they do not fit. */
static ptrdiff_t base64Decode(char *out, size_t size, slice text) {
    uint32_t bits = 0;
    size_t n = 0;
    int padding = text.len % 4 == 0 ? 2 : 0; /* at most */
    for (; padding && text.len && text.ptr[text.len - 1] == '='; padding--) text.len--;
    if (text.len % 4 == 1) return -1;
    for (size_t i = 0; i < text.len; i++) {
        int digit = base64Digit(text.ptr[i]);
        if (digit < 0) return -1;
        bits = bits << 6 | (uint32_t)digit;
        if (i % 4 == 0) continue;
        if (n == size) return -1;
        out[n++] = (char)(bits >> (6 - i % 4 * 2) & 0xff);
    }
    debugAssert(n <= size && n == text.len * 3 / 4);
    return (ptrdiff_t)n;
}

bool httpCredentials(const httpRequest *r, char *out, size_t size, slice *name, slice *password) {
    if (!r->credentials.ptr) return false;
    ptrdiff_t n = base64Decode(out, size, r->credentials);
    if (n <= 0) return false;
    const char *colon = memchr(out, ':', (size_t)n);
    if (!colon) return false;
    *name = sliceOf(out, (size_t)(colon - out));
    *password = sliceOf(colon + 1, (size_t)(out + n - colon) - 1);
    return true;
}

slice httpQueryValue(slice query, const char *name) {
    while (query.len) {
        slice value = sliceTakeUntil(&query, '&'), key = sliceTakeUntil(&value, '=');
        if (sliceEq(key, sliceStr(name))) return value;
    }
    return query;
}

bool httpHostIsLocal(slice host) {
    if (host.len == 0 || host.ptr[0] == '[') return true;
    slice name = sliceTakeUntil(&host, ':');
    if (name.len && name.ptr[name.len - 1] == '.') name.len--;
    static const char below[] = ".localhost";
    const size_t below_len = sizeof(below) - 1;
    if (name.len > below_len && !strncasecmp(name.ptr + name.len - below_len, below, below_len)) return true;
    bool has_dot = false, is_address = true;
    for (size_t i = 0; i < name.len; i++) {
        has_dot |= name.ptr[i] == '.';
        is_address &= name.ptr[i] == '.' || (name.ptr[i] >= '0' && name.ptr[i] <= '9');
    }
    return is_address || !has_dot;
}

bool httpHasEtag(slice list, const char *etag) {
    while (list.len) {
        slice one = httpRequestTrimmed(sliceTakeUntil(&list, ','));
        if (one.len > 2 && one.ptr[0] == 'W' && one.ptr[1] == '/') one.ptr += 2, one.len -= 2;
        if (sliceEq(one, sliceStr(etag)) || sliceEq(one, sliceStr("*"))) return true;
    }
    return false;
}
