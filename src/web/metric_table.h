/* metric_table.h -- what is known of INFO's fields: which are counters, their units, and a sentence about each.
 *
 * A field that is not here is shown all the same, as a gauge if it is a number.
 *
 * Threads     any: nothing here changes.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEB_METRIC_TABLE_H
#define WEB_METRIC_TABLE_H

#include "slice.h"

typedef enum {
    FIELD_GAUGE,
    FIELD_COUNTER, /* its samples end in _total */
    FIELD_OK,      /* 1 for "ok", else 0 */
    FIELD_UP,      /* 1 for "up", else 0 */
    FIELD_LABEL,   /* words, or digits that are no number to count with */
    FIELD_TOLD     /* another field says it, in the unit that collectors want: left out */
} fieldKind;

typedef struct metricField {
    const char *field;  /* as INFO has it */
    const char *family; /* without "valkey_" and "_total"; NULL: as the field */
    fieldKind kind;
    unsigned char shift; /* decimal digits by which the value is made smaller: 3 makes seconds of milliseconds */
    const char *help;    /* NULL for labels, and for what is left out */
} metricField;

/* NULL: nothing is known. */
const metricField *metricFieldFind(slice field);
/* In their order; NULL past the end. */
const metricField *metricFieldAt(size_t index);

#endif
