/* messages.h -- the messages between the two halves of a client: its connection (clientIo) and its session.
 *
 * A message hands over everything that it points to. Messages about one connection arrive in the order of posting.
 * docs/THREADS.md lists what each of them hands over.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_MESSAGES_H
#define NET_MESSAGES_H

#include "reply.h"

struct clientIo;
struct replyBlock;
struct requestBlock;

typedef enum {
    /* from the owner thread, to the session */
    IO_MSG_REQUESTS,   /* block: parsed commands; reply, written: unreported output, as in WRITTEN */
    IO_MSG_WRITTEN,    /* reply: written blocks; bytes: written since the last report */
    IO_MSG_END,        /* the connection has no more input: end of file, error, or drained; number: endReason */
    IO_MSG_HANGUP,     /* the peer closed the connection while it is not read because main is behind */
    IO_MSG_LEFT,       /* the connection is attached to no loop: main may give it to its next owner thread */
    IO_MSG_CLOSED,     /* the connection is closed; reply: unsent and unreported output */
    IO_MSG_NAMED,      /* names: in the peer's certificate; reading waits for the reply, CLIENT_IO_ADMITTED */
    IO_MSG_HANDSHAKEN, /* the handshake thread has finished: the connection is to move to a thread that reads it */
    IO_MSG_FANNED,     /* fan: delivered; concerns many connections, so `io` is unused */
    /* from main, to the connection's owner thread */
    IO_MSG_JOIN,   /* attach this connection */
    IO_MSG_LEAVE,  /* detach it and reply with IO_MSG_LEFT */
    IO_MSG_OUTPUT, /* reply: to be written; block: executed, to be reused; number: CLIENT_STREAM_ flags */
    IO_MSG_FAN,    /* fan: the same bytes for many connections of this thread; `io` is unused */
    IO_MSG_DRAIN,  /* stop reading, write all output, then send IO_MSG_END */
    IO_MSG_CLOSE,  /* close now and reply with IO_MSG_CLOSED */
    IO_MSG_FREE    /* dead: objects to free, which this thread allocated, or NULL; number: IO_FREE_, or 0 */
} messageType;

typedef enum { END_EOF, END_ERROR, END_DRAINED, END_QUERY_LIMIT, END_CROSS_PROTOCOL } endReason;

#define CLIENT_IO_AUTHENTICATED 1u /* IO_MSG_OUTPUT, IO_MSG_JOIN: the client is authenticated */
#define CLIENT_IO_ADMITTED 2u      /* IO_MSG_OUTPUT, IO_MSG_JOIN: main has checked the names in IO_MSG_NAMED */
#define CLIENT_IO_AHEAD 4u         /* IO_MSG_OUTPUT, IO_MSG_JOIN: its commands wait for its output: read ahead */

#define IO_FREE_CACHE 1u    /* IO_MSG_FREE: also return the allocator's cached blocks, as the thread is idle */
#define IO_FREE_HOT_KEYS 2u /* IO_MSG_FREE: also free the counts of a finished HOTKEYS session */

/* Dead objects on the way back to the thread that allocated them. */
#define DEAD_BATCH 62
typedef struct deadBatch {
    size_t n;
    robj *objects[DEAD_BATCH];
} deadBatch;

/* A connection that is to be sent the bytes of a batch. */
typedef struct fanEntry {
    struct clientIo *io;   /* NULL if the connection gets nothing after all */
    struct fanEntry *next; /* owner thread: next entry of the same connection, in order */
    const struct fanBatch *batch;
} fanEntry;

/* Bytes that a socket did not accept and that became output of the connection. */
typedef struct fanKept {
    struct clientIo *io;
    keptOutput output;
    uint32_t refs; /* new references to the bytes, for main to count */
} fanKept;

/* The same bytes for many connections of one thread (client/fan_out.h): main makes it, the owner thread returns it. */
typedef struct fanBatch {
    struct fanBatch *next; /* owner thread: next batch to be written */
    robj *bytes;           /* counted: main drops the reference */
    slice text;            /* the bytes to send, within `bytes` */
    fanKept *kept;         /* owns */
    size_t kept_count, kept_capacity;
    size_t count;
    fanEntry entries[];
} fanBatch;

typedef struct ioMessage {
    uint16_t type;
    uint16_t number;
    uint32_t written; /* IO_MSG_REQUESTS: bytes written since the last report */
    struct clientIo *io;
    union {
        struct requestBlock *block;
        size_t bytes;
    };
    union {
        struct replyBlock *reply;
        deadBatch *dead;
        struct fanBatch *fan;
        char *names; /* owns: an sds (connTlsPeerNames) */
    };
} ioMessage;
static_assert(sizeof(ioMessage) == 32, "two messages to a line");

#endif
