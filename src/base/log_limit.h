/* log_limit.h -- limits log lines that strangers can cause, to some per minute and a count of the others.
 *
 * A peer that cannot even run a command can still cause log lines (a failed handshake, an HTTP request at the wrong
 * port). Without a limit it fills the disk and hides everything else. Each kind of line has one static logLimit; the
 * first line of a kind is written at once. Lines beyond the minute's limit are only counted. The next
 * line of the kind reports how many were left out; if there is none, logLimitsReport() does.
 *
 * Lines of the levels `verbose` and `debug` need no limit: an operator who enables these wants one for each connection.
 *
 * Threads     any; a forked child has a copy of the counts.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_LOG_LIMIT_H
#define BASE_LOG_LIMIT_H

#include "log.h"

#include <stdatomic.h>

#define LOG_LIMIT_MS 60000
/* The limit for lines of which each names a client or a replica, and an operator may miss the second one. */
#define LOG_LIMIT_FEW 4

/* Must be static, because it is kept in a list from its first line on. Callers set the first three members, or use
 * LOG_LIMITED(). */
typedef struct logLimit {
    /* const */
    logLevel level;
    unsigned lines;   /* that are written in LOG_LIMIT_MS; at least one */
    const char *kind; /* the subject of "200 more log lines were left out: ..." */
    /* atomic, relaxed: counts that order nothing else */
    _Atomic uint64_t until_ms; /* end of the current minute; 0 before the first line */
    _Atomic uint64_t asked;    /* lines of the current minute, whether written or not */
    struct logLimit *next;     /* borrowed: the list of limits in use, published by its head */
} logLimit;

/* Logs a line by a limit of its own. `kind` names the lines when their number is logged:      LOG_LIMITED(LL_WARNING,
 * 1, "TLS handshakes that failed", "Error accepting a client connection: %s", why); */
#define LOG_LIMITED(level_, lines_, kind_, ...)                                         \
    do {                                                                                \
        static logLimit here = {.level = (level_), .lines = (lines_), .kind = (kind_)}; \
        serverLogLimited(&here, __VA_ARGS__);                                           \
    } while (0)

/* Logs a line as serverLog() does, at `limit->level`, unless the minute's lines are used up. */
void serverLogLimited(logLimit *limit, const char *fmt, ...) printf_like(2, 3);
/* Logs the number of lines left out in each minute that has ended by `now_ms` (monotonic). Call about once a second
 * and, before the process exits, with a time LOG_LIMIT_MS ahead, by which every minute has ended. */
void logLimitsReport(uint64_t now_ms);

/* Returns whether a line may be written at `now_ms`, without logging. If so, *left_out is the number of lines left out
 * since the last one. */
bool logLimitPass(logLimit *limit, uint64_t now_ms, uint64_t *left_out);

#endif
