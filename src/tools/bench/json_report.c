/* json_report.c -- the results of a run as one JSON document.
 *
 *     { program, version, started,
 *       server:   { host, port, socket, name, version, save, appendonly },
 *       settings: { the options, without passwords },
 *       tests: [ { test, requests, seconds, requests_per_second, payload_bytes, latency_counts_from, not_sent,
 *                  latency_ms:  { avg, stddev, min, p50, p95, p99, max },
 *                  percentiles: [ { percentile, ms, requests } ... ],
 *                  intervals:   [ { from_s, to_s, requests, requests_per_second, avg_ms } ... ] } ... ] }
 *
 * Programs read the names: existing ones do not change, new ones may be added. Seconds and milliseconds have a
 * resolution of microseconds. A percentile is listed if at least one request is above it.
 *
 * Tests       tests/unit/tools/result_reports_test.c, tests/tools/benchmark.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "result_files.h"
#include "version.h"

static const double percentiles[] = {1, 5, 10, 25, 50, 75, 90, 95, 99, 99.9, 99.99, 99.999, 99.9999};

static sds catText(sds out, const char *name, const char *value, const char *end) {
    return sdsCat(catJsonString(sdsCatPrintf(out, "\"%s\": ", name), value), end);
}

static sds catNumber(sds out, const char *name, long long value, const char *end) {
    return sdsCatPrintf(out, "\"%s\": %lld%s", name, value, end);
}

static sds catBool(sds out, const char *name, bool value, const char *end) {
    return sdsCatPrintf(out, "\"%s\": %s%s", name, value ? "true" : "false", end);
}

/* Appends microseconds as milliseconds. */
static sds catMs(sds out, const char *name, double us, const char *end) {
    return sdsCatPrintf(out, "\"%s\": %.3f%s", name, us / 1000, end);
}

static sds catServer(sds out, const benchOptions *o, const hostSettings *host) {
    out = sdsCat(out, "  \"server\": {");
    out = catText(out, "host", o->target.unix_path ? NULL : o->target.host, ", ");
    if (o->target.unix_path) out = sdsCat(out, "\"port\": null, ");
    else out = catNumber(out, "port", o->target.port, ", ");
    out = catText(out, "socket", o->target.unix_path, ",\n    ");
    out = catText(out, "name", host->name, ", ");
    out = catText(out, "version", host->version, ", ");
    out = catText(out, "save", host->save, ", ");
    return catText(out, "appendonly", host->appendonly, "},\n");
}

static sds catSettings(sds out, const benchOptions *o) {
    out = sdsCat(out, "  \"settings\": {\n    ");
    out = catNumber(out, "clients", o->clients, ", ");
    out = catNumber(out, "threads", o->threads, ", ");
    out = catNumber(out, "pipeline", o->pipeline, ", ");
    out = catBool(out, "keep_alive", o->keep_alive, ",\n    ");
    out = catNumber(out, "requests", o->requests, ", ");
    out = catNumber(out, "duration_s", o->duration_s, ", ");
    out = catNumber(out, "warmup_s", o->warmup_s, ", ");
    out = catNumber(out, "requests_per_second", o->rate, ",\n    ");
    out = catNumber(out, "data_bytes", o->data_size, ", ");
    out = sdsCatPrintf(out, "\"keys\": %llu, ", (unsigned long long)o->key_range);
    out = catBool(out, "sequential", o->sequential, ", ");
    out = sdsCatPrintf(out, "\"seed\": %llu,\n    ", (unsigned long long)o->seed);
    out = catNumber(out, "db", o->login.db, ", ");
    out = catNumber(out, "resp", o->resp3 ? 3 : 2, ", ");
    out = catBool(out, "tracking", o->tracking, ", ");
    out = catBool(out, "tls", o->tls.on, ",\n    ");
    out = catText(out, "tests", o->command_count ? NULL : o->tests, ", \"command\": ");
    if (o->command_count == 0) return sdsCat(out, "null},\n");
    for (int i = 0; i < o->command_count; i++) out = catJsonString(sdsCat(out, i ? ", " : "["), o->command[i]);
    return sdsCat(out, "]},\n");
}

