/* info_table_test.c -- sections and INFO fields are printed at their positions, in whatever order they were registered.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "info_table.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>

static char text[4096];

static void append(void *arg, const char *fmt, va_list ap) {
    size_t len = strlen(text);
    unused(arg);
    len += (size_t)vsnprintf(text + len, sizeof(text) - len, fmt, ap);
    snprintf(text + len, sizeof(text) - len, "\n");
}

static const char *const last_lines[] = {"fourth:x", "fifth:y", NULL};

static void size(infoOut *o) { infoBytes(o, "size", 1536); }

static void count(infoOut *o) { infoLine(o, "count:%d", 7); }

static int order[2], resets;

static void resetFirst(void) { order[0] = ++resets; }

static void resetSecond(void) { order[1] = ++resets; }

/* Registers upper layers before lower ones, and the last position before the first. */
static void registerAll(void) {
    static const infoMetric upper_metrics[] = {{"size", "size_bytes", INFO_GAUGE, 0, "A size."}, {.field = NULL}};
    static const infoMetric lower_metrics[] = {
        {"other", NULL, INFO_LABEL, 0, NULL}, {"count", NULL, INFO_COUNTER, 0, "A count."}, {.field = NULL}};
    static const infoFields upper[] = {
        {"shared", 40, .lines = last_lines},
        {"alone", 10, .write = size},
        {.section = NULL},
    };
    static const infoSection sections[] = {
        {"shared", "Shared", 20, INFO_DEFAULT}, {"alone", "Alone", 10, 0}, {.name = NULL}};
    static const infoFields lower[] = {
        {"shared", 20, .write = size},
        {"shared", 10, .write = count},
        {.section = NULL},
    };
    infoTableAddFields(upper);
    infoTableAddSections(sections);
    infoTableAddFields(lower);
    infoTableAddMetrics(upper_metrics);
    infoTableAddMetrics(lower_metrics);
}

TEST(info_fields_stand_in_their_places) {
    infoOut o = {append, NULL};
    registerAll();
    infoTableSeal();
    CHECK_EQ_STR(infoTableSection(0)->name, "alone");
    CHECK_EQ_STR(infoTableSection(1)->name, "shared");
    CHECK(infoTableSection(2) == NULL);
    infoTableWrite(infoTableSection(1), &o);
    CHECK_EQ_STR(text, "count:7\nsize:1536\nsize_human:1.50K\nfourth:x\nfifth:y\n");
    text[0] = '\0';
    infoTableWrite(infoTableSection(0), &o);
    CHECK_EQ_STR(text, "size:1536\nsize_human:1.50K\n");
}

TEST(info_metrics_are_found_by_their_field) {
    static const char *const sorted[] = {"count", "other", "size"};
    for (size_t i = 0; i < array_len(sorted); i++) {
        CHECK_EQ_STR(infoMetricAt(i)->field, sorted[i]);
        CHECK(infoMetricFind(sliceStr(sorted[i])) == infoMetricAt(i));
    }
    CHECK(infoMetricAt(3) == NULL);
    CHECK(infoMetricFind(sliceStr("siz")) == NULL && infoMetricFind(sliceStr("")) == NULL);
}

TEST(info_resets_run_in_the_order_of_their_registration) {
    infoTableOnReset(resetFirst);
    infoTableOnReset(resetSecond);
    infoTableReset();
    CHECK_EQ_INT(order[0], 1);
    CHECK_EQ_INT(order[1], 2);
}

static void homeless(void *arg) {
    unused(arg);
    static const infoFields fields[] = {{"nowhere", 10, .write = count}, {.section = NULL}};
    infoTableAddFields(fields);
    infoTableSeal();
}

static void samePlace(void *arg) {
    unused(arg);
    static const infoFields fields[] = {{"shared", 20, .write = count}, {.section = NULL}};
    infoTableAddFields(fields);
    infoTableSeal();
}

static void sameMetric(void *arg) {
    unused(arg);
    static const infoMetric metrics[] = {{"size", NULL, INFO_GAUGE, 0, "A size."}, {.field = NULL}};
    infoTableAddMetrics(metrics);
    infoTableSeal();
}

static void sameSection(void *arg) {
    unused(arg);
    static const infoSection sections[] = {{"other", "Other", 20, 0}, {.name = NULL}};
    infoTableAddSections(sections);
    infoTableSeal();
}

TEST(info_mistakes_at_boot_end_the_process) {
    struct {
        void (*body)(void *arg);
        const char *says;
    } mistakes[] = {{homeless, "INFO has no section 'nowhere'"},
                    {samePlace, "two runs of fields at 20 of section 'shared'"},
                    {sameSection, "have one place"},
                    {sameMetric, "two metrics of the field 'size'"}};
    for (size_t i = 0; i < array_len(mistakes); i++) {
        char output[16384];
        int status = unitInChild(mistakes[i].body, NULL, output, sizeof(output));
        CHECK(status != 0);
        CHECK(strstr(output, mistakes[i].says) != NULL);
    }
}
