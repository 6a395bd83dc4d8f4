/* client_check.h -- asserts the invariants of clients between two commands.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLIENT_CLIENT_CHECK_H
#define CLIENT_CLIENT_CHECK_H

#include "client.h"

/* Asserts, for one client, the invariants that the files of this layer number: of the session, its open chain, and its
 * output counters. May be called while a command runs, but not between clientPopPendingWrite() and
 * clientTakeReplies(). */
void clientCheck(const client *c);
/* Asserts for each work list that the clients on it are exactly those whose flag says so. Must not be called between
 * clientPopClosing() and clientFree(). */
void clientListsCheck(void);

/* The same checks for debug builds. They skip clients with very long output and very many clients, so that time does
 * not grow with the square of a reply or of the number of clients. */
#ifdef DEBUG_ASSERTIONS
void clientDebugCheck(const client *c);
void clientListsDebugCheck(void);
#else
static inline void clientDebugCheck(const client *c) { unused(c); }
static inline void clientListsDebugCheck(void) {}
#endif

#endif
