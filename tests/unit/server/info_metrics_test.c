/* info_metrics_test.c -- the descriptions of all INFO fields for the metrics port follow the rules of the format.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "exporter_names.h"
#include "info_table.h"
#include "sds.h"
#include "unit.h"
#include "startup.h"

#include <stdio.h>

/* Returns whether a name has a base unit: Prometheus's check (promtool) accepts seconds and bytes, and no multiples. */
static bool hasBaseUnit(const char *name) {
    static const char *const others[] = {"bits", "days",        "hours", "milliseconds", "minutes", "ms",
                                         "ns",   "nanoseconds", "us",    "microseconds", "weeks"};
    int count;
    bool found = false;
    sds *words = sdsSplitLen(name, strlen(name), "_", 1, &count);
    for (int i = 0; i < count; i++)
        for (size_t j = 0; j < array_len(others); j++) found |= !strcmp(words[i], others[j]);
    sdsFreeSplitRes(words, count);
    return !found;
}

TEST(info_metrics_of_all_layers_have_units_and_sentences) {
    if (!infoMetricAt(0)) wiringInfo();
    CHECK(infoMetricAt(200) != NULL);
    for (size_t i = 0; infoMetricAt(i); i++) {
        const infoMetric *f = infoMetricAt(i);
        CHECK(infoMetricFind(sliceStr(f->field)) == f);
        bool is_family = f->kind != INFO_LABEL && f->kind != INFO_LEFT_OUT;
        CHECK(!is_family || (f->help && f->help[strlen(f->help) - 1] == '.' && !strchr(f->help, '"')));
        CHECK(f->shift == 0 || f->shift == 3 || f->shift == 6);
        const char *name = f->family ? f->family : f->field;
        CHECK(!is_family || hasBaseUnit(name));
        CHECK(f->kind != INFO_COUNTER || (strncmp(name, "total_", 6) && !strstr(name, "_total")));
    }
    CHECK(infoMetricFind(sliceStr("keyspace_hit")) == NULL && infoMetricFind(sliceStr("")) == NULL);
}

/* A row of a field that does not exist would have no effect. */
TEST(info_metrics_have_the_names_of_the_exporter) {
    if (!infoMetricAt(0)) wiringInfo();
    const char *before = "";
    CHECK(exporterNameAt(80) != NULL);
    for (size_t i = 0; exporterNameAt(i); i++) {
        const exporterName *row = exporterNameAt(i);
        const infoMetric *f = infoMetricFind(sliceStr(row->ours));
        if (!CHECK(f && f->kind != INFO_LABEL && f->kind != INFO_LEFT_OUT)) fprintf(stderr, "no %s\n", row->ours);
        size_t count, len = strlen(row->theirs);
        bool is_total = len > 6 && !strcmp(row->theirs + len - 6, "_total");
        if (!CHECK(!is_total || (f && f->kind == INFO_COUNTER))) fprintf(stderr, "no counter: %s\n", row->ours);
        CHECK(strcmp(before, row->ours) <= 0);
        const exporterName *first = exporterNamesOfField(sliceStr(row->ours), &count);
        CHECK(first && first <= row && row < first + count);
        before = row->ours;
    }
    size_t count;
    CHECK(!exporterNamesOfField(sliceStr("maxmemor"), &count) && count == 0);
    CHECK(!exporterNamesOfField(sliceStr("zzz"), &count) && count == 0);
}
