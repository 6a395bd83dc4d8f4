/* event_stream.h -- keyspace events as entries of a stream (notify-keyspace-events-stream).
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_EVENT_STREAM_H
#define ENGINE_EVENT_STREAM_H

/* Call at startup, once the settings are known. */
void eventStreamInit(void);

/* --- INFO fields --- */
typedef struct eventStreamStats {
    long long added; /* entries */
    long long lost;  /* events without an entry: another type has that key, the entry would be too large, or it would
                      * have been trimmed at once */
} eventStreamStats;
extern eventStreamStats event_stream_stats;

#endif
