/* fan_out.h -- one message for many clients: its bytes are made once, and who holds the connections writes them.
 *
 *   PUBLISH --> fanOut() --> fanRun: bytes for RESP2, bytes for RESP3, who gets them --> net, once a flush
 *
 * A client is in the run when nothing else waits for it here; else it gets a copy behind what waits. Messages to the
 * same audience one after another become one run, as long as nobody of it is sent anything else in between: then a
 * message costs its own bytes, however many are to read it.
 *
 * What a run sends is not counted as a client's output until a socket has refused it (clientOutputKept()). So what runs
 * and batches take has a bound of its own: beyond FAN_BYTES_MAX clients get copies, which output limits see.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLIENT_FAN_OUT_H
#define CLIENT_FAN_OUT_H

#include "client.h"

/* A message on the wire but for its first byte, which the protocol decides: the head begins with the number of
 * elements; the other two may be empty. */
typedef struct fanText {
    slice head, body, tail;
} fanText;

/* How a message begins for who speaks RESP `resp`. */
static inline char fanMark(int resp) {
    return resp == 2 ? '*' : '>';
}

#define FAN_BYTES_MAX ((size_t)32 << 20)

/* Who is to get a message. */
typedef struct fanAudience {
    client *const *clients;
    size_t count;
    uint64_t version; /* of these clients in this order, and no others: another one after every change */
} fanAudience;

/* One or more messages, and who gets them: those who speak RESP2 stand at the start of clients[], those who speak RESP3
 * at its end, backwards. */
typedef struct fanRun {
    struct fanRun *next;
    uint64_t audience;
    robj *bytes[2];  /* owns: of RESP2, of RESP3; NULL when nobody speaks it */
    size_t count[2]; /* clients */
    size_t room;     /* of clients[] */
    client *clients[];
} fanRun;

/* Send the message to all of them (copies it). */
void fanOut(const fanAudience *to, const fanText *t);
/* Main is about to hand output over: all runs since the last time, oldest first. The caller owns them. */
fanRun *fanTakeRuns(void);
/* Whether fanTakeRuns() has something. */
bool fanHasRuns(void);
void fanRunFree(fanRun *run);
/* What is on the way to holders and back takes so much memory more, or less. */
void fanHold(size_t bytes);
void fanLetGo(size_t bytes);
/* The i-th client of a run that speaks RESP2 (`protocol` 0) or RESP3 (1). */
static inline client *fanRunClient(const fanRun *run, int protocol, size_t i) {
    return run->clients[protocol == 0 ? i : run->room - 1 - i];
}

#endif
