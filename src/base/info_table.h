/* info_table.h -- what INFO says: sections and their fields, registered by the layers that own the figures.
 *
 * Programs know the order of fields, and in most sections fields of several layers alternate. So a layer registers its
 * fields in runs, each with the place in the section where the run begins. A place is ten times the line on which the
 * field stands in the reference server's section, which leaves room between any two.
 *
 * To add a field, let the `write` function of a run add its line, and add one row to the table of `infoMetric` in the
 * same file, which is what the metrics port shows of it.
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

/* Add one line, without its end. */
void infoLine(infoOut *o, const char *fmt, ...) printf_like(2, 3);
/* "field:1048576" and "field_human:1.00M". */
void infoBytes(infoOut *o, const char *field, size_t bytes);

enum {
    INFO_DEFAULT = 1,  /* shown by INFO without arguments */
    INFO_IN_CRASH = 2, /* also in crash reports: its fields are made without allocating */
    INFO_BY_NAME = 4,  /* ours alone: shown when it is named, and not by "all" or "everything" */
};

typedef struct infoSection {
    const char *name;  /* as INFO's argument, lower case */
    const char *title; /* as its heading. Two neighbours with one title are two names of one section */
    int place;         /* among the sections, as fields have in them */
    unsigned flags;    /* INFO_ */
} infoSection;

/* A run of fields: `lines`, or what `write` writes. */
typedef struct infoFields {
    const char *section;
    int place;
    void (*write)(infoOut *o);
    const char *const *lines; /* ended by NULL; for what does not change */
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

/* Tables end with an entry whose name, section or field is NULL and are borrowed for good. Boot only. */
void infoTableAddSections(const infoSection *sections);
void infoTableAddFields(const infoFields *fields);
void infoTableAddMetrics(const infoMetric *metrics);
/* Ends registration and puts all in order. Fields without their section, two runs at one place, and two rows of
 * `infoMetric` for one field are a panic. Boot only. */
void infoTableSeal(void);

/* Sections in their order: NULL past the end. */
const infoSection *infoTableSection(size_t index);
/* Write the section's fields, without a heading. */
void infoTableWrite(const infoSection *section, infoOut *o);

/* Returns the row of a field, or NULL if it has none. Any thread, after infoTableSeal(). */
const infoMetric *infoMetricFind(slice field);
/* Returns the rows in the order of their fields; NULL after the last. */
const infoMetric *infoMetricAt(size_t index);

/* Set back what counts events: CONFIG RESETSTAT calls all registered functions in order. Boot only, at most 32. */
void infoTableOnReset(void (*fn)(void));
void infoTableReset(void);

#endif
