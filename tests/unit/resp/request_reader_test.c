/* request_reader_test.c -- each request at each split, the texts of errors, and random bytes against a second parser.
 *
 * A run feeds a stream in given pieces and writes the result as text: a line per request with its arguments, then how
 * the stream ended. The buffer of each feed is allocated to the byte, so that AddressSanitizer detects any read beyond
 * its end. Expected texts and outcomes are those of Valkey 9.1, observed on the wire.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "request_reader.h"
#include "sds.h"
#include "unit.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#define OUTPUT_MAX 8192
#define INPUT_MAX 512

typedef struct text {
    char bytes[OUTPUT_MAX];
    size_t len;
} text;

static void put(text *t, const void *p, size_t len) {
    if (len > OUTPUT_MAX - t->len) len = OUTPUT_MAX - t->len;
    memcpy(t->bytes + t->len, p, len);
    t->len += len;
}

static void putArg(text *t, const char *p, size_t len) {
    char head[24];
    put(t, head, (size_t)snprintf(head, sizeof(head), "<%zu:", len));
    put(t, p, len);
    put(t, ">", 1);
}

static bool growArgs(requestReader *r, size_t want) {
    size_t *refuse_above = r->grow_arg;

    if (refuse_above && want > *refuse_above) return false;
    size_t cap = r->args_cap * 2 > want ? r->args_cap * 2 : want;
    r->args = realloc(r->args, cap * sizeof(*r->args));
    r->args_cap = cap;
    return r->args != NULL;
}

static const requestLimits open_limits = {.args_max = INT_MAX, .bulk_len_max = 512 << 20, .authenticated = true};
static const requestLimits unauth_limits = {.args_max = INT_MAX, .bulk_len_max = 512 << 20, .authenticated = false};

/* Feeds `in` in pieces that end at ends[], and writes the result. */
static void run(text *out, const char *in, const size_t *ends, size_t count, const requestLimits *limits) {
    requestReader r = {.grow = growArgs};
    char *buf = NULL;
    size_t have = 0;

    out->len = 0;
    readerReset(&r, 0);
    for (size_t i = 0; i < count && r.state != READ_BAD; i++) {
        char *moved = malloc(ends[i] ? ends[i] : 1);
        memcpy(moved, buf ? buf : "", have);
        memcpy(moved + have, in + have, ends[i] - have);
        free(buf);
        buf = moved;
        have = ends[i];
        while (readerFeed(&r, limits, buf, have) == READ_DONE) {
            for (size_t a = 0; a < r.argc; a++) putArg(out, buf + r.args[a].offset, r.args[a].len);
            put(out, "\n", 1);
            readerReset(&r, r.pos);
            if (r.pos == have) break;
        }
    }
    if (r.state == READ_BAD) put(out, r.error, r.error_len);
    else if (r.state == READ_COUNT && r.pos == have) put(out, "idle", 4);
    else put(out, "more", 4);
    free(buf);
    free(r.args);
}

static void runWhole(text *out, const char *in, size_t len, const requestLimits *limits) {
    run(out, in, &len, 1, limits);
}

static void runBytewise(text *out, const char *in, size_t len, const requestLimits *limits) {
    size_t *ends = malloc((len + 1) * sizeof(*ends));
    for (size_t i = 0; i < len; i++) ends[i] = i + 1;
    run(out, in, ends, len, limits);
    free(ends);
}

static bool sameText(const text *a, const text *b) {
    return a->len == b->len && memcmp(a->bytes, b->bytes, a->len) == 0;
}

typedef struct sample {
    const char *in;
    size_t in_len;
    const char *out;
    size_t out_len;
    bool unauth;
} sample;
#define S(in_, out_) \
    { in_, sizeof(in_) - 1, out_, sizeof(out_) - 1, false }
#define U(in_, out_) \
    { in_, sizeof(in_) - 1, out_, sizeof(out_) - 1, true }
#define ECHO_LINE(x) "ECHO " x "\r\n"
#define BAD_COUNT "Protocol error: invalid multibulk length"
#define BAD_BULK "Protocol error: invalid bulk length"
#define BAD_CRLF "Protocol error: invalid CRLF in request"
#define BAD_QUOTES "Protocol error: unbalanced quotes in request"
#define PING "*1\r\n$4\r\nPING\r\n"

