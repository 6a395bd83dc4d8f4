/* startup.h -- the steps of main() at startup, by file.
 *
 * Runs on: main's own thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SERVER_STARTUP_H
#define SERVER_STARTUP_H

#include "platform.h"

/* --- programs.c: other programs in the binary ------------------------------------------------------------------ */
/* Runs such a program if this process is one. Returns true if it has run, with its exit code in *exit_code. */
bool programsRun(int argc, char **argv, int *exit_code);

/* --- wiring.c: registers the layers with each other ------------------------------------------------------------ */
/* Registers the settings of all layers, and sets them to their defaults. */
void wiringSettings(void);
/* Registers the INFO fields of all layers, which the crash report has as well. */
void wiringInfo(void);
/* Registers the commands of all layers. Call before settingFileLoad(), which may rename commands. */
void wiringCommands(void);
/* Closes the command table and connects hooks: authentication, HELLO, titles. Call after settingFileLoad(). */
void wiringHooks(void);

/* --- banner.c: log lines for people and for programs that wait for them ---------------------------------------- */
/* Prints the version of the program if that is what the first argument asks for. Returns whether it is. */
bool bannerVersion(const char *program, int argc, char **argv);
/* Logs "Valkey is starting", the version, and whether a configuration was loaded. */
void bannerStart(int argc);
/* Logs mode, port and PID: with the logo on a terminal or with always-show-logo, else one line each. */
void bannerShow(void);
/* Logs "Ready to accept connections" for each kind of listener. */
void bannerReady(void);
/* Returns a hash that identifies this build, in hexadecimal digits. */
const char *bannerBuildId(void);

/* --- system_check.c: system settings that make a server slow or let it fail ------------------------------------ */
/* Logs warnings about bad system settings: overcommit, huge pages, a short listen queue. Call at startup. */
void systemCheckWarn(void);
/* Prints the state of each trait on a line, with the advice. Returns the exit code of --check-system: 1 if one is
 * BAD. */
int systemCheckAll(void);

/* --- dataset.c ------------------------------------------------------------------------------------------------- */
/* Loads the dataset, if there is one. Call when listeners are open, before the server is ready. Returns false, after
 * logging the reason, if it exists but cannot be loaded: the process must end. Files on disk stay as they are, except
 * that unfinished files of an earlier process are removed. */
bool datasetLoadAtStart(void) must_check;

#endif
