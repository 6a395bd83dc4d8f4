/* result_reports_test.c -- results as JSON and as a picture.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "result_files.h"
#include "unit.h"
#include "zmalloc.h"

static testResult *makeResult(const char *title, int requests) {
    testResult *r = zcalloc(1, sizeof(*r));
    r->title = sdsNew(title);
    r->payload = 3;
    r->requests = (uint64_t)requests;
    r->elapsed_us = 2000000;
    r->latencies = histogramCreate(10, 3600000000, 3);
    for (int i = 0; i < requests; i++) histogramRecord(r->latencies, i % 100 == 99 ? 50000 : 1000);
    rateSeriesStart(&r->rates, 1000000);
    rateSeriesRead(&r->rates, 1000000, (uint64_t)requests / 2, (uint64_t)requests * 500);
    rateSeriesRead(&r->rates, 2000000, (uint64_t)requests, (uint64_t)requests * 1500);
    return r;
}

static benchOptions someOptions(void) {
    return (benchOptions){.target = {.host = "localhost", .port = 6379},
                          .clients = 50,
                          .pipeline = 1,
                          .data_size = 3,
                          .login.password = "sesame",
                          .keep_alive = true};
}

static bool has(const char *text, const char *part) {
    if (strstr(text, part)) return true;
    return CHECK_EQ_STR(text, part);
}

TEST(json_report_says_what_was_measured) {
    benchOptions o = someOptions();
    hostSettings host = {.save = "3600 1", .appendonly = NULL};
    resultList list = {.started = 0};
    resultListAdd(&list, makeResult("GET", 1000));
    sds json = jsonReport(&o, &host, &list);
    has(json, "\"started\": \"1970-01-01T00:00:00Z\"");
    has(json, "\"host\": \"localhost\", \"port\": 6379, \"socket\": null");
    has(json, "\"save\": \"3600 1\", \"appendonly\": null}");
    has(json, "\"test\": \"GET\"");
    has(json, "\"requests\": 1000, \"seconds\": 2.000000, \"requests_per_second\": 500.00, \"payload_bytes\": 3");
    has(json, "\"latency_counts_from\": \"sending\", \"not_sent\": 0");
    has(json, "{\"percentile\": 50, \"ms\": 1.007, \"requests\": 990}");
    has(json, "{\"percentile\": 99.9, \"ms\": 50.015, \"requests\": 1000}");
    has(json, "{\"percentile\": 100, \"ms\": 50.015, \"requests\": 1000}]");
    has(json, "{\"from_s\": 1.000000, \"to_s\": 2.000000, \"requests\": 500, \"requests_per_second\": 500.00, "
              "\"avg_ms\": 2.000}]");
    CHECK(strstr(json, "\"percentile\": 99.99,") == NULL); /* no request is above it */
    CHECK(strstr(json, "sesame") == NULL);
    sdsFree(json);
    resultListClear(&list);
}

TEST(json_report_names_rate_and_command) {
    char *words[] = {"SET", "a\"b", "1"};
    benchOptions o = someOptions();
    o.rate = 100;
    o.command = words;
    o.command_count = 3;
    o.target.unix_path = "/tmp/s";
    hostSettings host = {0};
    resultList list = {0};
    testResult *r = makeResult("SET a\"b 1", 10);
    r->unsent = 7;
    resultListAdd(&list, r);
    sds json = jsonReport(&o, &host, &list);
    has(json, "\"latency_counts_from\": \"intended time\", \"not_sent\": 7");
    has(json, "\"command\": [\"SET\", \"a\\\"b\", \"1\"]}");
    has(json, "\"host\": null, \"port\": null, \"socket\": \"/tmp/s\"");
    sdsFree(json);
    resultListClear(&list);
}

TEST(json_report_of_nothing) {
    benchOptions o = someOptions();
    hostSettings host = {0};
    resultList list = {0};
    sds json = jsonReport(&o, &host, &list);
    has(json, "\"tests\": []\n}\n");
    sdsFree(json);
    resultListAdd(&list, makeResult("GET", 0));
    json = jsonReport(&o, &host, &list);
    has(json, "\"percentiles\": [],");
    CHECK(strstr(json, "nan") == NULL && strstr(json, "inf") == NULL);
    sdsFree(json);
    resultListClear(&list);
}

/* Checks that elements are nested correctly and attributes are closed. */
static void checkWellFormed(const char *svg) {
    char open[8][16];
    int depth = 0;
    for (const char *p = strchr(svg, '<'); p; p = strchr(p, '<')) {
        const char *end = strchr(p, '>');
        size_t name_len = strcspn(p + 1, " />");
        if (!CHECK(end != NULL)) return;
        if (p[1] == '/') {
            if (!CHECK(depth > 0 && strncmp(open[depth - 1], p + 2, strlen(open[depth - 1])) == 0)) return;
            depth--;
        } else if (end[-1] != '/') {
            if (!CHECK(depth < 8 && name_len < 16)) return;
            memcpy(open[depth], p + 1, name_len);
            open[depth++][name_len] = '\0';
        }
        p = end;
    }
    CHECK_EQ_INT(depth, 0);
}

TEST(svg_report_cuts_what_is_longer_than_a_line) {
    benchOptions o = someOptions();
    hostSettings host = {0};
    resultList list = {0};
    char title[200];
    memset(title, 'x', sizeof(title));
    title[95] = title[199] = '\0';
    resultListAdd(&list, makeResult(title, 1));
    title[95] = 'x';
    resultListAdd(&list, makeResult(title, 1));
    sds svg = svgReport(&o, &host, &list);
    title[95] = '\0';
    sds whole = sdsCatPrintf(sdsEmpty(), ">%s<", title), cut = sdsCatPrintf(sdsEmpty(), ">%s \xe2\x80\xa6<", title);
    has(svg, whole);
    has(svg, cut);
    sdsFree(whole);
    sdsFree(cut);
    sdsFree(svg);
    resultListClear(&list);
}

TEST(svg_report_is_a_picture) {
    benchOptions o = someOptions();
    o.rate = 1000;
    hostSettings host = {.name = "valkey", .version = "9.1.2"};
    resultList list = {0};
    resultListAdd(&list, makeResult("GET <a>&", 1000));
    resultListAdd(&list, makeResult("SET", 1));
    resultListAdd(&list, makeResult("nothing", 0));
    sds svg = svgReport(&o, &host, &list);
    checkWellFormed(svg);
    has(svg, "valkey 9.1.2 at localhost:6379");
    has(svg, ">GET &lt;a&gt;&amp;</text>");
    has(svg,
        ">500 requests per second \xc2\xb7 2.00 s \xc2\xb7 p50 1.01 ms \xc2\xb7 p99 1.01 ms \xc2\xb7 slowest 50 ms<");
    has(svg, "--rps 1,000");
    has(svg, "latencies count from the scheduled time");
    has(svg, ": no replies");
    CHECK(strstr(svg, "nan") == NULL && strstr(svg, "inf") == NULL);
    CHECK(strstr(svg, "sesame") == NULL);
    sdsFree(svg);
    resultListClear(&list);
}