static const sample samples[] = {
    S("", "idle"),
    S(PING, "<4:PING>\nidle"),
    S("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$16\r\n0123456789abcdef\r\n", "<3:SET><1:k><16:0123456789abcdef>\nidle"),
    S(PING PING "*2\r\n$4\r\nECHO\r\n$0\r\n\r\n", "<4:PING>\n<4:PING>\n<4:ECHO><0:>\nidle"),
    S("*2\r\n$4\r\nECHO\r\n$5\r\na\r\n\0b\r\n", "<4:ECHO><5:a\r\n\0b>\nidle"),
    S("*11\r\n"
      "$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n$1\r\nd\r\n$1\r\ne\r\n$1\r\nf\r\n$1\r\ng\r\n$1\r\nh\r\n$1\r\ni\r\n"
      "$1\r\nj\r\n$1\r\nk\r\n",
      "<1:a><1:b><1:c><1:d><1:e><1:f><1:g><1:h><1:i><1:j><1:k>\nidle"),
    /* Counts. */
    S("*0\r\n" PING, "\n<4:PING>\nidle"),
    S("*-1\r\n" PING, "\n<4:PING>\nidle"),
    S("*-9223372036854775808\r\n", "\nidle"),
    S("*-9223372036854775809\r\n", BAD_COUNT),
    S("*2147483647\r\n", "more"),
    S("*2147483648\r\n", BAD_COUNT),
    S("*99999999999999999999\r\n", BAD_COUNT),
    S("*\r\n", BAD_COUNT),
    S("*abc\r\n", BAD_COUNT),
    S("*+1\r\n", BAD_COUNT),
    S("*01\r\n", BAD_COUNT),
    S("*00\r\n", BAD_COUNT),
    S("*01\r\n$4\r\nPING\r\n", BAD_COUNT),
    S("*001\r\n$4\r\nPING\r\n", BAD_COUNT),
    S("*0001\r\n$4\r\nPING\r\n", BAD_COUNT),
    S("*-0\r\n", BAD_COUNT),
    S("* 1\r\n", BAD_COUNT),
    S("*1 \r\n", BAD_COUNT),
    S("*--1\r\n", BAD_COUNT),
    S("*-1x\r\n", BAD_COUNT),
    S("*1\n\r\n", BAD_COUNT),
    S("*1\0\r\n", BAD_COUNT),
    S("*1\n$4\nPING\n", "more"),
    /* Lengths. */
    S("*1\r\n$0\r\n\r\n", "<0:>\nidle"),
    S("*1\r\n$-1\r\n", BAD_BULK),
    S("*1\r\n$-2\r\n", BAD_BULK),
    S("*1\r\n$-0\r\n", BAD_BULK),
    S("*1\r\n$+4\r\nPING\r\n", BAD_BULK),
    S("*1\r\n$04\r\nPING\r\n", BAD_BULK),
    S("*1\r\n$00\r\n\r\n", BAD_BULK),
    S("*1\r\n$004\r\nPING\r\n", BAD_BULK),
    S("*1\r\n$000\r\n\r\n*1", BAD_BULK),
    S("*1\r\n$0004\r\nPING\r\n", BAD_BULK),
    S("*1\r\n$0000\r\n\r\n", BAD_BULK),
    S("*1\r\n$000000004\r\nPING\r\n", BAD_BULK),
    S("*2\r\n$4\r\nECHO\r\n$012\r\nabcdefghijkl\r\n", BAD_BULK),
    S("*2\r\n$4\r\nECHO\r\n$12\r\nabcdefghijkl\r\n", "<4:ECHO><12:abcdefghijkl>\nidle"),
    S("*1\r\n$\r\n", BAD_BULK),
    S("*1\r\n$4\0\r\n", BAD_BULK),
    S("*1\r\n$536870912\r\n", "more"),
    S("*1\r\n$536870913\r\n", BAD_BULK),
    S("*1\r\n$2147483648\r\n", BAD_BULK),
    S("*1\r\n$18446744073709551616\r\n", BAD_BULK),
    S("*1\r\n:4\r\nPING\r\n", "Protocol error: expected '$', got ':'"),
    S("*1\r\n\r\n", "Protocol error: expected '$', got ' '"),
    S("*1\r\n\n\r\n", "Protocol error: expected '$', got ' '"),
    S("*1\r\n\0\r\n", "Protocol error: expected '$', got '\0'"),
    S("*1\r\n\xff\r\n", "Protocol error: expected '$', got '\xff'"),
    S("*3\r\n$3\r\nSET\r\n$1\r\na\r\nfoo\r\n", "Protocol error: expected '$', got 'f'"),
    S("*1\r\nxyz", "more"),
    S("*1\r\nx\r", "more"),
    S("*1\r\nx\rX", "Protocol error: expected '$', got 'x'"),
    /* Line ends. */
    S("*1\r", "more"),
    S("*1\rX", BAD_CRLF),
    S("*1\r\r\n", BAD_CRLF),
    S("*abc\rX", BAD_CRLF),
    S("*-1\rXPING\r\n", BAD_CRLF),
    S("*99999999999\rX", BAD_CRLF),
    S("*1\r\n$4\rXPING\r\n", BAD_CRLF),
    S("*1\r\n$x\rX", BAD_CRLF),
    S("*1\r\n$-1\rX", BAD_CRLF),
    S("*1\r\n$4\r\nPINGX", "more"),
    S("*1\r\n$4\r\nPINGXX", BAD_CRLF),
    S("*1\r\n$4\r\nPING\rX", BAD_CRLF),
    S("*1\r\n$4\r\nPINGX\n", BAD_CRLF),
    S("*1\r\n$4\r\nPING\n\n", BAD_CRLF),
    S("*1\r\n$4\r\nPING\r\r\n", BAD_CRLF),
    S("*1\r\n$0\r\nXX", BAD_CRLF),
    S("PING\r\n*1\r\n$4\r\nPINGXX", "<4:PING>\n" BAD_CRLF),
    /* Inline. */
    S("\r\n", "\nidle"),
    S("\n", "\nidle"),
    S("\r\n\r\nPING\r\n", "\n\n<4:PING>\nidle"),
    S("PING\n", "<4:PING>\nidle"),
    S("PING\r", "more"),
    S("PING\r\r\n", "<4:PING>\nidle"),
    S("PI\rNG\r\n", "<2:PI><2:NG>\nidle"),
    S("  SET  a\tb  \r\n", "<3:SET><1:a><1:b>\nidle"),
    S(" *1\r\n", "<2:*1>\nidle"),
    S("\x0bPING\x0b\x0c\r\n", "<6:PING\x0b\x0c>\nidle"),
    S(ECHO_LINE("foo \x0b"), "<4:ECHO><3:foo>\nidle"),
    S(ECHO_LINE("\"a b\""), "<4:ECHO><3:a b>\nidle"),
    S(ECHO_LINE("\"\\x41\\n\\r\\t\\b\\a\\\\\\\"\\q\""), "<4:ECHO><9:A\n\r\t\b\a\\\"q>\nidle"),
    S(ECHO_LINE("'it\\'s \\n'"), "<4:ECHO><7:it's \\n>\nidle"),
    S(ECHO_LINE("\"\" ''"), "<4:ECHO><0:><0:>\nidle"),
    S("\"\" a\r\n", "<0:><1:a>\nidle"),
    S(ECHO_LINE("\"a\"b"), "<4:ECHO><2:ab>\nidle"),
    S(ECHO_LINE("a\"b c\"d'e f'g"), "<4:ECHO><9:ab cde fg>\nidle"),
    S(ECHO_LINE("a\\b"), "<4:ECHO><3:a\\b>\nidle"),
    S(ECHO_LINE("\"\\x4\""), "<4:ECHO><2:x4>\nidle"),
    S(ECHO_LINE("\"\\xzz\""), "<4:ECHO><3:xzz>\nidle"),
    S(ECHO_LINE("\"\\X41\""), "<4:ECHO><3:X41>\nidle"),
    S(ECHO_LINE("\"\\x00\\xFf\""), "<4:ECHO><2:\0\xff>\nidle"),
    S(ECHO_LINE("'a\"b' \"a'b\""), "<4:ECHO><3:a\"b><3:a'b>\nidle"),
    S(ECHO_LINE("\"\\\""), "<4:ECHO><1:\\>\nidle"),
    S(ECHO_LINE("'\\'"), "<4:ECHO><1:\\>\nidle"),
    S(ECHO_LINE("\"\\\\\\\""), "<4:ECHO><2:\\\\>\nidle"),
    S(ECHO_LINE("\"\\\"\\\""), "<4:ECHO><2:\"\\>\nidle"),
    S(ECHO_LINE("\"\\\" x"), BAD_QUOTES),
    S(ECHO_LINE("\"\\\"a"), BAD_QUOTES),
    S(ECHO_LINE("\"abc"), BAD_QUOTES),
    S(ECHO_LINE("'abc"), BAD_QUOTES),
    S(ECHO_LINE("a'"), BAD_QUOTES),
    S(ECHO_LINE("\"a\\"), BAD_QUOTES),
    S("ECHO \"a\nb\"\r\n", BAD_QUOTES),
    S("a\0b\r\nPING\r\n", "more"),
    S("\0\r\nPING\r\n", "more"),
    S("PING\n\0\n", "<4:PING>\nmore"),
    /* Before authentication. */
    U("*10\r\n", "more"),
    U("*11\r\n", "Protocol error: unauthenticated multibulk length"),
    U("*2147483648\r\n", BAD_COUNT),
    U("*11\rX", BAD_CRLF),
    U("*-1\r\nPING\r\n", "\n<4:PING>\nidle"),
    U("*1\r\n$16384\r\n", "more"),
    U("*1\r\n$16385\r\n", "Protocol error: unauthenticated bulk length"),
    U("*1\r\n$536870913\r\n", BAD_BULK),
    U("*1\r\n$-1\r\n", BAD_BULK),
    U("PING a a a a a a a a a a a\r\n", "<4:PING><1:a><1:a><1:a><1:a><1:a><1:a><1:a><1:a><1:a><1:a><1:a>\nidle"),
};

