/* messages.h -- what the two halves of a connection tell each other.
 *
 * A message hands over everything it points to. Messages about one stream arrive in the order of posting.
 * docs/THREADS.md says of each what changes hands.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_MESSAGES_H
#define NET_MESSAGES_H

#include "reply.h"

struct clientIo;
struct replyBlock;
struct requestBlock;

typedef enum {
    /* to the session */
    IO_MSG_REQUESTS, /* block: parsed commands; reply, written: as with WRITTEN, what is unreported of the stream */
    IO_MSG_WRITTEN,  /* reply: written blocks; bytes: written since the last such message */
    IO_MSG_END,      /* nothing more will come from this stream: end of file, error, or drained; number = endReason */
    IO_MSG_HANGUP,   /* the peer has gone, behind bytes that are not read while main is so far behind */
    IO_MSG_LEFT,     /* the stream is attached nowhere: main may hand it to its next holder */
    IO_MSG_GONE,     /* the connection is closed; reply: unsent and unreported output */
    IO_MSG_NAMED,    /* names: of the peer's certificate; nothing is read before the answer, CLIENT_STREAM_ADMITTED */
    IO_MSG_GREETED,  /* the handshake is over, by a thread that reads nothing: the stream is to move */
    IO_MSG_FANNED,   /* fan: delivered; of no one stream */
    /* to the stream's holder */
    IO_MSG_JOIN,   /* take this stream */
    IO_MSG_LEAVE,  /* let it go: answer IO_MSG_LEFT */
    IO_MSG_OUTPUT, /* reply: to be written; block: executed, to be reused; number: CLIENT_STREAM_ flags */
    IO_MSG_FAN,    /* fan: the same bytes for many streams of this holder; of no one stream */
    IO_MSG_DRAIN,  /* stop reading, write all, then IO_MSG_END */
    IO_MSG_CLOSE,  /* close now: answer IO_MSG_GONE */
    IO_MSG_FREE    /* free dead objects that this thread allocated: dead, or NULL; number: IO_FREE_, or 0 */
} messageType;

typedef enum { END_EOF, END_ERROR, END_DRAINED, END_QUERY_LIMIT, END_CROSS_PROTOCOL } endReason;

#define CLIENT_STREAM_AUTHENTICATED 1u /* IO_MSG_OUTPUT, IO_MSG_JOIN: the client is authenticated */
#define CLIENT_STREAM_ADMITTED 2u      /* the same: what IO_MSG_NAMED has said was looked at */

#define IO_FREE_CACHE 1u    /* IO_MSG_FREE: and give back what the allocator keeps for the thread, which is idle */
#define IO_FREE_HOT_KEYS 2u /* the same: and what it has counted for a session of HOTKEYS that is over */

/* Objects on the way back to the thread that made them. */
#define DEAD_BATCH 62
typedef struct deadBatch {
    size_t n;
    robj *objects[DEAD_BATCH];
} deadBatch;

/* A stream that is to be sent the bytes of a batch. */
typedef struct fanEntry {
    struct clientIo *io;   /* NULL: is not, any more */
    struct fanEntry *next; /* holder: of those that the stream is to be sent, in order */
    const struct fanBatch *batch;
} fanEntry;

/* What a socket has not taken of them. */
typedef struct fanKept {
    struct clientIo *io;
    keptOutput output;
    uint32_t refs; /* to the bytes: to be counted */
} fanKept;

/* The same bytes for many streams of one holder (client/fan_out.h): main makes it, the holder gives it back. */
typedef struct fanBatch {
    struct fanBatch *next; /* holder: of those that are to be written */
    robj *bytes;           /* counted: main drops it */
    slice text;            /* in it */
    fanKept *kept;         /* owns */
    size_t kept_count, kept_room;
    size_t count;
    fanEntry entries[];
} fanBatch;

typedef struct ioMessage {
    uint16_t type;
    uint16_t number;
    uint32_t written; /* IO_MSG_REQUESTS: bytes */
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
