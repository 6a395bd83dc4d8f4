/* conn_unread.c -- returns bytes to a connection from which they were read: its next reader gets them first.
 *
 * While there are such bytes the connection has another connectionType, a copy of its own one with other functions for
 * reading and closing. After the last byte it has its own type again, so that later reads cost nothing more.
 *
 * Not here    the code that reads too far (repl/replica/link_job.h).
 * Owns        the blocks.
 * Threads     the connection's owner thread.
 * Invariants  1. Each block of a connection has unread bytes. In a list that is still being filled, the last block may
 *                have none.
 *             2. An attached connection that is read and has such bytes is raised in its loop (aeRaiseReadable()).
 * Tests       tests/unit/event/conn_unread_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "conn_unread.h"

#include "panic.h"
#include "zmalloc.h"

#include <string.h>

#define BLOCK_BYTES ((size_t)64 << 10) /* struct unreadBlock included */

struct unreadBlock {
    unreadBlock *next;
    size_t at, len; /* the unread bytes are bytes[at .. len) */
    char bytes[];
};

#define BLOCK_CAPACITY (BLOCK_BYTES - sizeof(unreadBlock))

typedef struct unreadType {
    connectionType type;         /* the type that the connection has meanwhile */
    const connectionType *inner; /* its own type */
    unreadBytes left;
} unreadType;

/* ---- Lists of bytes ---------------------------------------------------------------------------------------------- */

char *unreadReserve(unreadBytes *u, size_t *capacity) {
    if (!u->last || u->last->len == BLOCK_CAPACITY) {
        unreadBlock *b = zmalloc(BLOCK_BYTES);
        b->next = NULL;
        b->at = b->len = 0;
        if (u->last) u->last->next = b;
        else u->first = b;
        u->last = b;
        u->memory += BLOCK_BYTES;
    }
    *capacity = BLOCK_CAPACITY - u->last->len;
    return u->last->bytes + u->last->len;
}

void unreadCommit(unreadBytes *u, size_t len) {
    serverAssert(u->last && len <= BLOCK_CAPACITY - u->last->len);
    u->last->len += len;
    u->len += len;
}

void unreadAdd(unreadBytes *u, slice bytes) {
    while (bytes.len > 0) {
        size_t capacity;
        char *to = unreadReserve(u, &capacity);
        size_t n = bytes.len < capacity ? bytes.len : capacity;
        memcpy(to, bytes.ptr, n);
        unreadCommit(u, n);
        bytes = sliceOf(bytes.ptr + n, bytes.len - n);
    }
}

static void dropFirst(unreadBytes *u) {
    unreadBlock *b = u->first;
    u->first = b->next;
    if (!u->first) u->last = NULL;
    u->memory -= BLOCK_BYTES;
    zfree(b);
}

void unreadFree(unreadBytes *u) {
    while (u->first) dropFirst(u);
    u->len = 0;
}

/* ---- Reading ----------------------------------------------------------------------------------------------------- */

static unreadType *unreadOf(const connection *c) {
    return (unreadType *)(uintptr_t)c->type; /* `type` is its first field */
}

static void connUnreadGiveBack(connection *c) {
    unreadType *t = unreadOf(c);
    c->type = t->inner;
    unreadFree(&t->left);
    zfree(t);
}

static ssize_t unreadRead(connection *c, void *buf, size_t len) {
    unreadBytes *u = &unreadOf(c)->left;
    size_t got = 0;
    while (got < len && u->len > 0) {
        unreadBlock *b = u->first;
        size_t n = b->len - b->at;
        if (n > len - got) n = len - got;
        memcpy((char *)buf + got, b->bytes + b->at, n);
        b->at += n;
        u->len -= n;
        got += n;
        if (b->at == b->len) dropFirst(u);
    }
    if (u->len == 0) connUnreadGiveBack(c);
    if (c->loop && c->on_readable) aeRaiseReadable(c->loop, c->fd, connHasPending(c));
    return (ssize_t)got;
}

static bool unreadIsPending(connection *c) {
    unused(c);
    return true;
}

static void unreadClose(connection *c) {
    connUnreadGiveBack(c);
    c->type->close(c);
}

void connUnread(connection *c, unreadBytes *bytes) {
    serverAssert(!c->loop && c->type->read != unreadRead);
    if (bytes->len == 0) {
        unreadFree(bytes);
        return;
    }
    unreadType *t = zmalloc(sizeof(*t));
    t->type = *c->type;
    t->type.read = unreadRead;
    t->type.has_pending = unreadIsPending;
    t->type.close = unreadClose;
    t->inner = c->type;
    t->left = *bytes;
    *bytes = (unreadBytes){0};
    c->type = &t->type;
}