static sds catLatency(sds out, const histogram *h) {
    out = sdsCat(out, "     \"latency_ms\": {");
    out = catMs(out, "avg", histogramMean(h), ", ");
    out = catMs(out, "stddev", histogramStddev(h), ", ");
    out = catMs(out, "min", (double)histogramMin(h), ", ");
    out = catMs(out, "p50", (double)histogramPercentile(h, 50), ", ");
    out = catMs(out, "p95", (double)histogramPercentile(h, 95), ", ");
    out = catMs(out, "p99", (double)histogramPercentile(h, 99), ", ");
    return catMs(out, "max", (double)histogramMax(h), "},\n");
}

static sds catPercentile(sds out, const histogram *h, double percentile, int64_t us) {
    int64_t last, seen = histogramCountUpTo(h, us, &last);
    return sdsCatPrintf(out, "\n       {\"percentile\": %g, \"ms\": %.3f, \"requests\": %lld}", percentile,
                        (double)us / 1000, (long long)seen);
}

static sds catPercentiles(sds out, const histogram *h) {
    double total = (double)histogramTotal(h);
    out = sdsCat(out, "     \"percentiles\": [");
    for (size_t i = 0; i < array_len(percentiles); i++) {
        if (total * (100 - percentiles[i]) < 99.999) break; /* the last digits of 99.9 are not exact */
        out = sdsCat(catPercentile(out, h, percentiles[i], histogramPercentile(h, percentiles[i])), ",");
    }
    if (total > 0) out = catPercentile(out, h, 100, histogramMax(h));
    return sdsCat(out, "],\n");
}

static sds catIntervals(sds out, const rateSeries *s) {
    out = sdsCat(out, "     \"intervals\": [");
    for (int i = 0; i < s->count; i++) {
        const ratePoint *p = &s->points[i];
        double seconds = (double)(p->to_us - p->from_us) / 1e6, requests = (double)p->requests;
        out = sdsCatPrintf(out, "%s\n       {\"from_s\": %.6f, \"to_s\": %.6f, ", i ? "," : "",
                           (double)p->from_us / 1e6, (double)p->to_us / 1e6);
        out = sdsCatPrintf(out, "\"requests\": %llu, \"requests_per_second\": %.2f, ", (unsigned long long)p->requests,
                           seconds > 0 ? requests / seconds : 0);
        out = catMs(out, "avg_ms", p->requests ? (double)p->latency_us / requests : 0, "}");
    }
    return sdsCat(out, "]}");
}

static sds catTest(sds out, const benchOptions *o, const testResult *r) {
    out = catText(sdsCat(out, "\n    {"), "test", r->title, ",\n     ");
    out = catNumber(out, "requests", (long long)r->requests, ", ");
    out = sdsCatPrintf(out, "\"seconds\": %.6f, \"requests_per_second\": %.2f, ", (double)r->elapsed_us / 1e6,
                       testResultRate(r));
    out = catNumber(out, "payload_bytes", r->payload, ",\n     ");
    out = catText(out, "latency_counts_from", o->rate ? "intended time" : "sending", ", ");
    out = catNumber(out, "not_sent", (long long)r->unsent, ",\n");
    out = catLatency(out, r->latencies);
    out = catPercentiles(out, r->latencies);
    return catIntervals(out, &r->rates);
}

sds jsonReport(const benchOptions *o, const hostSettings *host, const resultList *results) {
    char started[32];
    struct tm utc;
    gmtime_r(&results->started, &utc);
    strftime(started, sizeof(started), "%Y-%m-%dT%H:%M:%SZ", &utc);
    sds out = catText(sdsNew("{\n  "), "program", "valkey-benchmark", ", ");
    out = catText(out, "version", VALKEY_VERSION, ", ");
    out = catText(out, "started", started, ",\n");
    out = catServer(out, o, host);
    out = catSettings(out, o);
    out = sdsCat(out, "  \"tests\": [");
    for (int i = 0; i < results->count; i++) out = catTest(i ? sdsCat(out, ",") : out, o, results->tests[i]);
    return sdsCat(out, "]\n}\n");
}
