/* banner.h -- the log lines at startup, for people and for programs that wait for them.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SERVER_BANNER_H
#define SERVER_BANNER_H

/* Logs "Valkey is starting", the version, and whether a configuration was loaded. */
void bannerStart(int argc);
/* Logs mode, port and PID: with the logo on a terminal or with always-show-logo, else one line each. */
void bannerShow(void);
/* Logs "Ready to accept connections" for each kind of listener. */
void bannerReady(void);
/* Returns a hash that identifies this build, in hexadecimal digits. */
const char *bannerBuildId(void);

#endif
