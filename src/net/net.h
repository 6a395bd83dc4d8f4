/* net.h -- the net layer as the server sees it: start it, and its part of each turn of main's loop.
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
#include "net_stats.h"

/* Boot, after settings are read: thread 0 around `loop`, and what the layers below ask this one for. */
void netInit(aeEventLoop *loop);
/* Open the listening sockets of bind, port and unixsocket, and start the I/O threads. False with a log line when one
 * that is required fails. */
bool netListen(void);
/* Close the listeners (shutdown). */
void netStopListening(void);
/* Something to be done once in each turn of main, before its commands, on whichever thread. Boot only, at most 4. */
void netEachIteration(void (*job)(void));
/* The parts of a turn of main's own loop, for its hooks of the same names (ae.h). Before it sleeps: take messages,
 * execute batches, send replies, close clients. Before it waits, last: lay main's role down. */
void netBeforeSleep(aeEventLoop *loop);
void netBeforeWait(aeEventLoop *loop);
void netAfterSleep(void);
void netAfterEvent(void);
/* A turn of main on an I/O thread that has borrowed the role (the `turn` of ioThreadHooks). */
iterationEnd netDelegatedIteration(void);
/* Serve others while a command, or a start, works for long (yieldSetServe). */
void netServeOthers(void);
/* Ten times a second: what is done for clients by the clock (client_cron.h), threads that have retired. */
void netCron(void);
/* Send what clients are owed as far as sockets take it, then stop the threads (shutdown). */
void netShutdown(void);

/* io_threads_active: I/O threads that take part, 0 while one thread does all. */
int netActiveThreads(void);
/* "name=tcp,bind=...,port=6379" of listener i for INFO; false past the end. */
bool netListenerInfo(int i, char *out, size_t size);

/* Put settings that changed at run time into force; for setting.apply. False when the system does not allow as many
 * descriptors as they need. */
bool netApplyThreads(const char **err);
bool netApplyMaxClients(const char **err);

/* Put what this layer shows and offers into the tables of the layers below. Boot only. */
void netInfoRegister(void);
void netSettingsRegister(void);

#endif
