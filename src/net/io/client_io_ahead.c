/* client_io_ahead.c -- bytes of requests that are read ahead for a client whose commands wait for its output.
 *
 * A client may write many requests before it reads the first reply. If its commands wait because its output is not
 * read (client/output_share.h), and its requests were not read either, it would never come to reading: both sides would
 * wait for ever. So what it still sends is read ahead, up to READ_AHEAD_MAX, as bytes: unparsed requests take no more
 * than what was sent. Later reads take these bytes first.
 *
 * Not here    what is made of the bytes (client_io_read.c).
 * Owns        the bytes.
 * Threads     the owner thread.
 * Invariants  1. Bytes leave in the order in which they arrived, and no byte is read from the socket for a request
 *                while some are here.
 *             2. There is a readAhead only while it has a piece.
 * Cost        one copy of the bytes; nothing for other clients but a test for each read.
 * Tests       tests/unit/net/io/client_io_ahead_test.c, tests/engine/slow_readers.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "client_io_internal.h"

#include "net_settings.h"
#include "panic.h"
#include "zmalloc.h"

#include <string.h>

#define AHEAD_BYTES (128 * 1024 - 32) /* with its header a size class of the allocator */
#define READS_AHEAD_PER_EVENT 4

typedef struct aheadPiece {
    struct aheadPiece *next;
    size_t start, len; /* bytes [start, len) wait */
    char bytes[AHEAD_BYTES];
} aheadPiece;

/* Pieces, so that none has to move while main looks at the used memory, and what was taken is freed at once. */
struct readAhead {
    aheadPiece *head, *tail; /* owns; at least one */
    size_t len;              /* bytes that wait */
};

size_t clientIoAheadBytes(const clientIo *s) { return s->ahead ? s->ahead->len : 0; }

bool clientIoMayReadAhead(const clientIo *s) {
    if (!s->reads_ahead || s->ahead_ended || s->parse_waits_for_auth || s->awaits_user) return false;
    long long limit = atomic_load_explicit(&net_shared.client_query_buffer_limit, memory_order_relaxed);
    return !s->ahead || (s->ahead->len < READ_AHEAD_MAX && (long long)s->ahead->len < limit);
}

/* Returns a piece with space for a read; NULL if there is no memory. */
static aheadPiece *aheadReserve(clientIo *s) {
    struct readAhead *a = s->ahead;
    if (a && a->tail->len < AHEAD_BYTES) return a->tail;
    /* Counted before the allocation: main may read the used memory at any time. */
    netCounterAdd(&s->owner->pool.large_in, sizeof(aheadPiece));
    aheadPiece *piece = ztrymalloc(sizeof(*piece));
    if (!piece) {
        netCounterAdd(&s->owner->pool.large_out, sizeof(aheadPiece));
        return NULL;
    }
    piece->next = NULL;
    piece->start = piece->len = 0;
    if (!a) s->ahead = zcalloc(1, sizeof(*a));
    if (a) a->tail->next = piece;
    else s->ahead->head = piece;
    s->ahead->tail = piece;
    return piece;
}

/* Frees the first piece, and with the last one all of it. */
static void dropPiece(clientIo *s) {
    struct readAhead *a = s->ahead;
    aheadPiece *piece = a->head;
    a->head = piece->next;
    zfree(piece);
    netCounterAdd(&s->owner->pool.large_out, sizeof(aheadPiece));
    if (a->head) return;
    zfree(a);
    s->ahead = NULL;
}

void clientIoDropAhead(clientIo *s) {
    while (s->ahead) dropPiece(s);
}

void clientIoReadAhead(clientIo *s) {
    for (int i = 0; i < READS_AHEAD_PER_EVENT && clientIoMayReadAhead(s); i++) {
        aheadPiece *piece = aheadReserve(s);
        if (!piece) break;
        size_t space = AHEAD_BYTES - piece->len;
        ssize_t n = connRead(s->conn, piece->bytes + piece->len, space);
        netCounterAdd(&s->owner->stats.reads, 1);
        if (n <= 0) {
            s->ahead_ended = n == 0 || s->conn->state != CONN_CONNECTED;
            break;
        }
        netCounterAdd(&s->owner->stats.net_input, (uint64_t)n);
        piece->len += (size_t)n;
        s->ahead->len += (size_t)n;
        if ((size_t)n < space && !connHasPending(s->conn)) break;
    }
    if (s->ahead && s->ahead->len == 0) clientIoDropAhead(s);
    clientIoNoteBytes(s);
}

size_t clientIoTakeAhead(clientIo *s, char *to, size_t most) {
    aheadPiece *piece = s->ahead->head;
    size_t left = piece->len - piece->start, n = most < left ? most : left;
    memcpy(to, piece->bytes + piece->start, n);
    piece->start += n;
    s->ahead->len -= n;
    while (s->ahead && s->ahead->head->start == s->ahead->head->len) dropPiece(s); /* the last one may be empty */
    return n;
}
