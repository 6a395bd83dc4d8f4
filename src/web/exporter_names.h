/* exporter_names.h -- what the common exporter for Redis calls the figures of INFO.
 *
 * Boards and alerts exist for its names. With `metrics-names redis` the metrics port uses them, and "redis_" with its
 * own name for each figure that is not listed.
 *
 * Threads     any: tables only.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEB_EXPORTER_NAMES_H
#define WEB_EXPORTER_NAMES_H

#include "slice.h"

/* Names are those of samples, without "redis_". */
typedef struct exporterName {
    const char *ours;    /* an INFO field; or a family of open_metrics.c, without "valkey_" and its suffix */
    const char *theirs;  /* a name of a counter that does not end in _total cannot be one in OpenMetrics */
    unsigned char shift; /* decimal digits by which the exporter makes the value smaller */
    bool of_primary;     /* the exporter adds the address of the primary as labels */
} exporterName;

/* Returns the first of the rows of an INFO field, which are adjacent and `count`, or NULL. */
const exporterName *exporterNamesOfField(slice field, size_t *count);
/* Returns the row of a family, or NULL. */
const exporterName *exporterNameOfFamily(const char *family);

/* A label of redis_instance_info, and the INFO field that it shows. */
typedef struct exporterLabel {
    const char *label, *field;
} exporterLabel;
extern const exporterLabel exporter_instance_labels[]; /* up to one without a name */
extern const exporterLabel exporter_replica_labels[];  /* of redis_slave_info */

/* For tests: returns the rows of INFO fields in their order; NULL after the last. */
const exporterName *exporterNameAt(size_t index);

#endif
