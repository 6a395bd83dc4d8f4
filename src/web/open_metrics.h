/* open_metrics.h -- a snapshot of the server as text for those who collect figures: OpenMetrics, or what was before it.
 *
 * Threads     any: nothing is kept.
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

/* What the port has counted itself. */
typedef struct webCounters {
    uint64_t scrapes, requests, bad_requests, denied; /* denied: 401 and 403 */
    uint64_t connections, turned_away;                /* accepted; not, or closed for another one */
    size_t open;                                      /* connections there are */
} webCounters;

/* What HOTKEYS has found by now: keys are told to those only who may ask it themselves. */
#define WEB_HOT_KEYS 20 /* of each kind */
typedef struct webHotKeys {
    heavyKey keys[HOT_KEYS_METRICS][WEB_HOT_KEYS]; /* own */
    size_t count[HOT_KEYS_METRICS];
} webHotKeys;

/* The caller frees it by zfree(). `hot`: NULL for none. */
char *openMetricsWrite(const metricsSnapshot *s, const webCounters *counters, const webHotKeys *hot,
                       metricsFormat format, size_t *len);

#endif
