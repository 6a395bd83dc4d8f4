/* banner.h -- the lines of the log by which people and scripts see the server start.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SERVER_BANNER_H
#define SERVER_BANNER_H

/* "Valkey is starting", version, whether a configuration was loaded. */
void bannerStart(int argc);
/* The logo with mode, port and PID on a terminal or with always-show-logo; else one line each. */
void bannerShow(void);
/* "Ready to accept connections" for each kind of listener. */
void bannerReady(void);
/* Identifies this build: hexadecimal digits. */
const char *bannerBuildId(void);

#endif
