/* main.c -- valkey-benchmark: runs tests against a server, one after the other, and prints the results.
 *
 * A blocking connection first requests the server's settings, so that a wrong address or password is reported at once
 * and in one sentence. The load uses connections of the generator.
 *
 * Exit code   0; 1 if the server cannot be reached, refuses the login, replies with an error, or does not know the
 *             command of a test. An unknown command ends its own test only: the rest of the series runs.
 * Tests       tests/tools/benchmark.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "anet.h"
#include "clock.h"
#include "fuzz.h"
#include "generator.h"
#include "numbers.h"
#include "bench_options.h"
#include "report.h"
#include "resp_format.h"
#include "result_files.h"
#include "server_link.h"
#include "standard_tests.h"
#include "version.h"
#include "workload.h"
#include "zmalloc.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PROGRESS_MS 250
#define READING_MS 50 /* between readings of the counters for the rate over time */

typedef struct benchmark {
    benchOptions options;
    hostSettings host;
    char ip[ANET_ADDR_LEN];
    sds setup; /* owns */
    int setup_replies;
    sds data;      /* owns */
    uint64_t runs; /* gives each run a different seed */
    resultList results;
    bool failed;
} benchmark;

/* ---- Questions to the server ------------------------------------------------------------------------------------ */

/* Prints `format`, whose two %s are the server's address and `text`, and ends the program. */
noreturn_fn static void quit(const benchOptions *o, const char *format, const char *text) {
    sds address = o->target.unix_path ? sdsNew(o->target.unix_path)
                                      : sdsCatPrintf(sdsEmpty(), "%s:%d", o->target.host, o->target.port);
    fflush(stdout);
    fprintf(stderr, format, address, text);
    exit(1);
}

noreturn_fn static void quitUnreachable(const benchOptions *o, const char *why) {
    quit(o, "Could not connect to server at %s: %s\n", why);
}

noreturn_fn static void quitRefused(const benchOptions *o, const char *text) {
    quit(o, "Node %s replied with error:\n%s\n", text);
}

/* Connects and logs in. Ends the program if the server cannot be reached or refuses the login. */
static serverLink *connectServer(const benchOptions *o) {
    char err[LINK_ERR_LEN];
    serverLink *l = linkOpen(&o->target, err);
    if (!l) quitUnreachable(o, err);
    if (!o->login.password) return l;
    replyValue *r = toolLogIn(l, &o->login);
    if (!r) quitUnreachable(o, linkError(l));
    if (replyIsError(r)) quitRefused(o, r->str);
    replyValueFree(r);
    return l;
}

/* Returns the value of a setting, or NULL if the server does not report it. Ends the program if the connection is
 * lost. */
static char *askSetting(const benchOptions *o, serverLink *l, const char *name) {
    replyValue *r = linkCall(l, "CONFIG", "GET", name, NULL);
    if (!r) quitUnreachable(o, linkError(l));
    if (replyIsError(r) && strncmp(r->str, "NOAUTH", 6) == 0) quitRefused(o, r->str);
    const char *value = replyLookupText(r, name);
    char *text = value ? zstrdup(value) : NULL;
    replyValueFree(r);
    return text;
}

/* Returns the value of a line "field:value" of INFO, or NULL. */
static char *infoField(const char *info, const char *field) {
    const char *at = strstr(info, field);
    if (!at || (at > info && at[-1] != '\n')) return NULL;
    at += strlen(field);
    size_t len = strcspn(at, "\r\n");
    char *value = zmalloc(len + 1);
    memcpy(value, at, len);
    value[len] = '\0';
    return value;
}

/* Stores name and version of the server for the result files, if the server reports them. */
static void askVersion(benchmark *b, serverLink *l) {
    replyValue *r = linkCall(l, "INFO", "server", NULL);
    if (!r) quitUnreachable(&b->options, linkError(l));
    if (replyIsText(r)) {
        b->host.version = infoField(r->str, "valkey_version:");
        const char *name = b->host.version ? "valkey" : "redis";
        if (!b->host.version) b->host.version = infoField(r->str, "redis_version:");
        if (b->host.version) b->host.name = zstrdup(name);
    }
    replyValueFree(r);
}