TEST(request_reader_samples_at_every_split) {
    text *got = malloc(sizeof(*got));

    for (size_t i = 0; i < array_len(samples); i++) {
        const sample *s = &samples[i];
        const requestLimits *limits = s->unauth ? &unauth_limits : &open_limits;
        bool good = true;
        runWhole(got, s->in, s->in_len, limits);
        good = good && got->len == s->out_len && memcmp(got->bytes, s->out, got->len) == 0;
        runBytewise(got, s->in, s->in_len, limits);
        good = good && got->len == s->out_len && memcmp(got->bytes, s->out, got->len) == 0;
        for (size_t at = 0; at <= s->in_len; at++) {
            size_t ends[2] = {at, s->in_len};
            run(got, s->in, ends, 2, limits);
            good = good && got->len == s->out_len && memcmp(got->bytes, s->out, got->len) == 0;
        }
        if (!CHECK(good)) printf("  sample %zu: in \"%s\" got \"%.*s\"\n", i, s->in, (int)got->len, got->bytes);
    }
    free(got);
}

/* The limits are the same for an argument that arrives completely with its header, and the reader has capacity for, as
 * for one whose header arrives first. */
TEST(request_reader_limits_hold_for_what_comes_at_once) {
    static const struct {
        size_t len;
        bool unauth;
        const char *error; /* NULL if none */
    } cases[] = {
        {16384, true, NULL},     {16385, true, "Protocol error: unauthenticated bulk length"},
        {16385, false, NULL},    {20000, true, "Protocol error: unauthenticated bulk length"},
        {30000, false, NULL},    {30001, false, BAD_BULK},
        {30001, true, BAD_BULK},
    };
    static const char *const heads[] = {"*1\r\n$%zu\r\n", "*2\r\n$4\r\nECHO\r\n$%zu\r\n"};

    for (size_t i = 0; i < 2 * array_len(cases); i++) {
        requestLimits limits = cases[i / 2].unauth ? unauth_limits : open_limits;
        size_t len = cases[i / 2].len;
        char *buf = malloc(len + 64);
        size_t head = (size_t)sprintf(buf, heads[i % 2], len);
        memset(buf + head, 'b', len);
        memcpy(buf + head + len, "\r\n", 2);

        requestReader r = {.grow = growArgs};
        limits.bulk_len_max = 30000;
        CHECK(growArgs(&r, 8));
        readerReset(&r, 0);
        readState state = readerFeed(&r, &limits, buf, head + len + 2);
        CHECK_EQ_INT(state, cases[i / 2].error ? READ_BAD : READ_DONE);
        CHECK_EQ_STR(r.error, cases[i / 2].error ? cases[i / 2].error : "");
        if (state == READ_DONE) CHECK_EQ_INT(r.args[i % 2].len, len);
        free(buf);
        free(r.args);
    }
}

