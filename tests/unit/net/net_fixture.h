/* net_fixture.h -- what the tests of net share: thread 0, commands to parse and run, streams on socket pairs.
 *
 * The threads, the command table and the databases exist once in a program; netFixtureInit() makes them for whichever
 * test comes first. Messages to main go to sessionDeliver() unless a test sets `fixture_deliver`.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_NET_FIXTURE_H
#define TESTS_NET_FIXTURE_H

#include "command_batch.h"
#include "io_threads.h"
#include "net.h"
#include "sds.h"
#include "session_output.h"
#include "sessions.h"

extern aeEventLoop *fixture_loop;
extern void (*fixture_deliver)(const ioMessage *m);
/* Instead of netDelegatedIteration(), on the thread that has taken main's role, while `fixture_deliver` is set. */
extern iterationEnd (*fixture_iterate)(void);
/* On an I/O thread that is about to report what its streams have written. Set while no thread runs. */
extern void (*fixture_before_report)(const ioOwner *h);
extern sds fixture_log; /* the NOTE command appends to it */

void netFixtureInit(void);
/* From now on no subscriber is closed for what it is owed, however long that takes. */
void fixtureNoPubsubLimit(void);
/* A connected pair of non-blocking sockets: TCP over loopback, or Unix. */
void fixturePair(int fds[2], bool tcp);
/* Turns read and parse only; nothing is executed until it ends. */
void fixtureSuspend(bool suspended);
/* One turn of main's loop, which does not wait. */
void fixtureTurn(void);
/* Turns until `done(arg)` holds or about `ms` have gone. */
bool fixtureUntil(bool (*done)(void *arg), void *arg, int ms);
/* To wait for: no client is left; none, nor a stream that a thread holds; and all threads but main's have ended. */
bool fixtureNoClients(void *arg);
bool fixtureAllIdle(void *arg);
bool fixtureOnlyMain(void *arg);
/* Everything that can be read from fd now, appended to *out. False at end of file or on an error. */
bool fixtureReceive(int fd, sds *out);
/* A client on thread 0's side of a pair, as listen.c makes it; the peer's descriptor goes to *peer. */
client *fixtureConnect(int *peer, bool tcp);
/* Send all, with turns of the loop while the socket is full. */
void fixtureSend(int fd, const void *bytes, size_t len);
/* Turns until `want` bytes have come, or a time-out. */
sds fixtureReceiveBytes(int fd, size_t want);
/* The request as RESP, appended. */
sds catRequest(sds s, int argc, const slice *argv);
sds catWords(sds s, const char *words); /* blanks separate */

#endif
