/* conn_unread.h -- returns bytes to a connection from which they were read: its next reader gets them first.
 *
 * For code that reads more than it uses itself: a handshake that has read too far, or a replica that buffers the
 * replication stream while it loads the dataset. The bytes are in blocks, each of which is freed once it was read.
 *
 * Runs on: the connection's owner thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef EVENT_CONN_UNREAD_H
#define EVENT_CONN_UNREAD_H

#include "connection.h"
#include "slice.h"

typedef struct unreadBlock unreadBlock;

/* A list of bytes. All zero if empty. */
typedef struct unreadBytes {
    unreadBlock *first, *last; /* own */
    size_t len;                /* number of bytes */
    size_t memory;             /* bytes of memory that the blocks take */
} unreadBytes;

/* Returns free memory at the end of the list, and sets *capacity to its size, which is at least 1. The caller writes
 * bytes there and then calls unreadCommit(). */
char *unreadReserve(unreadBytes *u, size_t *capacity);
/* Appends the first `len` bytes of that memory to the list. */
void unreadCommit(unreadBytes *u, size_t len);
/* Appends a copy of the bytes. */
void unreadAdd(unreadBytes *u, slice bytes);
/* Frees all blocks. */
void unreadFree(unreadBytes *u);

/* Makes the bytes the next ones that are read from the connection, and empties the list, whose blocks it takes over.
 * The connection must be detached, and have no such bytes left from an earlier call. */
void connUnread(connection *c, unreadBytes *bytes);

#endif
