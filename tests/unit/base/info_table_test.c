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

static void last(infoOut *o) {
    infoLabel(o, "fourth", "x");
    infoGauge(o, "fifth", 0.125f, "A fifth.", .family = "share");
}

static void size(infoOut *o) { infoBytes(o, "size", 1536, "A size."); }

static void count(infoOut *o) { infoCounter(o, "count", 7, "A count."); }

static infoMetric other = {.field = "other", .kind = INFO_LABEL};
static const infoMetric *const other_row __attribute__((section("info_metrics"), used)) = &other;

static int order[2], resets;

static void resetFirst(void) { order[0] = ++resets; }

static void resetSecond(void) { order[1] = ++resets; }

/* Registers upper layers before lower ones, and the last position before the first. */
static void registerAll(void) {
    static const infoFields upper[] = {
        {"shared", 40, last},
        {"alone", 10, size},
        {.section = NULL},
    };
    static const infoSection sections[] = {
        {"shared", "Shared", 20, INFO_DEFAULT}, {"alone", "Alone", 10, 0}, {.name = NULL}};
    static const infoFields lower[] = {
        {"shared", 20, size},
        {"shared", 10, count},
        {.section = NULL},
    };
    infoTableAddFields(upper);
    infoTableAddSections(sections);
    infoTableAddFields(lower);
}

TEST(info_fields_stand_in_their_places) {
    infoOut o = {append, NULL};
    registerAll();
    infoTableSeal();
    CHECK_EQ_STR(infoTableSection(0)->name, "alone");
    CHECK_EQ_STR(infoTableSection(1)->name, "shared");
    CHECK(infoTableSection(2) == NULL);
    infoTableWrite(infoTableSection(1), &o);
    CHECK_EQ_STR(text, "count:7\nsize:1536\nsize_human:1.50K\nfourth:x\nfifth:0.12\n");
    text[0] = '\0';
    infoTableWrite(infoTableSection(0), &o);
    CHECK_EQ_STR(text, "size:1536\nsize_human:1.50K\n");
}

TEST(info_metrics_are_found_by_their_field) {
    static const char *const sorted[] = {"count", "fifth", "fourth", "other", "size"};
    for (size_t i = 0; i < array_len(sorted); i++) {
        CHECK_EQ_STR(infoMetricAt(i)->field, sorted[i]);
        CHECK(infoMetricFind(sliceStr(sorted[i])) == infoMetricAt(i));
    }
    CHECK(infoMetricAt(5) == NULL);
    CHECK_EQ_INT(infoMetricAt(0)->kind, INFO_COUNTER);
    CHECK_EQ_STR(infoMetricAt(1)->family, "share");
    CHECK_EQ_STR(infoMetricAt(4)->family, "size_bytes");
    CHECK_EQ_STR(infoMetricAt(4)->help, "A size.");
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
    static const infoFields fields[] = {{"nowhere", 10, count}, {.section = NULL}};
    infoTableAddFields(fields);
    infoTableSeal();
}

static void samePlace(void *arg) {
    unused(arg);
    static const infoFields fields[] = {{"shared", 20, count}, {.section = NULL}};
    infoTableAddFields(fields);
    infoTableSeal();
}

static void sameMetric(void *arg) {
    unused(arg);
    other.field = "size";
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
                    {samePlace, "two runs of fields have the position 20 in section 'shared'"},
                    {sameSection, "have the same position"},
                    {sameMetric, "two metrics of the field 'size'"}};
    for (size_t i = 0; i < array_len(mistakes); i++) {
        char output[16384];
        int status = unitInChild(mistakes[i].body, NULL, output, sizeof(output));
        CHECK(status != 0);
        CHECK(strstr(output, mistakes[i].says) != NULL);
    }
}
