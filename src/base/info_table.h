/* info_table.h -- what INFO says: sections and their fields, registered by the layers that own the figures.
 *
 * Programs know the order of fields, and in most sections fields of several layers alternate. So a layer registers its
 * fields in runs, each with its position in the section: ten times the line on which its first field stands in the
 * reference server's section, which leaves numbers between any two.
 *
 * To add a field, let the `write` function of a run append it, with the sentence that explains it on the metrics port:
 *
 *     infoCounter(o, "rdb_saves", f.saves, "Snapshots that were written.");
 *
 * Runs on: main, but a section with INFO_IN_CRASH also on the thread that crashes.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_INFO_TABLE_H
#define BASE_INFO_TABLE_H

#include "slice.h"

#include <stdarg.h>

/* Where lines go. `put` appends one line, whose end is not in `fmt`, and passes it through oneLine(): parts of it may
 * be text that a client has chosen. */
typedef struct infoOut {
    void (*put)(void *arg, const char *fmt, va_list ap);
    void *arg; /* borrowed: put's */
} infoOut;

enum {
    INFO_DEFAULT = 1,  /* shown by INFO without arguments */
    INFO_IN_CRASH = 2, /* also in crash reports: its fields are made without allocating */
    INFO_BY_NAME = 4,  /* ours alone: shown when it is named, and not by "all" or "everything" */
};

typedef struct infoSection {
    const char *name;  /* as INFO's argument, lower case */
    const char *title; /* as its heading. Two neighbours with one title are two names of one section */
    int position;      /* among the sections, as fields have in them */
    unsigned flags;    /* INFO_ */
} infoSection;

/* A run of fields. */
typedef struct infoFields {
    const char *section;
    int position;
    void (*write)(infoOut *o);
} infoFields;

typedef enum {
    INFO_GAUGE,
    INFO_COUNTER, /* its samples end in _total */
    INFO_OK,      /* 1 for "ok", else 0 */
    INFO_UP,      /* 1 for "up", else 0 */
    INFO_LABEL,   /* words, or digits that are no number to count with */
    INFO_LEFT_OUT /* not shown: another field has the value in the unit that collectors want */
} infoKind;

/* How the metrics port shows an INFO field. A field without a row is a gauge without a sentence if it is a number, and
 * a label if not. The names of metrics are those of INFO, but for what their format asks for: a counter ends in _total
 * (and does not begin with total_), a unit stands at the end, and times are in seconds where the name of the INFO field
 * ends in milliseconds. */
typedef struct infoMetric {
    const char *field;  /* as in INFO */
    const char *family; /* without "valkey_" and "_total"; NULL if it is the name of the field */
    infoKind kind;
    unsigned char shift; /* decimal digits by which the value is made smaller: 3 makes seconds of milliseconds */
    const char *help;    /* a sentence; NULL for labels, and for what is left out */
} infoMetric;

/* ---- For `write` functions ---- */

/* Append "name:value", whose value is a number or a text. `help` may be followed by other fields of infoMetric:
 *
 *     infoGauge(o, "total_watched_keys", watch_totals.keys, "Keys that clients watch.", .family = "watched_keys");
 */
#define infoGauge(o, name, value, ... /* help */) INFO_FIELD(o, name, value, INFO_GAUGE, .help = __VA_ARGS__)
#define infoCounter(o, name, value, ... /* help */) INFO_FIELD(o, name, value, INFO_COUNTER, .help = __VA_ARGS__)
/* The same for bytes: the metric has the unit at its end. */
#define infoSize(o, name, value, help) infoGauge(o, name, value, help, .family = name "_bytes")
/* Appends a text, or digits that are no number to count with. */
#define infoLabel(o, name, value) INFO_FIELD(o, name, value, INFO_LABEL, .family = NULL)
/* Append "used_memory:1048576" and "used_memory_human:1.00M"; the latter alone. */
#define infoBytes(o, name, value, help)      \
    do {                                     \
        size_t bytes_ = (value);             \
        infoSize(o, name, bytes_, help);     \
        infoHuman(o, name "_human", bytes_); \
    } while (0)
void infoHuman(infoOut *o, const char *name, size_t bytes);

/* Appends a line of any other form, without its end. A field in it has an INFO_METRIC() nearby, or is shown as fields
 * without a row are. */
void infoLine(infoOut *o, const char *fmt, ...) printf_like(2, 3);
/* Adds a row to the table of metrics. The linker collects the rows of the program; where the statement stands, or
 * whether it is ever reached, does not matter. */
#define INFO_METRIC(name, kind_, ... /* other fields of infoMetric */)                                 \
    do {                                                                                               \
        static const infoMetric metric_ = {.field = name, .kind = kind_, __VA_ARGS__};                 \
        static const infoMetric *const row_ __attribute__((section("info_metrics"), used)) = &metric_; \
        unused(row_);                                                                                  \
    } while (0)

#define INFO_FIELD(o, name, value, kind, ...) \
    do {                                      \
        INFO_METRIC(name, kind, __VA_ARGS__); \
        INFO_VALUE(value)(o, name, value);    \
    } while (0)
#define INFO_VALUE(value) \
    _Generic((value),                           \
        bool: infoSigned,                       \
        int: infoSigned,                        \
        long: infoSigned,                       \
        long long: infoSigned,                  \
        unsigned: infoUnsigned,                 \
        unsigned long: infoUnsigned,            \
        unsigned long long: infoUnsigned,       \
        float: infoFraction,                    \
        double: infoFraction,                   \
        char *: infoText,                       \
        const char *: infoText)
void infoSigned(infoOut *o, const char *name, long long value);
void infoUnsigned(infoOut *o, const char *name, unsigned long long value);
void infoFraction(infoOut *o, const char *name, double value); /* with two digits after the point */
void infoText(infoOut *o, const char *name, const char *value);

/* ---- For startup, INFO and the metrics port ---- */

/* Tables end with an entry whose name, section or field is NULL and are borrowed for good. Call at startup. */
void infoTableAddSections(const infoSection *sections);
void infoTableAddFields(const infoFields *fields);
/* Ends registration and puts all in order. Fields without their section, two runs at one position, and two metrics of
 * one field are a panic. Call at startup. */
void infoTableSeal(void);

/* Returns the sections in their order; NULL after the last. */
const infoSection *infoTableSection(size_t index);
/* Writes the section's fields, without a heading. */
void infoTableWrite(const infoSection *section, infoOut *o);

/* Returns the row of a field, or NULL if it has none. Any thread, after infoTableSeal(). */
const infoMetric *infoMetricFind(slice field);
/* Returns the rows in the order of their fields; NULL after the last. */
const infoMetric *infoMetricAt(size_t index);

/* Register functions that reset counters, and call them: CONFIG RESETSTAT calls all registered functions in order.
 * Register at startup, at most 32. */
void infoTableOnReset(void (*fn)(void));
void infoTableReset(void);

#endif
