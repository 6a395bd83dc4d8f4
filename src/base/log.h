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

/* Where lines go. "" means stdout. The file is opened for each line, so that a rotated log is
 * reopened by itself. The string is copied. */
void logSetFile(const char *path);
const char *logFile(void);

void logSetLevel(logLevel least);
/* Returns whether a line of this level is written. */
bool logLevelIsOn(logLevel level);
void logSetFormat(logFormat format, logTimeFormat time_format);
/* Role letter of the next lines: 'M', 'S', 'C' or 'X'. */
void logSetRole(char role);
/* Also write to syslog with `ident` and `facility` (LOG_LOCAL0 ...); ident NULL turns it off. */
void logSetSyslog(const char *ident, int facility);

/* Log one line if `level` is at or above the level set. A message stays on its line whatever text of others is in it
 * (one_line.h; the JSON form escapes). Messages longer than 1023 bytes are cut. */
void serverLog(logLevel level, const char *fmt, ...) printf_like(2, 3);

/* Write bytes as they are, without a prefix (banner, multi-line reports). */
void serverLogRaw(const char *text);

/* From here on no line takes a lock or allocates, whatever it goes to: for a crash report, which ends the process, and
 * for a forked child, in which a lock may be held by a thread that it does not have. */
void logBeginLockless(void);

/* Log without malloc, locks or stdio, for signal handlers. */
void serverLogFromSignal(logLevel level, const char *text);

#endif