static void askServer(benchmark *b) {
    const benchOptions *o = &b->options;
    serverLink *l = connectServer(o);
    if (resultFilesAreWanted(o)) askVersion(b, l);
    b->host.save = askSetting(o, l, "save");
    b->host.appendonly = askSetting(o, l, "appendonly");
    if (!b->host.save || !b->host.appendonly) fprintf(stderr, "WARNING: the settings of the server cannot be read\n");
    if (!o->target.unix_path) anetFdToString(linkFd(l), b->ip, sizeof(b->ip), NULL, true);
    linkClose(l);
}

/* Loads the function of the FCALL test. Returns false if the server does not accept it. */
static bool loadFunction(const benchOptions *o) {
    serverLink *l = connectServer(o);
    int count;
    sds *words = standardTestFcallLibrary(&count);
    slice *slices = linkWordSlices(words, (size_t)count);
    replyValue *r = linkCallWords(l, count, slices);
    bool loaded = r && !replyIsError(r);
    if (!loaded) fprintf(stderr, "FCALL skipped: %s\n", r ? r->str : linkError(l));
    replyValueFree(r);
    zfree(slices);
    sdsFreeSplitRes(words, count);
    linkClose(l);
    return loaded;
}

/* ---- Preparation ------------------------------------------------------------------------------------------------ */

static void makeSetup(benchmark *b) {
    const benchOptions *o = &b->options;
    char db[LONG_STR_SIZE];
    sds out = sdsEmpty();
    if (o->login.password && o->login.user)
        out = RESP_CAT_REQUEST(out, sliceStr("AUTH"), sliceStr(o->login.user), sliceStr(o->login.password));
    else if (o->login.password) out = RESP_CAT_REQUEST(out, sliceStr("AUTH"), sliceStr(o->login.password));
    if (o->tracking) out = RESP_CAT_REQUEST(out, sliceStr("CLIENT"), sliceStr("TRACKING"), sliceStr("on"));
    if (o->login.db) out = RESP_CAT_REQUEST(out, sliceStr("SELECT"), sliceOf(db, ll2string(db, o->login.db)));
    if (o->resp3) out = RESP_CAT_REQUEST(out, sliceStr("HELLO"), sliceStr("3"));
    b->setup = out;
    b->setup_replies = !!o->login.password + !!o->tracking + !!o->login.db + !!o->resp3;
}

/* Makes printable data that compresses badly, by the example generator of the C standard, so that it is the same in
 * each run. */
static sds makeData(int size) {
    sds data = sdsGrowZero(sdsEmpty(), (size_t)size);
    uint32_t state = 1234;
    for (int i = 0; i < size; i++) {
        state = state * 1103515245u + 12345u;
        data[i] = (char)('0' + (state >> 16 & 63));
    }
    return data;
}

static sds readStdin(void) {
    sds text = sdsEmpty();
    char part[4096];
    for (ssize_t n; (n = read(STDIN_FILENO, part, sizeof(part))) > 0;) text = sdsCatLen(text, part, (size_t)n);
    return text;
}

/* ---- Running ---------------------------------------------------------------------------------------------------- */

/* Prints a failure after the results so far, and ends the program. */
noreturn_fn static void quitFailed(const benchmark *b, runState state, const char *text) {
    const benchOptions *o = &b->options;
    if (!o->csv && !benchOptionsUseStdout(o)) printf("\n");
    fflush(stdout);
    if (state == RUN_SETUP_REFUSED) quitRefused(o, text);
    if (state == RUN_BROKEN) fprintf(stderr, "Error: %s\n", text);
    else fprintf(stderr, "Error from server: %s\n", text);
    /* Threads may wait for a server that does not respond: do not join them. */
    fflush(stderr);
    _exit(1);
}

/* Returns the part of the configuration that all runs share. */
static generatorConfig generatorConfigFor(const benchmark *b, numberSource *numbers) {
    const benchOptions *o = &b->options;
    return (generatorConfig){.ip = b->ip,
                             .unix_path = o->target.unix_path,
                             .port = o->target.port,
                             .multipath = o->target.multipath,
                             .tls = o->target.tls,
                             .sni = o->target.sni,
                             .clients = o->clients,
                             .threads = o->threads,
                             .keep_alive = o->keep_alive,
                             .setup = sdsSlice(b->setup),
                             .setup_replies = b->setup_replies,
                             .numbers = numbers};
}

