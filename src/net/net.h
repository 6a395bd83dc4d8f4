/* net.h -- the net layer as the server sees it: start and end, and its part of each iteration of main's loop.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_NET_H
#define NET_NET_H

#include "ae.h"
#include "client.h"
#include "io_threads.h"
#include "net_settings.h"

/* Makes thread 0 around `loop`, and registers what the layers below need of this one. Call at startup, after the
 * settings are read. */
void netInit(aeEventLoop *loop);
/* Opens the listening sockets of bind, port and unixsocket, and starts the I/O threads. Returns false, with a log line,
 * if a required socket cannot be opened. */
bool netListen(void);
/* Registers a function to run once in each iteration of main, before its commands, on whatever thread. Call at startup,
 * at most 4 times. */
void netEachIteration(void (*job)(void));
/* The parts of an iteration of main's own loop, set as its hooks of the same names (ae.h). BeforeSleep takes messages,
 * executes batches, sends replies and closes clients. BeforeWait, the last one, releases the main role; AfterSleep
 * acquires it. */
void netBeforeSleep(aeEventLoop *loop, void *arg);
void netBeforeWait(aeEventLoop *loop, void *arg);
void netAfterSleep(aeEventLoop *loop, void *arg);
void netAfterEvent(aeEventLoop *loop, void *arg);
/* Runs an iteration of main on an I/O thread that has acquired the role (`iteration` of ioThreadHooks). */
iterationEnd netDelegatedIteration(void);
/* Serves clients while a command or the startup takes long (yieldSetServe). */
void netServeOthers(void);
/* Call ten times a second: does periodic work for clients (client_cron.h) and ends retired threads. */
void netCron(void);
/* Sends pending output as far as sockets accept it, then stops the threads (shutdown). */
void netShutdown(void);

/* Returns io_threads_active of INFO: I/O threads that take part, 0 while one thread does all. */
int netActiveThreads(void);

/* Apply settings changed at run time; for setting.apply. Return false, with *err set, if the system does not allow as
 * many descriptors as they need. */
bool netApplyThreads(const char **err);
bool netApplyMaxClients(const char **err);

/* Registers the INFO fields of this layer. Call at startup. */
void netInfoRegister(void);

#endif
