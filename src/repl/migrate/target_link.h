/* target_link.h -- connections to the targets of MIGRATE, which are cached for some seconds.
 *
 * Calls block: each waits for the target, at most for the timeout for each TARGET_PIECE_BYTES written or line read.
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

/* Returns a connection to `host`:`port`, cached or new, which the caller owns until targetCache() or targetDrop().
 * `authenticated`: the caller sends AUTH; such connections are cached apart from those without, so that a user never
 * gets the permissions of another one. Returns NULL with errno on failure: ECONNREFUSED if the host refuses
 * connections, ETIMEDOUT or another one if there was no connection in time. */
targetLink *targetOpen(slice host, slice port, bool authenticated, long long timeout_ms) must_check;
/* Takes ownership of the link and caches it, or closes it if it has unread bytes. */
void targetCache(targetLink *link);
/* Closes and frees the link. Accepts NULL. */
void targetDrop(targetLink *link);

/* Returns whether the link is known to have selected this database. */
bool targetHasDb(const targetLink *link, long long db);
/* Records that the link has selected this database. */
void targetSetDb(targetLink *link, long long db);
/* Records that the selected database is unknown. */
void targetForgetDb(targetLink *link);

/* Writes all bytes. Returns false with errno on failure. */
bool targetWrite(targetLink *link, slice bytes) must_check;
/* Reads the next line and sets `line` to it, without its LF or CR LF; borrowed until the next call. Returns false with
 * errno on failure: EBADMSG if it is longer than TARGET_LINE_MAX. */
bool targetReadLine(targetLink *link, slice *line) must_check;

/* Returns the number of cached connections. */
size_t targetsCached(void);
/* Closes connections that were cached for more than ten seconds. Call once a second. */
void targetsTick(void);

#endif
