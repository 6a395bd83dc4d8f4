/* target_link.h -- connections to the servers that keys are migrated to; they are kept for a while.
 *
 * Who has one waits for the other side: no longer than its timeout for a piece of what is written, or for a line.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPL_TARGET_LINK_H
#define REPL_TARGET_LINK_H

#include "slice.h"

#define TARGET_PIECE_BYTES ((size_t)64 << 10)
#define TARGET_LINE_MAX ((size_t)16 << 10)

typedef struct targetLink targetLink;

/* A connection to `host`:`port`, kept from before or new; whoever has it keeps or drops it. `authenticated`: its user
 * proves who it is each time, and what was proved on it before is nobody else's. NULL with errno: ECONNREFUSED if there
 * is a host, but not this server; anything else, ETIMEDOUT too, if there was no connection in time. */
targetLink *targetOpen(slice host, slice port, bool authenticated, long long timeout_ms) must_check;
/* Keep it for the next one, unless the other side has said more than it was asked for. */
void targetKeep(targetLink *link);
/* Close it. */
void targetDrop(targetLink *link);

/* Whether this database is selected on it; and that it is. */
bool targetIsAt(const targetLink *link, long long db);
void targetSetDb(targetLink *link, long long db);
void targetForgetDb(targetLink *link);

/* All of it, or false with errno. */
bool targetWrite(targetLink *link, slice bytes) must_check;
/* The next line, without its end (LF or CR LF): borrowed until the next call. False with errno: EBADMSG if it is longer
 * than a line of a server is. */
bool targetReadLine(targetLink *link, slice *line) must_check;

/* How many are kept. */
size_t targetsKept(void);
/* Each second: those that nobody has used for ten go. */
void targetsTick(void);

#endif
