/* conn_unread.h -- bytes that were read from a connection and given back: its next reader gets them first.
 *
 * For who reads on behalf of somebody who comes later: a handshake that has read too far, a stream that is kept while
 * something else is loaded. They are kept in blocks, each freed when it has been read.
 *
 * Runs on: the connection's holder.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef EVENT_CONN_UNREAD_H
#define EVENT_CONN_UNREAD_H

#include "connection.h"
#include "slice.h"

typedef struct unreadBlock unreadBlock;

/* All zero: empty. */
typedef struct unreadBytes {
    unreadBlock *first, *last; /* own */
    size_t len;                /* bytes */
    size_t memory;             /* that their blocks cost */
} unreadBytes;

/* Room for more at the end, *room bytes of it and at least one: to be filled, and said with unreadCommit(). */
char *unreadRoom(unreadBytes *u, size_t *room);
void unreadCommit(unreadBytes *u, size_t len);
/* A copy of them at the end. */
void unreadAdd(unreadBytes *u, slice bytes);
void unreadFree(unreadBytes *u);

/* They go before what the connection would read next (takes them: empty afterwards). It is attached to no loop, and has
 * been given nothing before that is still there. */
void connUnread(connection *c, unreadBytes *bytes);

#endif
