/* web.h -- the metrics port as main sees it: on or off, and once a second a few figures for it.
 *
 * Runs on: main's own thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEB_WEB_H
#define WEB_WEB_H

#include "platform.h"

/* Settings of other layers that count here too; borrowed for good. */
typedef struct webWiring {
    const bool *protected_mode;
    const long long *keepalive_s, *backlog;
    char *const *cpulist; /* where the thread may run; NULL or "": anywhere */
} webWiring;

/* metrics-port and metrics-bind. Boot, before the configuration is read. */
void webRegister(void);
/* Open the port if there is to be one. False after a log line. Boot, when others listen. */
bool webStart(const webWiring *wiring);
/* From cron: leave figures for those who have asked. */
void webTick(void);
/* End the thread, if there is one, and close all it has (shutdown). */
void webStop(void);

#endif
