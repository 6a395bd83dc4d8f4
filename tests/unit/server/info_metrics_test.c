/* info_metrics_test.c -- the descriptions of all INFO fields for the metrics port follow the rules of the format.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "info_table.h"
#include "sds.h"
#include "unit.h"
#include "startup.h"

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
    wiringInfo();
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
