/* open_metrics.h -- a snapshot of the server as text for metrics collectors: OpenMetrics, or the format before it.
 *
 * Threads     any: there is no state.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEB_OPEN_METRICS_H
#define WEB_OPEN_METRICS_H

#include "hot_keys.h"
#include "metrics_snapshot.h"

typedef enum {
    METRICS_TEXT, /* text/plain; version=0.0.4 */
    METRICS_OPEN, /* application/openmetrics-text; version=1.0.0 */
    METRICS_FORMATS
} metricsFormat;

typedef enum {
    METRICS_NAMES_VALKEY, /* valkey_ and the names of INFO */
    METRICS_NAMES_REDIS,  /* redis_ and the names of the common exporter for Redis (exporter_names.h) */
    METRICS_NAMES
} metricsNames;

/* Counters of the metrics port itself. */
typedef struct webCounters {
    uint64_t scrapes, requests, bad_requests, denied; /* denied: responses 401 and 403 */
    uint64_t connections, turned_away;                /* accepted; refused, or closed to free a slot */
    size_t open;                                      /* connections now open */
} webCounters;

/* The current result of HOTKEYS: only for users who may run that command, as it names keys. */
#define WEB_HOT_KEYS 20 /* most keys of each metric */
typedef struct webHotKeys {
    heavyKey keys[HOT_KEYS_METRICS][WEB_HOT_KEYS]; /* owns */
    size_t count[HOT_KEYS_METRICS];
} webHotKeys;

/* Returns the text, which the caller frees by zfree(). `hot` may be NULL. */
char *openMetricsWrite(const metricsSnapshot *s, const webCounters *counters, const webHotKeys *hot,
                       metricsFormat format, metricsNames names, size_t *len);

#endif