/* Waits for the end of the run, or stops it after `limit_us` if that is not 0. Shows the progress, and adds it to
 * `rates` unless that is NULL. */
static runState watch(const benchmark *b, generator *g, const char *title, uint64_t limit_us, rateSeries *rates) {
    rateLine line;
    uint64_t started = clockMonotonicUs(), shown_us = 0;
    runState state;
    bool shown = !b->options.csv && !benchOptionsUseStdout(&b->options);
    rateLineStart(&line);
    do {
        uint64_t passed = clockMonotonicUs() - started;
        generatorCounts counts = generatorRead(g);
        if (shown && (passed >= shown_us)) {
            rateLineShow(&line, title, counts, limit_us > 0);
            shown_us = passed + PROGRESS_MS * 1000;
        }
        if (rates && passed > 0) rateSeriesRead(rates, passed, counts.finished, counts.latency_us);
        int wait_ms = rates ? READING_MS : PROGRESS_MS;
        if (limit_us && passed >= limit_us) generatorStop(g);
        else if (limit_us && limit_us - passed < (uint64_t)wait_ms * 1000)
            wait_ms = (int)((limit_us - passed) / 1000 + 1);
        state = generatorWait(g, wait_ms);
    } while (state == RUN_GOING);
    if (shown) rateLineClear(&line);
    return state;
}

/* Prints the result, and keeps it if result files are wanted. */
static void report(benchmark *b, const generator *g, const char *title, int payload, const rateSeries *rates) {
    const benchOptions *o = &b->options;
    testResult *r = zcalloc(1, sizeof(*r));
    generatorCounts counts = generatorRead(g);
    r->title = sdsNew(title);
    r->payload = payload;
    r->requests = counts.finished;
    r->unsent = generatorUnsent(g);
    r->elapsed_us = generatorElapsedUs(g);
    r->latencies = generatorHistogram();
    generatorLatencies(g, r->latencies);
    reportResult(o, &b->host, r);
    if (r->unsent) {
        fprintf(stderr, "WARNING: %s: %llu requests of the requested rate were not sent\n", title,
                (unsigned long long)r->unsent);
    }
    if (!resultFilesAreWanted(o)) {
        testResultFree(r);
        return;
    }
    r->rates = *rates;
    rateSeriesRead(&r->rates, r->elapsed_us, counts.finished, counts.latency_us);
    resultListAdd(&b->results, r);
    if (!resultFilesWrite(o, &b->host, &b->results, false)) exit(1);
}

static void runOnce(benchmark *b, const char *title, workload *w, int payload, bool custom, bool warmup) {
    const benchOptions *o = &b->options;
    numberSource numbers = {.range = o->key_range, .sequential = o->sequential};
    generatorConfig config = generatorConfigFor(b, &numbers);
    config.requests = warmup ? 0 : (uint64_t)o->requests;
    config.rate = (uint64_t)o->rate;
    config.seed = o->seed + 0x10000 * b->runs++;
    uint64_t limit_us = (uint64_t)(warmup ? o->warmup_s : o->duration_s) * 1000000;
    rateSeries rates;
    rateSeriesStart(&rates, READING_MS * 1000);
    generator *g = generatorStart(&config, w);
    sds shown = sdsCat(sdsNew(warmup ? "Warming up " : ""), title);
    runState state = watch(b, g, shown, limit_us, !warmup && resultFilesAreWanted(o) ? &rates : NULL);
    sdsFree(shown);
    if (state == RUN_UNKNOWN_COMMAND && !custom) {
        fflush(stdout);
        if (!warmup) fprintf(stderr, "%s skipped: %s\n", title, generatorError(g));
        b->failed = true;
    } else if (state != RUN_DONE) {
        quitFailed(b, state, generatorError(g));
    } else if (!warmup) {
        report(b, g, title, payload, &rates);
    }
    generatorFree(g);
}

static void runTest(benchmark *b, const char *title, workload *w, int payload, bool custom) {
    if (b->options.warmup_s) runOnce(b, title, w, payload, custom, true);
    runOnce(b, title, w, payload, custom, false);
}

