/* listen.h -- listening sockets, and accepted connections until they have a client.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_LISTEN_H
#define NET_LISTEN_H

#include "ae.h"

/* Opens the sockets of bind, port, tls-port and unixsocket. Returns false, with a log line, if a required one cannot be
 * opened or there is none. */
bool listenOpen(aeEventLoop *loop);
void listenClose(void);
/* Call when a port or bind has changed: closes all sockets and opens those of the present settings. Returns false, with
 * *err set, if that fails: nothing is open then until it is called again with the old settings. */
bool listenReopen(const char **err);
/* Writes the INFO text of the listeners of kind i, which begins with "name=". Returns false if there are none. */
#define LISTENER_KINDS 3
bool listenInfo(int i, char *out, size_t size);

#endif