/* Lines of up to 64 KiB are allowed. One byte more is an error, but only while the end of the line has not arrived. */
TEST(request_reader_line_limits) {
    static const struct {
        const char *head, *too_big;
    } lines[] = {
        {"*", "Protocol error: too big mbulk count string"},
        {"$", "Protocol error: too big bulk count string"},
        {"x", "Protocol error: too big inline request"},
    };
    const size_t most = REQUEST_INLINE_MAX;

    for (size_t i = 0; i < array_len(lines); i++) {
        const char *before = lines[i].head[0] == '$' ? "*1\r\n" : "";
        size_t start = strlen(before), len = start + most + 3;
        char *buf = malloc(len);
        memset(buf, '1', len);
        memcpy(buf, before, start);
        buf[start] = lines[i].head[0];

        requestReader r = {.grow = growArgs};
        readerReset(&r, 0);
        CHECK(readerFeed(&r, &open_limits, buf, start + most) != READ_BAD);
        CHECK(readerFeed(&r, &open_limits, buf, start + most + 1) == READ_BAD);
        CHECK_EQ_STR(r.error, lines[i].too_big);

        memcpy(buf + start + most + 1, "\r\n", 2);
        readerReset(&r, 0);
        readState state = readerFeed(&r, &open_limits, buf, len);
        if (lines[i].head[0] == 'x') {
            CHECK(state == READ_DONE);
            CHECK_EQ_INT(r.args[0].len, most + 1);
        } else {
            CHECK_EQ_STR(r.error, lines[i].head[0] == '*' ? BAD_COUNT : BAD_BULK);
        }
        free(buf);
        free(r.args);
    }
}

