/* http_request_test.c -- valid and invalid requests, each at each split; requests that two parsers may read
 * differently; limits.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "http_request.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

/* Moves a slice from a buffer that is freed to one that stays. */
static void move(slice *s, const char *from, size_t len, const char *to) {
    if (s->ptr >= from && s->ptr <= from + len) s->ptr = to + (s->ptr - from);
}

/* Feeds `in` in two pieces, each in a buffer of exactly its size, so that AddressSanitizer detects a read beyond it. */
static int feed(httpRequest *r, const char *in, size_t len, size_t split) {
    httpRequestReset(r);
    int status = HTTP_MORE;
    for (int piece = 0; piece < 2 && status == HTTP_MORE; piece++) {
        size_t now = piece ? len : split;
        char *bytes = malloc(now ? now : 1);
        memcpy(bytes, in, now);
        status = httpRequestRead(r, bytes, now);
        move(&r->path, bytes, now, in);
        move(&r->query, bytes, now, in);
        move(&r->credentials, bytes, now, in);
        move(&r->etags, bytes, now, in);
        move(&r->host, bytes, now, in);
        free(bytes);
    }
    return status;
}

/* Feeds `in` byte by byte. */
static int feedSlowly(httpRequest *r, const char *in, size_t len) {
    httpRequestReset(r);
    int status = HTTP_MORE;
    for (size_t now = 1; now <= len && status == HTTP_MORE; now++) status = httpRequestRead(r, in, now);
    return status;
}

static bool isAlways(const char *in, size_t len, int wanted) {
    httpRequest r;
    for (size_t split = 0; split <= len; split++)
        if (!CHECK_EQ_INT(feed(&r, in, len, split), wanted)) {
            fprintf(stderr, "  split at %zu of <<%.200s>>\n", split, in);
            return false;
        }
    return CHECK_EQ_INT(feedSlowly(&r, in, len), wanted);
}

#define HOST "Host: a\r\n"
#define END "\r\n"

