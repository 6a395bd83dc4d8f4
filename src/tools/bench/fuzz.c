/* fuzz.c -- --fuzz: sends random commands and checks that the server keeps replying.
 *
 * One connection at a time, chosen at random, sends a pipeline and reads its replies. If the connection is lost or a
 * reply does not come, its last pipeline is printed. With the same --seed, server and dataset the commands are the
 * same.
 *
 * Not here    making the commands (fuzz_commands.c).
 * Tests       tests/tools/benchmark.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fuzz.h"

#include "clock.h"
#include "resp_format.h"
#include "zmalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define REPLY_MS 5000 /* after so long without a reply the connection is replaced */
#define DAMAGED_PERCENT 30
#define PROGRESS_US 250000

typedef struct fuzzRunState {
    const benchOptions *options;
    serverLink *(*open)(const benchOptions *);
    fuzzCatalog *catalog; /* owns */
    rng random;
    serverLink **links; /* own */
    sds *sent;          /* own: the last pipeline of each connection, as text */
    long long requests, errors, unanswered, lost;
} fuzzRunState;

/* ---- Commands and settings of the server ---- */

noreturn_fn static void quit(const char *what, const char *why) {
    fflush(stdout);
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

static replyValue *fuzzAsk(serverLink *l, const char *what, replyValue *r) {
    if (!r) quit(what, linkError(l));
    if (replyIsError(r)) quit(what, r->str);
    return r;
}

static fuzzCatalog *readCatalog(const benchOptions *o, serverLink *(*open)(const benchOptions *)) {
    serverLink *l = open(o);
    replyValue *docs = fuzzAsk(l, "COMMAND DOCS", linkCall(l, "COMMAND", "DOCS", NULL)), *settings = NULL;
    if (o->fuzz_config) settings = fuzzAsk(l, "CONFIG GET", linkCall(l, "CONFIG", "GET", "*", NULL));
    fuzzCatalog *catalog = fuzzCatalogMake(docs, settings);
    replyValueFree(docs);
    replyValueFree(settings);
    linkClose(l);
    if (fuzzCatalogCommands(catalog) == 0) quit("COMMAND DOCS", "the server documents no usable command");
    return catalog;
}

/* ---- Connections ---- */

static void fuzzPrepare(serverLink *l, const char *what, replyValue *r) { replyValueFree(fuzzAsk(l, what, r)); }

static serverLink *openLink(const fuzzRunState *f) {
    const benchOptions *o = f->options;
    char db[16];
    serverLink *l = f->open(o);
    snprintf(db, sizeof(db), "%d", o->login.db);
    if (o->resp3) fuzzPrepare(l, "HELLO", linkCall(l, "HELLO", "3", NULL));
    if (o->tracking) fuzzPrepare(l, "CLIENT TRACKING", linkCall(l, "CLIENT", "TRACKING", "on", NULL));
    if (o->login.db) fuzzPrepare(l, "SELECT", linkCall(l, "SELECT", db, NULL));
    return l;
}

/* Replaces a connection that is lost or silent. If the server is not reachable, `open` ends the program. */
static void reconnect(fuzzRunState *f, size_t i, const char *why) {
    if (f->options->fuzz_log >= FUZZ_LOG_ERROR)
        fprintf(stderr, "%s. Last commands of the connection:\n%s", why, f->sent[i]);
    linkClose(f->links[i]);
    f->links[i] = NULL; /* `open` may end the program */
    f->links[i] = openLink(f);
}

/* ---- A pipeline ---- */

static sds drawPipeline(fuzzRunState *f, size_t i) {
    const benchOptions *o = f->options;
    sds bytes = sdsEmpty();
    sdsFree(f->sent[i]);
    f->sent[i] = sdsEmpty();
    for (int n = 0; n < o->pipeline; n++) {
        int count;
        bool damaged = o->fuzz_malformed && rngBelow(&f->random, 100) < DAMAGED_PERCENT;
        sds *words = fuzzCatalogDraw(f->catalog, &f->random, damaged, &count);
        slice *slices = zmalloc(sizeof(slice) * (size_t)count);
        f->sent[i] = sdsCat(f->sent[i], "   ");
        for (int w = 0; w < count; w++) {
            slices[w] = sdsSlice(words[w]);
            f->sent[i] = sdsCatRepr(sdsCat(f->sent[i], " "), words[w], sdsLen(words[w]));
        }
        f->sent[i] = sdsCat(f->sent[i], "\n");
        bytes = respCatRequest(bytes, (size_t)count, slices);
        zfree(slices);
        sdsFreeSplitRes(words, count);
    }
    return bytes;
}

/* Reads one reply, skipping pushes. Returns false if the connection had to be replaced. */
static bool readReply(fuzzRunState *f, size_t i) {
    for (;;) {
        bool timed_out = false;
        replyValue *r = linkReadWithin(f->links[i], REPLY_MS, &timed_out);
        if (!r) {
            if (timed_out) f->unanswered++;
            else f->lost++;
            reconnect(f, i, timed_out ? "No reply for five seconds" : linkError(f->links[i]));
            return false;
        }
        bool is_push = r->type == '>';
        if (replyIsError(r)) f->errors++;
        if (f->options->fuzz_log >= FUZZ_LOG_DEBUG) fprintf(stderr, "    = %c %s\n", r->type, r->str ? r->str : "");
        replyValueFree(r);
        if (!is_push) return true;
    }
}

static void sendPipeline(fuzzRunState *f) {
    size_t i = rngBelow(&f->random, (uint64_t)f->options->clients);
    sds bytes = drawPipeline(f, i);
    if (f->options->fuzz_log >= FUZZ_LOG_DEBUG) fprintf(stderr, "%s", f->sent[i]);
    bool good = linkSendBytes(f->links[i], bytes, sdsLen(bytes));
    sdsFree(bytes);
    if (!good) {
        f->lost++;
        reconnect(f, i, linkError(f->links[i]));
        return;
    }
    for (int n = 0; n < f->options->pipeline; n++) {
        if (!readReply(f, i)) return;
        f->requests++;
    }
}

/* ---- A run ---- */

static void printProgress(const fuzzRunState *f, uint64_t *shown_us) {
    uint64_t now_us = clockMonotonicUs();
    if (f->options->quiet || f->options->fuzz_log < FUZZ_LOG_INFO || !isatty(STDOUT_FILENO)) return;
    if (now_us - *shown_us < PROGRESS_US) return;
    *shown_us = now_us;
    printf("\r%lld commands, %lld errors", f->requests, f->errors);
    fflush(stdout);
}

static void printResult(const fuzzRunState *f, double seconds) {
    if (f->options->fuzz_log < FUZZ_LOG_INFO) return;
    if (isatty(STDOUT_FILENO) && !f->options->quiet) printf("\r");
    printf("%lld random commands of %zu kinds in %.2f seconds (seed %llu)\n", f->requests,
           fuzzCatalogCommands(f->catalog), seconds, (unsigned long long)f->options->seed);
    printf("error replies: %lld, missing replies: %lld, connections lost: %lld\n", f->errors, f->unanswered, f->lost);
}

static bool isUnfinished(const fuzzRunState *f, uint64_t begun_us) {
    const benchOptions *o = f->options;
    if (o->duration_s) return clockMonotonicUs() - begun_us < (uint64_t)o->duration_s * 1000000;
    return f->requests + f->unanswered + f->lost < o->requests;
}

int fuzzRun(const benchOptions *options, serverLink *(*open)(const benchOptions *)) {
    size_t clients = (size_t)options->clients;
    fuzzRunState f = {.options = options, .open = open, .catalog = readCatalog(options, open)};
    rngSeed(&f.random, options->seed);
    f.links = zcalloc(clients, sizeof(*f.links));
    f.sent = zcalloc(clients, sizeof(*f.sent));
    for (size_t i = 0; i < clients; i++) {
        f.links[i] = openLink(&f);
        f.sent[i] = sdsEmpty();
    }
    uint64_t begun_us = clockMonotonicUs(), shown_us = begun_us;
    while (isUnfinished(&f, begun_us)) {
        sendPipeline(&f);
        printProgress(&f, &shown_us);
    }
    printResult(&f, (double)(clockMonotonicUs() - begun_us) / 1e6);
    for (size_t i = 0; i < clients; i++) {
        linkClose(f.links[i]);
        sdsFree(f.sent[i]);
    }
    zfree(f.links);
    zfree(f.sent);
    fuzzCatalogFree(f.catalog);
    return f.lost || f.unanswered ? 1 : 0;
}
