/* fan_out.h -- one message for many clients: main makes its bytes once, the owner threads of the connections write
 * them.
 *
 *   PUBLISH --> fanOut() --> fanRun: bytes for RESP2, bytes for RESP3, its clients --> net, once per flush
 *
 * A client becomes part of a run if it has no pending output; otherwise it gets a copy of the message after that
 * output. Consecutive messages to the same audience are merged into one run, as long as none of its clients gets other
 * output in between: then a message costs its own bytes, however many clients read it.
 *
 * The bytes of a run do not count as output of a client until a socket has refused them (clientOutputKept()). Therefore
 * runs and batches have a limit of their own: beyond FAN_BYTES_MAX clients get copies, which output limits cover.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLIENT_FAN_OUT_H
#define CLIENT_FAN_OUT_H

#include "client.h"

/* A message in RESP without its first byte, which depends on the protocol version. `head` begins with the number of
 * elements; `body` and `tail` may be empty. */
typedef struct fanText {
    slice head, body, tail;
} fanText;

/* Returns the first byte of a message for clients that use RESP version `resp`. */
static inline char fanMark(int resp) { return resp == 2 ? '*' : '>'; }

#define FAN_BYTES_MAX ((size_t)32 << 20)

/* The clients that are to get a message. */
typedef struct fanAudience {
    client *const *clients;
    size_t count;
    uint64_t version; /* identifies these clients in this order: each change of the list gives a new version */
} fanAudience;

/* One or more messages and the clients that get them: clients with RESP2 from the start of clients[], those with RESP3
 * from its end, backwards. */
typedef struct fanRun {
    struct fanRun *next;
    uint64_t audience;
    robj *bytes[2];  /* owns: for RESP2, for RESP3; NULL if no client uses it */
    size_t count[2]; /* clients */
    size_t capacity; /* capacity of clients[] */
    client *clients[];
} fanRun;

/* Sends a copy of the message to each client of the audience. */
void fanOut(const fanAudience *to, const fanText *t);
/* Returns all runs since the last call, oldest first; the caller takes ownership. Call when main hands output over. */
fanRun *fanTakeRuns(void);
/* Returns true if fanTakeRuns() would return a run. */
bool fanHasRuns(void);
void fanRunFree(fanRun *run); /* releases its bytes, too */
/* Add to, and subtract from, the memory of batches that are on their way to owner threads and back. */
void fanMemoryAdd(size_t bytes);
void fanMemoryDrop(size_t bytes);
/* Returns the i-th client of a run that uses RESP2 (`protocol` 0) or RESP3 (1). */
static inline client *fanRunClient(const fanRun *run, int protocol, size_t i) {
    return run->clients[protocol == 0 ? i : run->capacity - 1 - i];
}

#endif
