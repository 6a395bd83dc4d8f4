/* listen.h -- listening sockets, and what happens to a connection before it is a client.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_LISTEN_H
#define NET_LISTEN_H

#include "ae.h"

/* Open the sockets that bind, port and unixsocket ask for. False with a log line when one that must open does not. */
bool listenOpen(aeEventLoop *loop);
void listenClose(void);
/* bind or port has changed: close all, open what the settings ask for now. False with *err: nothing is open, until the
 * settings are as before and this is called again. */
bool listenReopen(const char **err);
/* Line of INFO about the listeners of kind i, which begins with "name="; false: there are none. */
#define LISTENER_KINDS 3
bool listenInfo(int i, char *out, size_t size);

#endif