TEST(request_reader_nul_hides_the_line_end_until_too_big) {
    char *buf = malloc(REQUEST_INLINE_MAX + 1);
    requestReader r = {.grow = growArgs};

    memset(buf, '\n', REQUEST_INLINE_MAX + 1);
    memcpy(buf, "a\0", 2);
    readerReset(&r, 0);
    CHECK(readerFeed(&r, &open_limits, buf, REQUEST_INLINE_MAX) == READ_INLINE);
    CHECK(readerFeed(&r, &open_limits, buf, REQUEST_INLINE_MAX + 1) == READ_BAD);
    CHECK_EQ_STR(r.error, "Protocol error: too big inline request");
    free(buf);
    free(r.args);
}

TEST(request_reader_missing_bytes_of_a_body) {
    char in[] = "*1\r\n$10\r\n0123456789\r\n";
    size_t len = sizeof(in) - 1, body = 9;
    requestReader r = {.grow = growArgs};

    readerReset(&r, 0);
    for (size_t end = 0; end <= len; end++) {
        readerFeed(&r, &open_limits, in, end);
        CHECK_EQ_INT(readerMissing(&r, end), end >= body && end < len ? len - end : 0);
    }
    CHECK(r.state == READ_DONE);
    free(r.args);
}

TEST(request_reader_args_grow_with_what_arrives) {
    size_t refuse_above = 3;
    requestReader r = {.grow = growArgs, .grow_arg = &refuse_above};
    char in[] = "*2147483647\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n$1\r\nd\r\n";

    readerReset(&r, 0);
    CHECK(readerFeed(&r, &open_limits, in, 13 + 3 * 7) == READ_LENGTH);
    CHECK_EQ_INT(r.argc, 3);
    CHECK(r.args_cap <= 4);
    CHECK(readerFeed(&r, &open_limits, in, sizeof(in) - 1) == (r.args_cap < 4 ? READ_BAD : READ_LENGTH));

    requestReader none = {.grow = NULL};
    readerReset(&none, 0);
    char line[] = "PING\r\n";
    CHECK(readerFeed(&none, &open_limits, line, 6) == READ_BAD);
    free(r.args);
}

TEST(request_reader_many_arguments) {
    enum { COUNT = 5000 };
    char *in = malloc(COUNT * 16 + 32);
    size_t len = (size_t)sprintf(in, "*%d\r\n", COUNT);
    requestReader r = {.grow = growArgs};
    int wrong = 0;

    for (int i = 0; i < COUNT; i++) len += (size_t)sprintf(in + len, "$4\r\n%04d\r\n", i);
    readerReset(&r, 0);
    for (size_t end = 0; end < len; end += 977) readerFeed(&r, &open_limits, in, end);
    CHECK(readerFeed(&r, &open_limits, in, len) == READ_DONE);
    CHECK_EQ_INT(r.argc, COUNT);
    CHECK_EQ_INT(r.pos, len);
    for (int i = 0; i < COUNT; i++) wrong += r.args[i].len != 4 || atoi(in + r.args[i].offset) != i;
    CHECK_EQ_INT(wrong, 0);
    free(r.args);
    free(in);
}

TEST(request_reader_cross_protocol_words) {
    CHECK(requestIsCrossProtocol(sliceStr("POST")));
    CHECK(requestIsCrossProtocol(sliceStr("host:")));
    CHECK(!requestIsCrossProtocol(sliceStr("POSTx")));
    CHECK(!requestIsCrossProtocol(sliceStr("host")));
    CHECK(!requestIsCrossProtocol(sliceStr("")));
}

