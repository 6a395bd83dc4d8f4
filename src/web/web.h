/* web.h -- main's half of the metrics port: opens and closes it, and gives its thread a snapshot per second at most.
 *
 * Runs on: main's own thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEB_WEB_H
#define WEB_WEB_H

#include "platform.h"

/* Settings of other layers that apply here as well; borrowed forever. */
typedef struct webWiring {
    const bool *protected_mode;
    const long long *keepalive_s, *backlog;
    char *const *cpulist; /* processors on which the thread may run; NULL or "": all */
} webWiring;

#define WEB_BIND_MAX 16

/* The settings of the port. */
typedef struct webSettings {
    long long port;           /* 0: off */
    char *bind[WEB_BIND_MAX]; /* owns */
    int bind_count;
    int names; /* metricsNames */
} webSettings;
extern webSettings web_settings;

/* Registers metrics-port, metrics-bind and metrics-names. Call at startup, before the configuration is read. */
void webRegister(void);
/* Opens the port if the settings want it. Returns false, after a log line, if that fails. Call at startup, after the
 * other listeners. */
bool webStart(const webWiring *wiring);
/* Gives the thread a snapshot if it wants one, and a new copy of the users if they have changed. Called from cron. */
void webTick(void);
/* Ends the thread, if there is one, and closes its sockets. Call at shutdown. */
void webStop(void);

#endif
