/* client_fixture.h -- a client whose replies a test can read, without a socket.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_CLIENT_FIXTURE_H
#define TESTS_CLIENT_FIXTURE_H

#include "bio.h"
#include "client.h"
#include "client_check.h"
#include "panic.h"
#include "reply.h"

/* An I/O half that is never accessed: the client counts as connected. */
static char fixture_io;

static inline void fixtureNoJob(void *arg) { unused(arg); }

/* Starts the background threads once in a program, for work that large tables leave to them. Drain them at the end.
 * Waits until each has begun: a thread that begins later frees what it was started with, and tests count bytes. */
__attribute__((weak)) bool fixture_has_background;
static inline void fixtureBackground(void) {
    if (fixture_has_background) return;
    fixture_has_background = true;
    bioInit(NULL);
    for (int kind = 0; kind < BIO_KINDS; kind++) {
        bioSubmit((bioKind)kind, fixtureNoJob, NULL);
        bioDrain((bioKind)kind);
    }
}

static inline void fixtureInit(void) {
    if (client_state.clients) return;
    panicSetMainThread();
    clockInit();
    panicSetMainThread();
    if (!dbGet(0)) dbInit(16);
    clientsInit();
}

static inline client *fixtureClient(int resp) {
    fixtureInit();
    client *c = clientCreate((struct clientIo *)(void *)&fixture_io, 7, "10.0.0.1:1234", "10.0.0.2:6379", false);
    c->resp = resp;
    return c;
}

/* Returns the output since the last call as an sds, and accounts for it as written. */
static inline sds fixtureReplies(client *c) {
    clientCheck(c);
    replyBlock *chain = clientTakeReplies(c);
    sds out = replyBlockCatChain(sdsEmpty(), chain);
    clientOutputWritten(c, chain, sdsLen(out));
    clientCheck(c);
    return out;
}

#define CHECK_REPLY(c, want)          \
    do {                              \
        sds got_ = fixtureReplies(c); \
        CHECK_EQ_STR(got_, want);     \
        sdsFree(got_);                \
    } while (0)

#endif