/* ------------------------------------------------------------------------------------------- model */

/* The naive parser. It gets the whole stream and writes the same text. */
typedef struct model {
    const char *in;
    size_t len, at;
    text *out;
    bool stopped;
} model;

static void modelStop(model *m, const char *why, size_t len) {
    if (!m->stopped) put(m->out, why, len);
    m->stopped = true;
}

/* Parses a header line without its type byte. Returns false if the stream ends in it or is malformed. */
static bool modelNumber(model *m, char type, const char *bad, long long *value) {
    size_t cr = m->at;
    while (cr < m->len && m->in[cr] != '\r') cr++;
    if (cr + 1 >= m->len) {
        modelStop(m, "more", 4);
        return false;
    }
    if (m->in[m->at] != type) {
        char why[64];
        char got = m->in[m->at] == '\r' || m->in[m->at] == '\n' ? ' ' : m->in[m->at];
        int n = snprintf(why, sizeof(why), "Protocol error: expected '$', got '%c'", got);
        modelStop(m, why, (size_t)n);
        return false;
    }
    if (m->in[cr + 1] != '\n') {
        modelStop(m, BAD_CRLF, strlen(BAD_CRLF));
        return false;
    }
    char digits[64], again[64];
    size_t n = cr - m->at - 1;
    bool good = n > 0 && n < 19;
    if (good) {
        memcpy(digits, m->in + m->at + 1, n);
        digits[n] = '\0';
        *value = strtoll(digits, NULL, 10);
        snprintf(again, sizeof(again), "%lld", *value);
        good = strlen(digits) == n && strcmp(again, digits) == 0;
    }
    if (!good) modelStop(m, bad, strlen(bad));
    m->at = cr + 2;
    return good;
}

static void modelBulks(model *m) {
    long long count, len;

    if (!modelNumber(m, '*', BAD_COUNT, &count)) return;
    if (count > INT_MAX) {
        modelStop(m, BAD_COUNT, strlen(BAD_COUNT));
        return;
    }
    text line = {.len = 0};
    for (; count > 0; count--) {
        if (m->at == m->len) {
            modelStop(m, "more", 4);
            return;
        }
        if (!modelNumber(m, '$', BAD_BULK, &len)) return;
        if (len < 0 || len > 512 << 20) {
            modelStop(m, BAD_BULK, strlen(BAD_BULK));
            return;
        }
        if ((size_t)len + 2 > m->len - m->at) {
            modelStop(m, "more", 4);
            return;
        }
        if (memcmp(m->in + m->at + len, "\r\n", 2) != 0) {
            modelStop(m, BAD_CRLF, strlen(BAD_CRLF));
            return;
        }
        putArg(&line, m->in + m->at, (size_t)len);
        m->at += (size_t)len + 2;
    }
    put(m->out, line.bytes, line.len);
    put(m->out, "\n", 1);
}

static void modelInline(model *m) {
    size_t nl = m->at;
    while (nl < m->len && m->in[nl] != '\n' && m->in[nl] != '\0') nl++;
    if (nl == m->len || m->in[nl] == '\0') {
        modelStop(m, "more", 4);
        return;
    }
    char line[INPUT_MAX + 1] = {0}; /* zero-filled, so looking ahead is safe */
    size_t len = nl - m->at;
    if (len > 0 && m->in[nl - 1] == '\r') len--;
    memcpy(line, m->in + m->at, len);
    m->at = nl + 1;

    text words = {.len = 0};
    const char *s = line;
    for (;;) {
        char word[INPUT_MAX], quote = 0;
        size_t n = 0;
        s += strspn(s, " \t\r\n\v\f");
        if (!*s) break;
        for (; *s && (quote || !strchr(" \t\r\n", *s)); s++) {
            if (!quote && (*s == '"' || *s == '\'')) quote = *s;
            else if (quote && *s == quote) quote = 0;
            else if (quote == '\'' && s[0] == '\\' && s[1] == '\'' && s[2]) word[n++] = *++s;
            else if (quote == '"' && s[0] == '\\' && s[1] && s[2]) {
                unsigned code;
                static const char from[] = "nrtba", to[] = "\n\r\t\b\a";
                const char *known = strchr(from, s[1]);
                if (s[1] == 'x' && strspn(s + 2, "0123456789abcdefABCDEF") >= 2 && sscanf(s + 2, "%2x", &code) == 1) {
                    word[n++] = (char)code;
                    s += 3;
                } else {
                    word[n++] = known ? to[known - from] : s[1];
                    s++;
                }
            } else {
                word[n++] = *s;
            }
        }
        if (quote) {
            modelStop(m, BAD_QUOTES, strlen(BAD_QUOTES));
            return;
        }
        putArg(&words, word, n);
    }
    put(m->out, words.bytes, words.len);
    put(m->out, "\n", 1);
}

