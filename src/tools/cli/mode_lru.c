/* mode_lru.c -- --lru-test simulates a cache: reads keys with a skewed distribution, stores the absent ones, counts
 * hits.
 *
 * With maxmemory set on the server, the hit rate shows how well its eviction keeps the keys that are read. Four fifths
 * of the reads are of one fifth of the keys, and so on within that fifth: key number = KEYS * u^a for a uniform u in
 * [0, 1), with a = ln 0.2 / ln 0.8.
 *
 * Tests       tests/tools/cli.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "clock.h"
#include "modes.h"
#include "resp_format.h"
#include "rng.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define BATCH 128
#define SKEW 7.2126
#define VALUE "a value of sixty-four bytes, which is what many caches hold.   ."

typedef struct lruCounts {
    long long hits, misses, refused;
} lruCounts;

/* Sends `bytes` and takes ownership of them. Ends the program if the connection breaks. */
static void sendRequests(cliConnection *c, sds bytes) {
    bool sent = linkSendBytes(c->link, bytes, sdsLen(bytes));
    sdsFree(bytes);
    if (sent) return;
    fprintf(stderr, "Error: %s\n", linkError(c->link));
    exit(1);
}

static replyValue *nextReply(cliConnection *c) {
    replyValue *v = linkRead(c->link);
    if (v) return v;
    fprintf(stderr, "Error: %s\n", linkError(c->link));
    exit(1);
}

/* Reads a batch of keys, then stores those that were absent. */
static void runBatch(cliConnection *c, rng *random, lruCounts *counts) {
    sds keys[BATCH], reads = sdsEmpty(), writes = sdsEmpty();
    int stored = 0;
    for (int i = 0; i < BATCH; i++) {
        long long number = (long long)((double)c->options->lru_keys * pow(rngDouble(random), SKEW));
        keys[i] = sdsCatPrintf(sdsEmpty(), "lru:%lld", number);
        reads = RESP_CAT_REQUEST(reads, sliceStr("GET"), sdsSlice(keys[i]));
    }
    sendRequests(c, reads);
    for (int i = 0; i < BATCH; i++) {
        replyValue *v = nextReply(c);
        if (replyIsError(v)) counts->refused++;
        else if (v->type == '_') counts->misses++;
        else counts->hits++;
        if (v->type == '_') {
            writes = RESP_CAT_REQUEST(writes, sliceStr("SET"), sdsSlice(keys[i]), sliceStr(VALUE));
            stored++;
        }
        replyValueFree(v);
        sdsFree(keys[i]);
    }
    sendRequests(c, writes);
    while (stored-- > 0) {
        replyValue *v = nextReply(c);
        if (replyIsError(v)) counts->refused++;
        replyValueFree(v);
    }
}

int modeLruTest(cliConnection *c) {
    const cliOptions *o = c->options;
    double interval_s = o->interval_s > 0 ? o->interval_s : 1;
    rng random;
    rngSeed(&random, clockWallUs());
    for (long long line = 0; !o->repeat_given || o->repeat < 0 || line < o->repeat; line++) {
        lruCounts counts = {0};
        uint64_t started = clockMonotonicUs();
        double passed_s;
        do {
            runBatch(c, &random, &counts);
            passed_s = (double)(clockMonotonicUs() - started) / 1e6;
        } while (passed_s < interval_s);
        long long reads = counts.hits + counts.misses;
        double rate = reads ? 100.0 * (double)counts.hits / (double)reads : 0;
        printf("%lld Gets/sec | Hits: %lld (%.2f%%) | Misses: %lld (%.2f%%)\n", (long long)((double)reads / passed_s),
               counts.hits, rate, counts.misses, reads ? 100 - rate : 0);
        if (counts.refused) fprintf(stderr, "%lld commands were rejected\n", counts.refused);
        fflush(stdout);
    }
    return 0;
}
