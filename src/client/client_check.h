/* client_check.h -- asserts what holds of clients between two commands.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLIENT_CLIENT_CHECK_H
#define CLIENT_CLIENT_CHECK_H

#include "client.h"

/* Assert what this layer's files number as invariants, as far as one client shows it: the session, its open chain, what
 * it counts as output. Also while its command runs; not between clientPopPendingWrite() and clientTakeReplies(). */
void clientCheck(const client *c);
/* The same for both work lists: who stands on them and who is flagged are the same clients. Not between
 * clientPopClosing() and clientFree(). */
void clientListsCheck(void);

/* What debug builds call for one client, and for all: small ones are checked whole, so that time does not grow with the
 * square of a reply or of the number of clients. */
#ifdef DEBUG_ASSERTIONS
void clientDebugCheck(const client *c);
void clientListsDebugCheck(void);
#else
static inline void clientDebugCheck(const client *c) {
    unused(c);
}
static inline void clientListsDebugCheck(void) {
}
#endif

#endif
