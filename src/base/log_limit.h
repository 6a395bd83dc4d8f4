/* log_limit.h -- a log line that a stranger can cause: written at once, then at most so many a minute, with a count.
 *
 * A peer that may not even run a command can still cause log lines (a failed handshake, an HTTP request at the wrong
 * port). Without a limit it fills the disk and hides everything else. Each kind of line has one static logLimit; the
 * first line of a kind is written at once. A line that comes when the minute's lines are used up is counted. The next
 * line of the kind says how many were left out, and if none comes, logLimitsReport() does.
 *
 * Lines of the levels `verbose` and `debug` need no limit: an operator who chooses these asks for each connection.
 *
 * Threads     any; a fork's child has the counts of that moment.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_LOG_LIMIT_H
#define BASE_LOG_LIMIT_H

#include "log.h"

#include <stdatomic.h>

#define LOG_LIMIT_MS 60000
/* Lines a minute where each names a client or a replica, and an operator may miss the second one. */
#define LOG_LIMIT_FEW 4

/* Static, because it is kept in a list from its first line on. Callers fill in the first three members, or use
 * LOG_LIMITED(). */
typedef struct logLimit {
    /* const */
    logLevel level;
    unsigned lines;   /* that are written in LOG_LIMIT_MS; at least one */
    const char *kind; /* the subject of "200 more log lines were left out: ..." */
    /* atomic, relaxed: counts of which nothing else depends */
    _Atomic uint64_t until_ms; /* end of the current minute; 0 before the first line */
    _Atomic uint64_t asked;    /* lines of the current minute, written or not */
    struct logLimit *next;     /* borrowed: the list of those that were used, published by its head */
} logLimit;

/* Log a line by a limit of its own. `kind` names the lines when their number is logged:
 *
 *     LOG_LIMITED(LL_WARNING, 1, "TLS handshakes that failed", "Error accepting a client connection: %s", why); */
#define LOG_LIMITED(level_, lines_, kind_, ...)                                         \
    do {                                                                                \
        static logLimit here = {.level = (level_), .lines = (lines_), .kind = (kind_)}; \
        serverLogLimited(&here, __VA_ARGS__);                                           \
    } while (0)

/* Log a line as serverLog() does, with `limit->level`, unless the minute's lines are used up. */
void serverLogLimited(logLimit *limit, const char *fmt, ...) printf_like(2, 3);
/* Log the counts of left-out lines of each minute that has ended by `now_ms` (monotonic). Call it about once a second;
 * before the process exits, call it with a time LOG_LIMIT_MS ahead, at which every minute has ended. */
void logLimitsReport(uint64_t now_ms);

/* The decision alone: returns whether a line may be written at `now_ms`. If so, *left_out is the number of lines that
 * were not written since the last one was. */
bool logLimitPass(logLimit *limit, uint64_t now_ms, uint64_t *left_out);

#endif
