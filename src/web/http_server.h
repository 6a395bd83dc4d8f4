/* http_server.h -- the thread that serves metrics and a page over HTTP/1.1.
 *
 * Runs on: main's own thread. Objects that are passed to the thread belong to it from then on.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEB_HTTP_SERVER_H
#define WEB_HTTP_SERVER_H

#include "metrics_snapshot.h"
#include "open_metrics.h"
#include "web_access.h"

#define HTTP_LISTENERS_MAX 16

typedef struct httpServerSetup {
    const int *listeners; /* listening, non-blocking sockets, which the thread closes */
    int listeners_count;  /* up to HTTP_LISTENERS_MAX */
    int keepalive_s;      /* TCP keepalive of connections in seconds; 0: none */
    const char *cpulist;  /* copied */
    webAccess *access;    /* the thread takes ownership */
    unsigned speedup;     /* for tests: divides all time limits of connections; 0 means 1 */
} httpServerSetup;

/* Starts the thread. There must be none. */
void httpServerStart(const httpServerSetup *setup);
/* Ends the thread and closes all connections; no-op if there is no thread. */
void httpServerStop(void);
/* Returns whether the thread runs. */
bool httpServerRuns(void);

/* Sets the names of metrics for requests that ask for none, from the next request on, also of a later thread. */
void httpServerSetNames(metricsNames names);

/* Returns true, once, if a client wants newer metrics than those of the last snapshot. */
bool httpServerTakeRequest(void);
/* Give the running thread a new snapshot, or a new copy of the users; it takes ownership. */
void httpServerSetSnapshot(metricsSnapshot *s);
void httpServerSetAccess(webAccess *a);

#endif