static void runStandardTests(benchmark *b) {
    const benchOptions *o = &b->options;
    for (int i = 0; i < STANDARD_TESTS; i++) {
        const standardTest *test = &standard_tests[i];
        workload *w;
        if (!standardTestSelected(test, o->tests)) continue;
        if (test->kind == TEST_FCALL && !loadFunction(o)) {
            b->failed = true;
            continue;
        }
        if (test->kind == TEST_INLINE) {
            w = workloadFromRaw(sliceStr("PING\r\n"), o->pipeline);
        } else {
            const char *err;
            int count;
            sds *words = standardTestWords(test, o->key_range > 0, o->functions, o->fcall_keys, &count);
            slice *slices = linkWordSlices(words, (size_t)count);
            w = workloadFromWords(slices, count, sdsSlice(b->data), o->pipeline, o->key_range > 0, &err);
            zfree(slices);
            sdsFreeSplitRes(words, count);
        }
        runTest(b, test->title, w, o->data_size, false);
        workloadFree(w);
    }
}

static void runCommand(benchmark *b, sds last_word) {
    const benchOptions *o = &b->options;
    int count = o->command_count;
    slice *words = zmalloc(sizeof(slice) * (size_t)(count + 1));
    size_t payload = 0;
    const char *err;
    for (int i = 0; i < count; i++) words[i] = sliceStr(o->command[i]);
    sds title = sdsJoin(o->command, count, " ");
    if (last_word) words[count++] = sdsSlice(last_word);
    workload *w = workloadFromWords(words, count, sdsSlice(b->data), o->pipeline, o->key_range > 0, &err);
    if (!w) {
        fprintf(stderr, "Invalid command: %s\n", err);
        exit(1);
    }
    numberSource none = {.range = 0};
    payload = workloadNext(w, 1, &none, NULL).len;
    runTest(b, title, w, (int)payload, true);
    workloadFree(w);
    zfree(words);
    sdsFree(title);
}

noreturn_fn static void runIdle(benchmark *b) {
    const benchOptions *o = &b->options;
    numberSource none = {.range = 0};
    generatorConfig config = generatorConfigFor(b, &none);
    config.threads = 1;
    config.idle = config.keep_alive = true;
    workload *w = workloadFromRaw(sliceStr("PING\r\n"), 1);
    printf("Holding %d idle connections open. Ctrl+C closes them.\n", o->clients);
    generator *g = generatorStart(&config, w);
    runState state;
    do {
        printf("clients: %d\r", generatorRead(g).connected);
        fflush(stdout);
        state = generatorWait(g, PROGRESS_MS);
    } while (state == RUN_GOING);
    quitFailed(b, state, generatorError(g));
}

int main(int argc, char **argv) {
    static benchmark b;
    signal(SIGPIPE, SIG_IGN);
    clockInit();
    benchOptionsParse(&b.options, argc, argv);
    const benchOptions *o = &b.options;
    if (o->help) benchUsage();
    if (o->version) printf("valkey-benchmark %s\n", VALKEY_VERSION);
    if (o->help || o->version) return 0;
    if (!o->keep_alive) {
        fprintf(stderr,
                "WARNING: Keepalive disabled: each request uses a local port for a minute, and connections fail when "
                "none is left.\n  'sysctl -w net.ipv4.tcp_tw_reuse=1' lets Linux reuse them earlier.\n");
    }
    b.options.target.tls = toolTlsContext(&o->tls);
    if (o->fuzz) return fuzzRun(o, connectServer);
    resultFilesCheck(o);
    askServer(&b);
    makeSetup(&b);
    b.data = makeData(o->data_size);
    if (o->idle) runIdle(&b);
    sds last_word = o->read_stdin && o->command_count ? readStdin() : NULL;
    if (o->csv) reportCsvHeader();
    do {
        resultListClear(&b.results);
        if (o->command_count) runCommand(&b, last_word);
        else runStandardTests(&b);
        if (!o->command_count && !o->csv && !benchOptionsUseStdout(o)) printf("\n");
        fflush(stdout);
        if (!resultFilesWrite(o, &b.host, &b.results, !o->loop)) b.failed = true;
    } while (o->loop);
    resultListClear(&b.results);
    sdsFree(last_word);
    tlsContextRelease(o->target.tls);
    sdsFree(b.setup);
    sdsFree(b.data);
    zfree(b.host.save);
    zfree(b.host.appendonly);
    zfree(b.host.name);
    zfree(b.host.version);
    return b.failed ? 1 : 0;
}
