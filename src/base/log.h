/* log.h -- the server's log: one line a call, to a file, stdout or syslog.
 *
 * Line form (legacy):  PID:ROLE DD Mon YYYY HH:MM:SS.mmm LEVELCHAR message
 * where LEVELCHAR is . - * # for debug, verbose, notice, warning. ROLE is M (primary), S (replica),
 * C (child), X (sentinel). Other forms follow `log-format` and `log-timestamp-format`.
 *
 * Threads     any; a line is written by one write(2).
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "platform.h"

typedef enum { LL_DEBUG, LL_VERBOSE, LL_NOTICE, LL_WARNING, LL_NOTHING } logLevel;
typedef enum { LOG_FORMAT_LEGACY, LOG_FORMAT_LOGFMT, LOG_FORMAT_JSON } logFormat;
typedef enum { LOG_TIME_LEGACY, LOG_TIME_ISO8601, LOG_TIME_MILLISECONDS } logTimeFormat;

/* Sets where lines go; "" means stdout. The file is opened for each line, so that log rotation needs no signal. The
 * string is copied. */
void logSetFile(const char *path);
const char *logFile(void); /* "" is stdout */

void logSetLevel(logLevel least); /* lines below this level are not written */
/* Returns whether a line of this level is written. */
bool logLevelIsOn(logLevel level);
void logSetFormat(logFormat format, logTimeFormat time_format);
/* Sets the role letter of the following lines: 'M', 'S', 'C' or 'X'. */
void logSetRole(char role);
/* Enables logging to syslog as well, with `ident` and `facility` (LOG_LOCAL0 ...); disables it if `ident` is NULL. */
void logSetSyslog(const char *ident, int facility);

/* Logs one line if `level` is at or above the level set. Line ends in the message are replaced (one_line.h; the JSON
 * format escapes them), so text of clients cannot add lines. Messages longer than 1023 bytes are cut. */
void serverLog(logLevel level, const char *fmt, ...) printf_like(2, 3);

/* The setting hide-user-data-from-log: log and crash reports have neither names of keys and clients nor values. */
extern bool log_hide_user_data;

/* Writes text unchanged, without a prefix (banner, multi-line reports). */
void serverLogRaw(const char *text);

/* From the call on, no line takes a lock or allocates, whatever its target: for a crash report, which ends the process,
 * and for a forked child, in which a lock may be held by a thread that it does not have. */
void logBeginLockless(void);

/* Logs without malloc or locks, for signal handlers; the text is cut after 400 bytes. */
void serverLogFromSignal(logLevel level, const char *text);

#endif
