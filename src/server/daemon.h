/* daemon.h -- the process in its system: background, pid file, supervisor, title, limits.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SERVER_DAEMON_H
#define SERVER_DAEMON_H

#include "platform.h"

/* Stores argv and environment, in whose memory the title is shown. Call first at startup. */
void daemonInit(int argc, char **argv);
/* Makes the stack of main's own thread as large as commands need it, so that no later memory limit prevents its growth.
 * Call at startup. */
void daemonReserveStack(void);
/* Forks into the background (daemonize yes) unless a supervisor runs this process; detects the supervisor. */
void daemonStart(void);
/* Writes the pid file. Call after the fork, in the process that becomes the server. */
void daemonWritePidFile(void);
/* Removes the pid file if this process has written one. */
void daemonRemovePidFile(void);
/* Notify the supervisor. A status is one line of text, which systemctl status shows until the next one. */
void daemonNotifyStatus(const char *status);
void daemonNotifyReady(void);
void daemonNotifyStopping(void); /* call when the end is certain: systemd kills a process that stays alive after it */
const char *daemonSupervisedName(void); /* INFO process_supervised: "no" "systemd" "upstart" */
/* Set the title of the process by proc-title-template; for a child with `title` in place of the program's name. */
void daemonSetTitle(void);
void daemonSetChildTitle(const char *title);
/* Returns the absolute path of the program, for INFO. */
const char *daemonExecutable(void);
/* Raises the limit of open files for maxclients, or lowers maxclients and logs that. */
void daemonAdjustFileLimit(void);

#endif
