/* daemon.h -- how the process stands towards the system: background, pid file, supervisor, title, limits.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SERVER_DAEMON_H
#define SERVER_DAEMON_H

#include "platform.h"

/* Boot, first: remember argv and environment, whose memory shows the title. */
void daemonInit(int argc, char **argv);
/* Boot: the stack of main's own thread is as large as commands need it, whatever limit of memory comes later. */
void daemonReserveStack(void);
/* Fork into the background (daemonize yes) unless a supervisor runs us; find out which supervisor. */
void daemonStart(void);
/* The process is (after the fork) the server: write the pid file. */
void daemonWritePidFile(void);
void daemonRemovePidFile(void);
/* Tell the supervisor. A status is one line of text, which systemctl status shows until the next one. */
void daemonNotifyStatus(const char *status);
void daemonNotifyReady(void);
void daemonNotifyStopping(void); /* not before the end is certain: systemd kills a process that stays alive after it */
const char *daemonSupervisedName(void); /* INFO process_supervised: "no" "systemd" "upstart" */
/* Show the process under proc-title-template; a child under `title` in place of the program's name. */
void daemonSetTitle(void);
void daemonSetChildTitle(const char *title);
/* Absolute path of the program, for INFO. */
const char *daemonExecutable(void);
/* Raise the limit of open files for maxclients, or lower maxclients with a word in the log. */
void daemonAdjustFileLimit(void);
/* Warn of system settings that hurt: overcommit, huge pages, a short listen queue. */
void daemonWarnOfSystem(void);

#endif
