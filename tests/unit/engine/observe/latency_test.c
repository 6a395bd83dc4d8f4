/* latency_test.c -- the ring of latency spikes, their graph, and the report about them.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "histogram.h"
#include "latency_internal.h"
#include "store_latency.h"
#include "unit.h"
#include "zmalloc.h"

#include <stdio.h>

static latencySeries *series(const char *event) { return latencySeriesFind(sliceStr(event)); }

TEST(latency_second_keeps_its_worst) {
    latencyAddSampleAt("same-second", 20, 100);
    latencyAddSampleAt("same-second", 30, 100);
    latencyAddSampleAt("same-second", 10, 100);
    const latencySeries *s = series("same-second");
    CHECK_EQ_INT(s->count, 1);
    CHECK_EQ_INT(latencySampleAt(s, 0)->ms, 30);
    CHECK_EQ_INT(s->worst_ms, 30);
    CHECK_EQ_INT(s->sum_ms, 60);
    CHECK_EQ_INT(s->added, 3);
}

TEST(latency_ring_drops_the_oldest) {
    for (int i = 0; i < LATENCY_SAMPLES + 5; i++) latencyAddSampleAt("ring", 1000 - i, 100 + i);
    const latencySeries *s = series("ring");
    CHECK_EQ_INT(s->count, LATENCY_SAMPLES);
    for (size_t i = 0; i < s->count; i++) {
        CHECK_EQ_INT(latencySampleAt(s, i)->time_s, 105 + (long long)i);
        CHECK_EQ_INT(latencySampleAt(s, i)->ms, 995 - (long long)i);
    }
    CHECK_EQ_INT(s->worst_ms, 1000);
}

TEST(latency_of_the_store_is_kept_from_the_threshold_on) {
    engine_settings.latency_monitor_threshold_ms = 5;
    latencyInit();
    storeMeasureLatency(true);
    store_latency_observer("store-event", 4999);
    CHECK(series("store-event") == NULL);
    store_latency_observer("store-event", 5000);
    store_latency_observer("store-event", 7999);
    CHECK_EQ_INT(series("store-event")->sum_ms, 12);
    CHECK_EQ_INT(series("store-event")->worst_ms, 7);
    storeMeasureLatency(false);
    engine_settings.latency_monitor_threshold_ms = 0;
}

#define DASHES "--------------------------------------------------------------------------------\n"

TEST(latency_graph_of_one_sample) {
    latencyAddSampleAt("one", 30, 100);
    sds text = latencyGraph(series("one"), 100);
    CHECK_EQ_STR(text, "one - high 30 ms, low 30 ms (all time high 30 ms)\n" DASHES " \n \n \n_\n \n0\ns\n");
    sdsFree(text);
}

TEST(latency_graph_scales_and_labels) {
    static const int ms[] = {20, 90, 90, 20, 35, 90, 60, 90, 12, 90};
    for (size_t i = 0; i < array_len(ms); i++) latencyAddSampleAt("ten", ms[i], 100 + (int64_t)i);
    sds text = latencyGraph(series("ten"), 109);
    CHECK_EQ_STR(text, "ten - high 90 ms, low 12 ms (all time high 90 ms)\n" DASHES " ##  # # #\n"
                       " ||  |o| |\n"
                       " || _||| |\n"
                       "o||o||||_|\n"
                       "          \n"
                       "9876543210\n"
                       "ssssssssss\n");
    sdsFree(text);
}

TEST(latency_graph_goes_on_after_80_columns) {
    for (int i = 0; i < 82; i++) latencyAddSampleAt("wide", i == 81 ? 20 : 10, 100 + i);
    sds text = latencyGraph(series("wide"), 181 + 3600 * 24);
    /* All are a day old: labels of two rows. */
    const char *second = strstr(text, "\n\n");
    if (CHECK(second != NULL)) CHECK_EQ_STR(second, "\n\n #\n |\n |\n_|\n  \n11\ndd\n");
    sdsFree(text);
}

TEST(latency_doctor_reports_and_advises) {
    static const int ms[] = {20, 90, 90, 20, 35, 90, 60, 90, 12, 90};
    engine_settings.slower_than_us = -1;
    engine_settings.slow_max_len = 128;
    engine_settings.latency_monitor_threshold_ms = 10;
    for (size_t i = 0; i < array_len(ms); i++) latencyAddSampleAt("command", ms[i], 100 + (int64_t)i);
    sds text = latencyDoctor(109);
    const char *line = strstr(text, ". command x10: ");
    if (CHECK(line != NULL)) {
        CHECK(strstr(line, " 59 ms ") != NULL);
        CHECK(strstr(line, " 30 ms") != NULL);
        CHECK(strstr(line, " 0.90 s") != NULL);
        CHECK(strstr(line, " 90 ms") != NULL);
    }
    /* The slow log is off: the advice is to set it to the threshold. */
    CHECK(strstr(text, "CONFIG SET slowlog-log-slower-than 10000\n") != NULL);
    sdsFree(text);
    engine_settings.slower_than_us = 20000;
    text = latencyDoctor(109);
    CHECK(strstr(text, "20000 microseconds") != NULL);
    CHECK(strstr(text, "CONFIG SET slowlog-log-slower-than 10000\n") != NULL);
    sdsFree(text);
    /* No advice if the slow log shows all that is counted. */
    engine_settings.slower_than_us = 10000;
    text = latencyDoctor(109);
    CHECK(strstr(text, "CONFIG SET") == NULL);
    sdsFree(text);
}

TEST(latency_of_a_command_without_memory_is_not_kept) {
    commandStats stats = {.latency = NULL};
    zmallocFailAfter(1);
    latencyTrackCommand(&stats, 1000);
    CHECK_EQ_INT(zmallocFailAfter(0), 0);
    CHECK(stats.latency == NULL);
    latencyTrackCommand(&stats, 1000);
    if (CHECK(stats.latency != NULL)) CHECK_EQ_INT(histogramTotal(stats.latency), 1);
    histogramFree(stats.latency);
}
