/* net.h -- the net layer as the server sees it: start it, and its part of each turn of main's loop.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_NET_H
#define NET_NET_H

#include "ae.h"
#include "client.h"
#include "net_settings.h"
#include "net_stats.h"

/* Boot, after settings are read: thread 0 around `loop`, the free sink, the hooks of the client layer. */
void netInit(aeEventLoop *loop);
/* Open the listening sockets of bind, port and unixsocket, and start the I/O threads. False with a log line when one
 * that is required fails. */
bool netListen(void);
/* Close the listeners (shutdown). */
void netStopListening(void);
/* Main's part before it waits: take messages, execute batches, send replies, close clients. Calls aeDontWait() when
 * work is left. */
void netBeforeSleep(aeEventLoop *loop);
void netAfterSleep(void);
/* Ten times a second: idle clients, thread count, load. */
void netCron(void);
/* Send what clients are owed as far as sockets take it, then stop the threads (shutdown). */
void netShutdown(void);

int netActiveThreads(void); /* io_threads_active */
/* "name=tcp,bind=...,port=6379" of listener i for INFO; false past the end. */
bool netListenerInfo(int i, char *out, size_t size);

/* Put settings that changed at run time into force; for setting.apply. */
bool netApplyThreads(const char **err);
/* Raise the limit of descriptors to what maxclients needs; false when the system does not allow so many. */
bool netApplyMaxClients(const char **err);
/* Descriptors that are not clients: listeners, logs, threads, files. */
#define NET_RESERVED_FDS 96

#endif
