/* latency.c -- spikes of named events as time series, and histograms of commands.
 *
 * Spikes are rare by definition and stored one by one: in a ring for each event, of which there are a dozen. The time
 * of every command goes into a histogram instead.
 *
 * Not here    the text and the graph of spikes (latency_report.c), the measuring (call.c, store/, server/).
 * Owns        the series. Histograms belong to their command's statistics.
 * Threads     main; others note a latencyPeak.
 * Invariants  1. One second has at most one sample in a series: its worst.
 * Cost        for a command, one histogramRecord(); the first call of a command creates its histogram.
 * Tests       tests/unit/engine/observe/latency_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "latency.h"

#include "adlist.h"
#include "histogram.h"
#include "latency_internal.h"
#include "panic.h"
#include "reply.h"
#include "store_latency.h"
#include "zmalloc.h"

#include <stdatomic.h>

/* Histograms reach from 1 ns to 1 s; longer times count as 1 s. */
#define HISTOGRAM_MAX_NS 1000000000
#define HISTOGRAM_DIGITS 2
/* LATENCY HISTOGRAM shows powers of two from about a microsecond on. */
#define HISTOGRAM_FIRST_BOUND_NS 1024

/* ---- Series ----------------------------------------------------------------------------------------------------- */

static void seriesFree(void *p) {
    latencySeries *series = p;
    sdsFree(series->event);
    zfree(series);
}

static list all_series = {.free = seriesFree}; /* owns latencySeries */

static latencySeries *seriesCreate(const char *event) {
    latencySeries *series = zcalloc(1, sizeof(*series));
    series->event = sdsNew(event);
    listAddNodeTail(&all_series, series);
    return series;
}

latencySeries *latencySeriesFind(slice event) {
    assertMainRole();
    for (listNode *n = listFirst(&all_series); n; n = n->next) {
        latencySeries *series = listNodeValue(n);
        if (sliceEq(sdsSlice(series->event), event)) return series;
    }
    return NULL;
}

void latencySeriesEach(void (*fn)(void *arg, const latencySeries *series), void *arg) {
    assertMainRole();
    for (listNode *n = listFirst(&all_series); n; n = n->next) fn(arg, listNodeValue(n));
}

const latencySample *latencySampleAt(const latencySeries *series, size_t i) {
    assertMainRole();
    debugAssert(i < series->count);
    return &series->samples[(series->next + LATENCY_SAMPLES - series->count + i) % LATENCY_SAMPLES];
}

void latencyAddSampleAt(const char *event, long long ms, int64_t time_s) {
    assertMainRole();
    latencySeries *series = latencySeriesFind(sliceStr(event));
    if (!series) series = seriesCreate(event);

    series->added++;
    series->sum_ms += ms;
    if (ms > series->worst_ms) series->worst_ms = ms;
    latencySample *last = &series->samples[(series->next + LATENCY_SAMPLES - 1) % LATENCY_SAMPLES];
    if (series->count > 0 && last->time_s == time_s) {
        if (ms > last->ms) last->ms = ms;
        return;
    }
    series->samples[series->next] = (latencySample){time_s, ms};
    series->next = (series->next + 1) % LATENCY_SAMPLES;
    if (series->count < LATENCY_SAMPLES) series->count++;
    debugAssert(series->next < LATENCY_SAMPLES && series->added >= (long long)series->count);
}

void latencyAddSample(const char *event, long long ms) {
    assertMainRole();
    latencyAddSampleAt(event, ms, clockWallMs() / 1000);
}

void latencyPeakNote(latencyPeak *peak, uint64_t us) {
    uint64_t longest = atomic_load_explicit(&peak->us, memory_order_relaxed);
    while (us > longest &&
           !atomic_compare_exchange_weak_explicit(&peak->us, &longest, us, memory_order_relaxed, memory_order_relaxed))
        continue;
}

void latencyPeakReport(latencyPeak *peak) {
    assertMainRole();
    uint64_t us = atomic_exchange_explicit(&peak->us, 0, memory_order_relaxed);
    latencyAddSampleIfNeeded(peak->event, (long long)(us / 1000));
}

static void storeEvent(const char *event, uint64_t us) { latencyAddSampleIfNeeded(event, (long long)(us / 1000)); }

void latencyInit(void) { storeObserveLatency(storeEvent); }

/* ---- Commands' histograms --------------------------------------------------------------------------------------- */

void latencyTrackCommand(commandStats *stats, uint64_t ns) {
    assertMainRole();
    if (unlikely(!stats->latency)) stats->latency = histogramTryCreate(1, HISTOGRAM_MAX_NS, HISTOGRAM_DIGITS);
    if (unlikely(!stats->latency)) return;                     /* no memory: calls are counted once there is some */
    histogramRecord(stats->latency, ns > 0 ? (int64_t)ns : 1); /* larger values count as the largest one */
}