static void runModel(text *out, const char *in, size_t len) {
    model m = {.in = in, .len = len, .out = out};

    out->len = 0;
    while (!m.stopped && m.at < len) {
        if (in[m.at] == '*') modelBulks(&m);
        else modelInline(&m);
    }
    modelStop(&m, "idle", 4);
}

/* Makes a stream of mostly valid requests with some bytes changed, or of bytes that have a meaning for the parser. */
static size_t randomStream(uint64_t *rng, char *in) {
    static const char bytes[] = "*$0123456789\r\n\r\n -+aX\"'\\xn\t\v";
    size_t len = 0;

    if (unitRandom(rng) % 3 == 0) {
        len = unitRandom(rng) % 60;
        for (size_t i = 0; i < len; i++) in[i] = bytes[unitRandom(rng) % sizeof(bytes)];
        return len;
    }
    for (int requests = (int)(unitRandom(rng) % 4); requests >= 0; requests--) {
        int args = (int)(unitRandom(rng) % 4);
        len += (size_t)sprintf(in + len, "*%d\r\n", args);
        for (int i = 0; i < args; i++) {
            int n = (int)(unitRandom(rng) % 12);
            len += (size_t)sprintf(in + len, "$%d\r\n", n);
            for (int j = 0; j < n; j++) in[len++] = bytes[unitRandom(rng) % sizeof(bytes)];
            len += (size_t)sprintf(in + len, "\r\n");
        }
        if (unitRandom(rng) % 4 == 0) len += (size_t)sprintf(in + len, "SET \"a\\\"\" 'b'\r\n");
    }
    for (int changes = (int)(unitRandom(rng) % 3); changes > 0; changes--) {
        in[unitRandom(rng) % len] = bytes[unitRandom(rng) % sizeof(bytes)];
    }
    return len;
}

TEST(request_reader_random_streams_against_a_naive_parser) {
    uint64_t rng = unitRandomSeed();
    text *want = malloc(sizeof(*want)), *got = malloc(sizeof(*got));

    for (int round = 0; round < 20000; round++) {
        char in[INPUT_MAX];
        size_t len = randomStream(&rng, in), cuts = unitRandom(&rng) % 6, ends[8];
        runModel(want, in, len);
        for (size_t i = 0; i < cuts; i++) {
            size_t low = i ? ends[i - 1] : 0;
            ends[i] = low + unitRandom(&rng) % (len - low + 1);
        }
        ends[cuts] = len;
        runWhole(got, in, len, &open_limits);
        bool same = sameText(want, got);
        run(got, in, ends, cuts + 1, &open_limits);
        same = same && sameText(want, got);
        if (CHECK(same)) continue;
        printf("  in:   %.*s\n  want: %.*s\n  got:  %.*s\n", (int)len, in, (int)want->len, want->bytes, (int)got->len,
               got->bytes);
        break;
    }
    free(want);
    free(got);
}

/* --- bodies that are taken elsewhere ------------------------------------------------------------------------------ */

#define OUT_FROM 5 /* arguments of so many bytes that are not complete with their header are stored elsewhere */

/* Like run(), but feeds the input in two parts, split after `cut` bytes, or byte by byte if `cut` is 0. Arguments that
 * were stored elsewhere are put together here. */
