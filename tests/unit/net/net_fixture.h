/* net_fixture.h -- shared by the tests of net: thread 0, commands to parse and run, connections over socket pairs.
 *
 * The threads, the command table and the databases exist once in a program; netFixtureInit() makes them for the first
 * test that runs. Messages to main go to sessionDeliver() unless a test sets `fixture_deliver`.
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
/* Replaces netDelegatedIteration() on the thread that has taken the main role, while `fixture_deliver` is set. */
extern iterationEnd (*fixture_iterate)(void);
/* Called on an I/O thread before it reports written bytes. Set it only while no thread runs. */
extern void (*fixture_before_report)(const ioOwner *h);
extern sds fixture_log; /* the NOTE command appends to it */

void netFixtureInit(void);
/* Turns off the output limit of subscribers. */
void fixtureNoPubsubLimit(void);
/* Makes a connected pair of non-blocking sockets: TCP over loopback, or Unix. */
void fixturePair(int fds[2], bool tcp);
/* While suspended, iterations only read and parse, and execute nothing. */
void fixtureSuspend(bool suspended);
/* Runs an iteration of main's loop without waiting. */
void fixtureTurn(void);
/* Runs iterations until `done(arg)` holds or about `ms` have passed. Returns whether it holds. */
bool fixtureUntil(bool (*done)(void *arg), void *arg, int ms);
/* Conditions to wait for: no client is left; no client, and no connection on a thread; all threads but main's have
 * ended. */
bool fixtureNoClients(void *arg);
bool fixtureAllIdle(void *arg);
bool fixtureOnlyMain(void *arg);
/* Appends everything that can be read from fd now to *out. Returns false at end of file or on an error. */
bool fixtureReceive(int fd, sds *out);
/* Connects a client on thread 0's side of a pair, as listen.c does; the peer's descriptor is stored in *peer. */
client *fixtureConnect(int *peer, bool tcp);
/* Sends all bytes, with iterations of the loop while the socket is full. */
void fixtureSend(int fd, const void *bytes, size_t len);
/* Runs iterations until `want` bytes have come, or a timeout. */
sds fixtureReceiveBytes(int fd, size_t want);
/* Appends the request in RESP. */
sds catRequest(sds s, int argc, const slice *argv);
sds catWords(sds s, const char *words); /* separated by blanks */

#endif
