/* info_table.c -- what INFO says: sections and their fields, registered by the layers that own the figures.
 *
 * Not here    the command, the choice of sections (admin); any field.
 * Owns        the lists of pointers; the entries are their layers'.
 * Threads     changed at boot only, by main; read by main and by a thread that crashes.
 * Invariants  once sealed, sections and the fields of each are sorted by position, metrics by field.
 * Tests       tests/unit/base/info_table_test.c, tests/server/info.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "info_table.h"

#include "numbers.h"
#include "panic.h"

#include <stdlib.h>

#define SECTIONS_MAX 64
#define FIELDS_MAX 512
#define RESETS_MAX 32
#define METRICS_MAX 512

/* The rows of INFO_METRIC(); both NULL in a program without any. */
extern const infoMetric *const __start_info_metrics[] __attribute__((weak));
extern const infoMetric *const __stop_info_metrics[] __attribute__((weak));

static const infoSection *sections[SECTIONS_MAX];
static size_t first_field[SECTIONS_MAX], end_field[SECTIONS_MAX]; /* of the section, in fields[] */
static const infoFields *fields[FIELDS_MAX];
static void (*resets[RESETS_MAX])(void);
static const infoMetric *metrics[METRICS_MAX];
static size_t nsections, nfields, nresets, nmetrics;

/* ---- Registering ----------------------------------------------------------------------------------- */

void infoTableAddSections(const infoSection *added) {
    for (; added->name; added++) {
        serverAssert(nsections < SECTIONS_MAX);
        sections[nsections++] = added;
    }
}

void infoTableAddFields(const infoFields *added) {
    for (; added->section; added++) {
        serverAssert(nfields < FIELDS_MAX);
        fields[nfields++] = added;
    }
}

static int compareSections(const void *a, const void *b) {
    const infoSection *x = *(const infoSection *const *)a, *y = *(const infoSection *const *)b;
    return (x->position > y->position) - (x->position < y->position);
}

static int compareFields(const void *a, const void *b) {
    const infoFields *x = *(const infoFields *const *)a, *y = *(const infoFields *const *)b;
    int order = strcmp(x->section, y->section);
    return order ? order : (x->position > y->position) - (x->position < y->position);
}

static int compareMetrics(const void *a, const void *b) {
    return strcmp((*(const infoMetric *const *)a)->field, (*(const infoMetric *const *)b)->field);
}

static void sealMetrics(void) {
    nmetrics = (size_t)(__stop_info_metrics - __start_info_metrics);
    serverAssert(nmetrics <= METRICS_MAX);
    for (size_t i = 0; i < nmetrics; i++) metrics[i] = __start_info_metrics[i];
    qsort(metrics, nmetrics, sizeof(*metrics), compareMetrics);
    for (size_t i = 1; i < nmetrics; i++)
        if (!compareMetrics(&metrics[i - 1], &metrics[i]))
            serverPanic("INFO: two metrics of the field '%s'", metrics[i]->field);
}

static bool hasSection(const char *name) {
    for (size_t i = 0; i < nsections; i++)
        if (!strcmp(sections[i]->name, name)) return true;
    return false;
}

void infoTableSeal(void) {
    qsort(sections, nsections, sizeof(*sections), compareSections);
    qsort(fields, nfields, sizeof(*fields), compareFields);
    for (size_t i = 1; i < nsections; i++)
        if (sections[i]->position == sections[i - 1]->position)
            serverPanic("INFO: sections '%s' and '%s' have the same position", sections[i - 1]->name,
                        sections[i]->name);
    for (size_t i = 0; i < nfields; i++) {
        if (!hasSection(fields[i]->section)) serverPanic("INFO has no section '%s'", fields[i]->section);
        if (i && !compareFields(&fields[i - 1], &fields[i]))
            serverPanic("INFO: two runs of fields have the position %d in section '%s'", fields[i]->position,
                        fields[i]->section);
    }
    for (size_t i = 0; i < nsections; i++) {
        size_t at = 0;
        while (at < nfields && strcmp(fields[at]->section, sections[i]->name)) at++;
        first_field[i] = at;
        while (at < nfields && !strcmp(fields[at]->section, sections[i]->name)) at++;
        end_field[i] = at;
    }
    sealMetrics();
}

const infoMetric *infoMetricFind(slice field) {
    size_t low = 0, high = nmetrics;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int order = sliceCmp(sliceStr(metrics[mid]->field), field);
        if (order == 0) return metrics[mid];
        if (order < 0) low = mid + 1;
        else high = mid;
    }
    return NULL;
}

const infoMetric *infoMetricAt(size_t index) { return index < nmetrics ? metrics[index] : NULL; }

void infoTableOnReset(void (*fn)(void)) {
    serverAssert(nresets < RESETS_MAX);
    resets[nresets++] = fn;
}

void infoTableReset(void) {
    for (size_t i = 0; i < nresets; i++) resets[i]();
}

/* ---- Writing --------------------------------------------------------------------------------------- */

void infoLine(infoOut *o, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    o->put(o->arg, fmt, ap);
    va_end(ap);
}

void infoSigned(infoOut *o, const char *name, long long value) { infoLine(o, "%s:%lld", name, value); }
void infoUnsigned(infoOut *o, const char *name, unsigned long long value) { infoLine(o, "%s:%llu", name, value); }
void infoFraction(infoOut *o, const char *name, double value) { infoLine(o, "%s:%.2f", name, value); }
void infoText(infoOut *o, const char *name, const char *value) { infoLine(o, "%s:%s", name, value); }

void infoHuman(infoOut *o, const char *name, size_t bytes) {
    char human[64];
    bytes2human(human, sizeof(human), bytes);
    infoText(o, name, human);
}

const infoSection *infoTableSection(size_t index) { return index < nsections ? sections[index] : NULL; }

void infoTableWrite(const infoSection *section, infoOut *o) {
    size_t s = 0;
    while (s < nsections && sections[s] != section) s++;
    serverAssert(s < nsections);
    for (size_t i = first_field[s]; i < end_field[s]; i++) fields[i]->write(o);
}