static void runTakingOut(text *out, const char *in, size_t len, size_t cut) {
    requestReader r = {.grow = growArgs};
    char buf[INPUT_MAX], apart[8][INPUT_MAX];
    size_t have = 0, apart_len = 0;
    int apart_of[8], aparts = 0;

    out->len = 0;
    readerReset(&r, 0);
    for (size_t at = 0; at < len && r.state != READ_BAD; at++) {
        if (aparts && r.state == READ_TAIL && apart_len < r.args[apart_of[aparts - 1]].len) {
            apart[aparts - 1][apart_len++] = in[at];
            continue;
        }
        buf[have++] = in[at];
        if (cut && at + 1 != cut && at + 1 != len) continue; /* more of the same read */
        while (readerFeed(&r, &open_limits, buf, have) == READ_DONE) {
            for (size_t a = 0, k = 0; a < r.argc; a++) {
                bool taken = k < (size_t)aparts && apart_of[k] == (int)a;
                putArg(out, taken ? apart[k] : buf + r.args[a].offset, r.args[a].len);
                if (taken) k++;
            }
            put(out, "\n", 1);
            aparts = 0;
            readerReset(&r, r.pos);
            if (r.pos == have) break;
        }
        if (r.state != READ_BODY || r.body_len < OUT_FROM) continue;
        size_t here = have - r.pos;
        if (here > (size_t)r.body_len) here = (size_t)r.body_len;
        memcpy(apart[aparts], buf + r.pos, here);
        memmove(buf + r.pos, buf + r.pos + here, have - r.pos - here);
        have -= here;
        apart_len = here;
        apart_of[aparts++] = (int)r.argc;
        CHECK(readerTakeBodyOut(&r));
        CHECK(r.state == READ_TAIL);
    }
    if (r.state == READ_BAD) put(out, r.error, r.error_len);
    else if (r.state == READ_COUNT && r.pos == have) put(out, "idle", 4);
    else put(out, "more", 4);
    free(r.args);
}

TEST(bodies_that_are_taken_elsewhere_change_nothing) {
    static const char *const inputs[] = {
        "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$11\r\nhello\r\n$2\r\n\r\n*1\r\n$4\r\nPING\r\n",
        "*4\r\n$4\r\nMSET\r\n$8\r\nlong key\r\n$6\r\n\r\n*1\r\n\r\n$7\r\nanother\r\nPING\r\n",
        "*1\r\n$9\r\nno \r\n name\r\n*2\r\n$0\r\n\r\n$5\r\nabcde\r\n",
        "*2\r\n$4\r\nECHO\r\n$6\r\nabcdefx\r\n*1\r\n$4\r\nPING\r\n", /* no CRLF after the body */
        "*2\r\n$4\r\nECHO\r\n$6\r\nabcdef\rx*1\r\n$4\r\nPING\r\n",
        "*3\r\n$4\r\nECHO\r\n$6\r\nabcdef\r\n!",
        "*2\r\n$4\r\nECHO\r\n$60\r\nabcdef\r\n",
    };
    static text want, got;
    for (size_t i = 0; i < array_len(inputs); i++) {
        size_t len = strlen(inputs[i]);
        runWhole(&want, inputs[i], len, &open_limits);
        for (size_t cut = 0; cut < len; cut++) {
            runTakingOut(&got, inputs[i], len, cut);
            if (!CHECK(sameText(&want, &got))) printf("cut at %zu: %s\n", cut, inputs[i]);
        }
    }
}

TEST(a_body_without_room_for_its_argument) {
    size_t most = 1;
    requestReader r = {.grow = growArgs, .grow_arg = &most};
    char buf[] = "*2\r\n$4\r\nECHO\r\n$10\r\nab";
    readerReset(&r, 0);
    CHECK(readerFeed(&r, &open_limits, buf, sizeof(buf) - 1) == READ_BODY);
    CHECK(!readerTakeBodyOut(&r));
    CHECK(r.state == READ_BAD);
    CHECK_EQ_STR(r.error, "Protocol error: out of memory");
    free(r.args);
}

/* Returns the words of an inline request, each in brackets; "bad" if there are none. */
static sds splitText(const char *line) {
    int count;
    sds *words = sdsSplitInline(line, &count), out = sdsEmpty();
    if (!words) return sdsCat(out, "bad");
    for (int i = 0; i < count; i++) out = sdsCat(sdsCatLen(sdsCat(out, "<"), words[i], sdsLen(words[i])), ">");
    sdsFreeSplitRes(words, count);
    return out;
}

TEST(request_lines_are_split_as_inline_requests_are) {
    static const char *const lines[][2] = {
        {"", ""},
        {" \t ", ""},
        {"set  a\t'b c' \r", "<set><a><b c>"},
        {"\"a\"b c\"\"d 'e'\"f\"", "<ab><cd><ef>"},
        {"\"\" ''", "<><>"},
        {"\"a\\x41\\n\\\"\"", "<aA\n\">"},
        {"'a\\'b\\n'", "<a'b\\n>"},
        {"a\\nb", "<a\\nb>"},
        {"a \"b", "bad"},
        {"a'b", "bad"},
    };
    for (size_t i = 0; i < array_len(lines); i++) {
        sds text = splitText(lines[i][0]);
        CHECK_EQ_STR(text, lines[i][1]);
        sdsFree(text);
    }
}
