/* http_server.h -- the thread that serves metrics and a page by HTTP/1.1.
 *
 * Runs on: main's own thread; what is given to the thread is the thread's from then on.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEB_HTTP_SERVER_H
#define WEB_HTTP_SERVER_H

#include "metrics_snapshot.h"
#include "web_access.h"

#define HTTP_LISTENERS_MAX 16

typedef struct httpServerSetup {
    const int *listeners; /* descriptors that listen, non-blocking; the thread closes them */
    int listeners_count;  /* up to HTTP_LISTENERS_MAX */
    int keepalive_s;      /* of connections' TCP; 0: none */
    const char *cpulist;  /* copied */
    webAccess *access;    /* given away */
    unsigned hurry;       /* tests: all times of connections are divided by this; 0 is 1 */
} httpServerSetup;

/* There is no thread before. */
void httpServerStart(const httpServerSetup *setup);
/* End the thread and all connections; nothing happens when there is none. */
void httpServerStop(void);
bool httpServerRuns(void);

/* Whether somebody wants figures that are newer than those given last; asked once, it is forgotten. */
bool httpServerTakeWish(void);
void httpServerGiveSnapshot(metricsSnapshot *s);
void httpServerGiveAccess(webAccess *a);

#endif