TEST(http_request_statuses) {
    static const struct {
        const char *text;
        int status;
    } cases[] = {
        {"GET / HTTP/1.1\r\n" HOST END, 200},
        {"HEAD /metrics HTTP/1.1\r\n" HOST END, 200},
        {"GET / HTTP/1.1\n"
         "Host: a\n\n",
         200}, /* as typed by hand */
        {"\r\n\r\nGET / HTTP/1.1\r\n" HOST END, 200},
        {"\n\n\n\n\nGET / HTTP/1.1\r\n" HOST END, 400}, /* one too many */
        {"GET / HTTP/1.0\r\n\r\n", 200},                /* knows no Host */
        {"GET / HTTP/1.1\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\n" HOST HOST END, 400},
        {"GET / HTTP/1.2\r\n" HOST END, 200},
        {"GET / HTTP/2.0\r\n" HOST END, 505},
        {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
        {"GET / HTTP/0.9\r\n\r\n", 505},
        {"GET /\r\n\r\n", 400},
        {"GET / http/1.1\r\n" HOST END, 400},
        {"GET / HTTP/1.1 \r\n" HOST END, 400},
        {"GET  / HTTP/1.1\r\n" HOST END, 400},
        {"GET metrics HTTP/1.1\r\n" HOST END, 400},
        {"GET http://a:9/metrics?x HTTP/1.1\r\n" HOST END, 200},
        {"GET http:///metrics HTTP/1.1\r\n" HOST END, 400},
        {"GET /a\x7f HTTP/1.1\r\n" HOST END, 400},
        {"GET /\xc3\xa4 HTTP/1.1\r\n" HOST END, 400},
        {"GET /#a HTTP/1.1\r\n" HOST END, 400},
        {"POST / HTTP/1.1\r\n" HOST END, 405},
        {"POST / HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\nabc", 405},
        {"OPTIONS * HTTP/1.1\r\n" HOST END, 405},
        {"CONNECT a:1 HTTP/1.1\r\n" HOST END, 405},
        {"get / HTTP/1.1\r\n" HOST END, 405},
        {"G(T / HTTP/1.1\r\n" HOST END, 400},
        {"\x16\x03\x01\x02\x01\x01\n", 400}, /* a TLS handshake */
        {"*1\r\n$4\r\nPING\r\n", 400},       /* a client of the server's main port */
        {"GET / HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\n", 200},
        {"GET / HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\n", 413},
        {"GET / HTTP/1.1\r\n" HOST "Content-Length: \r\n\r\n", 400},
        {"GET / HTTP/1.1\r\n" HOST "Content-Length: -1\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\n" HOST "Content-Length: 0\r\nContent-Length: 0\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n", 413},
        {"GET / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\n" HOST "Content-Length : 0\r\n\r\n", 400}, /* a blank that proxies interpret differently */
        {"GET / HTTP/1.1\r\n" HOST " folded: x\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\n" HOST ": x\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\n" HOST "no colon\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\n" HOST "a: b\rc: d\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\n" HOST "a: \x01\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\n" HOST "a: \tx\ty\xff\r\n\r\n", 200},
        {"GET / HTTP/1.1\r\n" HOST "Authorization: Basic a\r\nAuthorization: Basic b\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\n" HOST, 0},
        {"GET / HT", 0},
    };
    for (size_t i = 0; i < array_len(cases); i++)
        if (!isAlways(cases[i].text, strlen(cases[i].text), cases[i].status)) fprintf(stderr, "  case %zu\n", i);
    static const char with_zero[] = "GET /\0 HTTP/1.1\r\n" HOST END,
                      field_zero[] = "GET / HTTP/1.1\r\nHost: \0\r\n\r\n";
    isAlways(with_zero, sizeof(with_zero) - 1, 400);
    isAlways(field_zero, sizeof(field_zero) - 1, 400);
}

static bool pathIs(const char *target, const char *path) {
    char text[256];
    httpRequest r;
    size_t len = (size_t)snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\nHost: a\r\n\r\n", target);
    return CHECK_EQ_INT(feed(&r, text, len, len / 2), 200) && CHECK(sliceEq(r.path, sliceStr(path)));
}

TEST(http_request_paths) {
    pathIs("/metrics", "/metrics");
    pathIs("/metrics?a=1?b", "/metrics");
    pathIs("/?", "/");
    pathIs("http://example.org:80/metrics?x", "/metrics");
    pathIs("HTTP://example.org", "/");
}

static bool namesIs(const char *target, const char *value) {
    char text[256];
    httpRequest r;
    size_t len = (size_t)snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\nHost: a\r\n\r\n", target);
    return CHECK_EQ_INT(feed(&r, text, len, len / 2), 200) &&
           CHECK(sliceEq(httpQueryValue(r.query, "names"), sliceStr(value)));
}

TEST(http_request_queries) {
    namesIs("/metrics", "");
    namesIs("/metrics?", "");
    namesIs("/metrics?names", "");
    namesIs("/metrics?names=redis", "redis");
    namesIs("/metrics?a=b&names=redis&names=valkey", "redis");
    namesIs("/metrics?surnames=a&&=b&names=a=b?c", "a=b?c");
    namesIs("http://a:9/metrics?names=x", "x");
}

/* Returns the result of a request of that version with these header fields. */
static httpRequest with(const char *version, const char *fields) {
    static char text[1024];
    httpRequest r;
    size_t len = (size_t)snprintf(text, sizeof(text), "GET / HTTP/%s\r\nHost: a\r\n%s\r\n", version, fields);
    CHECK_EQ_INT(feed(&r, text, len, len / 2), 200);
    CHECK_EQ_INT(r.end, len);
    return r;
}

TEST(http_request_keeps_alive) {
    CHECK(with("1.1", "").keeps_alive);
    CHECK(!with("1.1", "Connection: close\r\n").keeps_alive);
    CHECK(!with("1.1", "Connection: Upgrade, CLOSE\r\n").keeps_alive);
    CHECK(with("1.1", "Connection: closed\r\n").keeps_alive);
    CHECK(!with("1.0", "").keeps_alive);
    CHECK(with("1.0", "Connection: Keep-Alive\r\n").keeps_alive);
    CHECK(!with("1.0", "Connection: keep-alive\r\nConnection: close\r\n").keeps_alive);
    CHECK(with("1.0", "").minor_0 && !with("1.1", "").minor_0);
}

TEST(http_request_formats) {
    CHECK(!with("1.1", "").prefers_open);
    CHECK(!with("1.1", "Accept: */*\r\n").prefers_open);
    CHECK(!with("1.1", "Accept: text/html,application/xhtml+xml;q=0.9,*/*;q=0.8\r\n").prefers_open);
    CHECK(with("1.1", "accept:application/openmetrics-text\r\n").prefers_open);
    CHECK(with("1.1", "Accept: application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;"
                      "q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1\r\n")
              .prefers_open);
    CHECK(!with("1.1", "Accept: application/openmetrics-text; q=0\r\n").prefers_open);
    CHECK(!with("1.1", "Accept: application/openmetrics-text;q=0.25, text/plain;q=0.3\r\n").prefers_open);
    CHECK(with("1.1", "Accept: text/plain;q=0.3\r\nAccept: application/openmetrics-text;q=0.301\r\n").prefers_open);
    CHECK(!with("1.1", "Accept: application/openmetrics-text;q=0.5, text/plain\r\n").prefers_open);
}

static bool credentials(const char *field, const char *name, const char *password) {
    char room[64];
    httpRequest r = with("1.1", field);
    slice got_name, got_password;
    if (!httpCredentials(&r, room, sizeof(room), &got_name, &got_password)) return false;
    return CHECK(sliceEq(got_name, sliceStr(name))) && CHECK(sliceEq(got_password, sliceStr(password)));
}

TEST(http_request_credentials) {
    CHECK(credentials("Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n", "Aladdin", "open sesame"));
    CHECK(credentials("authorization: bASIC   QTo=\r\n", "A", ""));
    CHECK(credentials("Authorization: Basic Ojo6\r\n", "", "::"));
    CHECK(credentials("Authorization: Basic QTpi\r\n", "A", "b"));
    CHECK(credentials("Authorization: Basic QTo\r\n", "A", ""));  /* padding is optional */
    CHECK(!credentials("Authorization: Basic QQ==\r\n", "", "")); /* no colon */
    CHECK(!credentials("Authorization: Basic QTpi=\r\n", "", ""));
    CHECK(!credentials("Authorization: Basic Q-:_\r\n", "", ""));
    CHECK(!credentials("Authorization: Basic Q\r\n", "", ""));
    CHECK(!credentials("Authorization: Basic ====\r\n", "", ""));
    CHECK(!credentials("Authorization: Basic\r\n", "", ""));
    CHECK(!credentials("Authorization: Bearer QTpi\r\n", "", ""));
    CHECK(!credentials("", "", ""));
    /* 66 bytes: more than the limit. */
    CHECK(
        !credentials("Authorization: Basic QTpiQTpiQTpiQTpiQTpiQTpiQTpiQTpiQTpiQTpiQTpiQTpiQTpiQTpiQTpiQTpiQTpiQTpiQTpi"
                     "QTpiQTpiQTpi\r\n",
                     "", ""));
}

TEST(http_request_hosts) {
    static const struct {
        const char *text, *host;
        bool ours;
    } cases[] = {
        {"GET / HTTP/1.0\r\n" END, "", true},
        {"GET / HTTP/1.1\r\nHost:\r\n" END, "", true},
        {"GET / HTTP/1.1\r\nHost: a\r\n" END, "a", true},
        {"GET / HTTP/1.1\r\nHost: 127.0.0.1:9121\r\n" END, "127.0.0.1:9121", true},
        {"GET / HTTP/1.1\r\nhost: [::1]:9121\r\n" END, "[::1]:9121", true},
        {"GET / HTTP/1.1\r\nHost: localhost:9121\r\n" END, "localhost:9121", true},
        {"GET / HTTP/1.1\r\nHost: metrics.LocalHost.\r\n" END, "metrics.LocalHost.", true},
        {"GET / HTTP/1.1\r\nHost: evil.example:9121\r\n" END, "evil.example:9121", false},
        {"GET / HTTP/1.1\r\nHost: 127.0.0.1.evil.example\r\n" END, "127.0.0.1.evil.example", false},
        {"GET / HTTP/1.1\r\nHost: evil.notlocalhost\r\n" END, "evil.notlocalhost", false},
        {"GET / HTTP/1.1\r\nHost: localhost.evil.example\r\n" END, "localhost.evil.example", false},
        {"GET http://evil.example HTTP/1.1\r\nHost: localhost\r\n" END, "evil.example", false},
        {"GET http://evil.example:1/x HTTP/1.1\r\nHost: localhost\r\n" END, "evil.example:1", false},
    };
    for (size_t i = 0; i < array_len(cases); i++) {
        size_t len = strlen(cases[i].text);
        for (size_t split = 0; split <= len; split++) {
            httpRequest r;
            CHECK_EQ_INT(feed(&r, cases[i].text, len, split), HTTP_OK);
            CHECK(sliceEq(r.host, sliceStr(cases[i].host)));
            if (!CHECK_EQ_INT(httpHostIsLocal(r.host), cases[i].ours)) fprintf(stderr, "  %s\n", cases[i].host);
        }
    }
}

TEST(http_request_etags) {
    CHECK(httpHasEtag(sliceStr("\"a\""), "\"a\""));
    CHECK(httpHasEtag(sliceStr("\"b\" , W/\"a\""), "\"a\""));
    CHECK(httpHasEtag(sliceStr("*"), "\"a\""));
    CHECK(!httpHasEtag(sliceStr("a, \"ab\",,W/"), "\"a\""));
}

/* A request that is too long is rejected at each split, and the longest allowed one is read. */
TEST(http_request_bounds) {
    static char text[HTTP_REQUEST_MAX + 200];
    httpRequest r;
    for (int over = -2; over <= 2; over++) {
        size_t path = (size_t)(4096 + over) - strlen("GET / HTTP/1.1"), n = 0;
        n += (size_t)sprintf(text, "GET /");
        memset(text + n, 'x', path);
        n += path;
        n += (size_t)sprintf(text + n, " HTTP/1.1\r\nHost: a\r\n\r\n");
        for (size_t split = 4080; split < 4110; split++) CHECK_EQ_INT(feed(&r, text, n, split), over > 0 ? 414 : 200);
        CHECK_EQ_INT(feedSlowly(&r, text, n), over > 0 ? 414 : 200);

        n = (size_t)sprintf(text, "GET / HTTP/1.1\r\nHost: a\r\nlong: ");
        size_t value = (size_t)(HTTP_REQUEST_MAX + over) - n - 4;
        memset(text + n, 'x', value);
        n += value;
        n += (size_t)sprintf(text + n, "\r\n\r\n");
        CHECK_EQ_INT(n, HTTP_REQUEST_MAX + over);
        for (size_t split = 8180; split <= n; split++) CHECK_EQ_INT(feed(&r, text, n, split), over > 0 ? 431 : 200);
    }
    size_t n = (size_t)sprintf(text, "GET / HTTP/1.1\r\nHost: a\r\n");
    for (int i = 0; i < 100; i++) n += (size_t)sprintf(text + n, "a: %d\r\n", i);
    sprintf(text + n, "\r\n");
    isAlways(text, n + 2, 431); /* 101 with Host */
}

/* Many requests in one piece: each ends where the next begins. */
TEST(http_request_pipeline) {
    static const char one[] = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n";
    char text[sizeof(one) * 20] = "";
    for (int i = 0; i < 20; i++) strcat(text, one);
    size_t at = 0, len = strlen(text);
    int count = 0;
    httpRequest r;
    for (httpRequestReset(&r); httpRequestRead(&r, text + at, len - at) == HTTP_OK; httpRequestReset(&r)) {
        CHECK_EQ_INT(r.end, sizeof(one) - 1);
        at += r.end;
        count++;
    }
    CHECK_EQ_INT(count, 20);
    CHECK_EQ_INT(at, len);
}

/* Random characters of the grammar give the same result at any split. */
TEST(http_request_random_splits) {
    static const char *const parts[] = {"GET",
                                        "HEAD",
                                        " ",
                                        "/",
                                        "?",
                                        "HTTP/1.1",
                                        "HTTP/1.0",
                                        "\r\n",
                                        "\n",
                                        "\r",
                                        ":",
                                        "Host",
                                        "Host: a\r\n",
                                        "Content-Length",
                                        "0",
                                        "1",
                                        "Accept",
                                        ",",
                                        ";",
                                        "q=",
                                        "Connection",
                                        "close",
                                        "Authorization",
                                        "Basic",
                                        "x",
                                        "\t",
                                        "\xff"};
    uint64_t rng = unitRandomSeed();
    for (int round = 0; round < 20000; round++) {
        char text[256];
        size_t n = 0;
        if (round % 2) n = (size_t)sprintf(text, "GET / HTTP/1.1\r\n");
        for (int i = 0; i < 12; i++) n += (size_t)sprintf(text + n, "%s", parts[unitRandom(&rng) % array_len(parts)]);
        httpRequest whole, pieces;
        int status = feed(&whole, text, n, n), other = feed(&pieces, text, n, unitRandom(&rng) % (n + 1));
        if (!CHECK_EQ_INT(other, status)) break;
        if (status == HTTP_OK && !CHECK(sliceEq(pieces.path, whole.path) && pieces.end == whole.end)) break;
        if (!CHECK_EQ_INT(feedSlowly(&pieces, text, n), status)) break;
    }
}
