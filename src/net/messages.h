/* messages.h -- what the two halves of a connection tell each other.
 *
 * A message hands over everything it points to. Messages about one stream arrive in the order of posting.
 * docs/THREADS.md says of each what changes hands.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_MESSAGES_H
#define NET_MESSAGES_H

#include "object.h"

struct clientStream;
struct replyBlock;
struct requestBlock;

typedef enum {
    /* to the session */
    IO_MSG_REQUESTS, /* block: parsed commands; reply, written: as with WRITTEN, what is unreported of the stream */
    IO_MSG_WRITTEN,  /* reply: written blocks; bytes: written since the last such message */
    IO_MSG_END,      /* nothing more will come from this stream: end of file, error, or drained; number = endReason */
    IO_MSG_LEFT,     /* the stream is attached nowhere: main may hand it to its next holder */
    IO_MSG_GONE,     /* the connection is closed; reply: unsent and unreported output */
    /* to the stream's holder */
    IO_MSG_JOIN,   /* take this stream */
    IO_MSG_LEAVE,  /* let it go: answer IO_MSG_LEFT */
    IO_MSG_OUTPUT, /* reply: to be written; block: executed, to be reused; number: CLIENT_STREAM_ flags */
    IO_MSG_DRAIN,  /* stop reading, write all, then IO_MSG_END */
    IO_MSG_CLOSE,  /* close now: answer IO_MSG_GONE */
    IO_MSG_FREE    /* free dead objects that this thread allocated: dead */
} messageType;

typedef enum { END_EOF, END_ERROR, END_DRAINED, END_QUERY_LIMIT, END_CROSS_PROTOCOL } endReason;

#define CLIENT_STREAM_AUTHENTICATED 1u /* IO_MSG_OUTPUT, IO_MSG_JOIN: the client is authenticated */

/* Objects on the way back to the thread whose arena they came from. */
#define DEAD_BATCH 62
typedef struct deadBatch {
    size_t n;
    robj *objects[DEAD_BATCH];
} deadBatch;

typedef struct ioMessage {
    uint16_t type;
    uint16_t number;
    uint32_t written; /* IO_MSG_REQUESTS: bytes */
    struct clientStream *stream;
    union {
        struct requestBlock *block;
        size_t bytes;
    };
    union {
        struct replyBlock *reply;
        deadBatch *dead;
    };
} ioMessage;
static_assert(sizeof(ioMessage) == 32, "two messages to a line");

#endif