static bool hasLatency(const serverCommand *cmd) {
    return cmd->stats && cmd->stats->latency && histogramTotal(cmd->stats->latency) > 0;
}

typedef struct histogramReply {
    client *c;
    long long count;
} histogramReply;

static void replyBound(void *arg, int64_t bound, int64_t step_count, int64_t cumulative) {
    histogramReply *reply = arg;
    if (step_count == 0) return;
    addReplyLongLong(reply->c, bound / 1000);
    addReplyLongLong(reply->c, cumulative);
    reply->count++;
}

/* Replies with the histograms of a command and its subcommands, of those that have run. */
static void replyHistograms(void *arg, serverCommand *cmd) {
    histogramReply *reply = arg;
    if (hasLatency(cmd)) {
        client *c = reply->c;
        addReplyBulkCString(c, cmd->fullname);
        addReplyMapLen(c, 2);
        addReplyBulkCString(c, "calls");
        addReplyLongLong(c, histogramTotal(cmd->stats->latency));
        addReplyBulkCString(c, "histogram_usec");
        histogramReply bounds = {.c = c};
        void *length = addReplyDeferredLen(c);
        histogramIterLog(cmd->stats->latency, HISTOGRAM_FIRST_BOUND_NS, 2, replyBound, &bounds);
        setDeferredMapLen(c, length, bounds.count);
        reply->count++;
    }
    for (int i = 0; i < cmd->nsubcommands; i++) replyHistograms(arg, &cmd->subcommands[i]);
}

void latencyHistogramCommand(client *c) {
    assertMainRole();
    histogramReply reply = {.c = c};
    void *length = addReplyDeferredLen(c);
    if (c->argc == 2) commandEach(replyHistograms, &reply);
    for (uint32_t i = 2; i < c->argc; i++) {
        serverCommand *cmd = commandLookupByName(c->argv[i]);
        if (cmd) replyHistograms(&reply, cmd);
    }
    setDeferredMapLen(c, length, reply.count);
}

/* ---- Commands about spikes -------------------------------------------------------------------------------------- */

void latencyHistoryCommand(client *c) {
    assertMainRole();
    const latencySeries *series = latencySeriesFind(c->argv[2]);
    size_t count = series ? series->count : 0;
    addReplyArrayLen(c, (long long)count);
    for (size_t i = 0; i < count; i++) {
        addReplyArrayLen(c, 2);
        addReplyLongLong(c, latencySampleAt(series, i)->time_s);
        addReplyLongLong(c, latencySampleAt(series, i)->ms);
    }
}

static void replyLatest(void *arg, const latencySeries *series) {
    client *c = arg;
    const latencySample *last = latencySampleAt(series, series->count - 1);
    addReplyArrayLen(c, 6);
    addReplyBulk(c, sdsSlice(series->event));
    addReplyLongLong(c, last->time_s);
    addReplyLongLong(c, last->ms);
    addReplyLongLong(c, series->worst_ms);
    addReplyLongLong(c, series->sum_ms);
    addReplyLongLong(c, series->added);
}

void latencyLatestCommand(client *c) {
    assertMainRole();
    addReplyArrayLen(c, (long long)listLength(&all_series));
    latencySeriesEach(replyLatest, c);
}

void latencyResetCommand(client *c) {
    assertMainRole();
    long long dropped = 0;
    if (c->argc == 2) {
        dropped = (long long)listLength(&all_series);
        listEmpty(&all_series);
    }
    for (uint32_t i = 2; i < c->argc; i++) {
        latencySeries *series = latencySeriesFind(c->argv[i]);
        if (!series) continue;
        listDelNode(&all_series, listSearchValue(&all_series, series));
        dropped++;
    }
    addReplyLongLong(c, dropped);
}

static void replyText(client *c, sds text) {
    addReplyVerbatim(c, sdsSlice(text), "txt");
    sdsFree(text);
}

void latencyGraphCommand(client *c) {
    assertMainRole();
    const latencySeries *series = latencySeriesFind(c->argv[2]);
    if (!series) {
        addReplyErrorFormat(c, "No samples available for event '%.*s'", (int)c->argv[2].len, c->argv[2].ptr);
        return;
    }
    replyText(c, latencyGraph(series, clockWallMs() / 1000));
}

void latencyDoctorCommand(client *c) {
    assertMainRole();
    replyText(c, latencyDoctor(clockWallMs() / 1000));
}
