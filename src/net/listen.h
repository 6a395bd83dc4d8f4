/* listen.h -- listening sockets, accepted connections until they have a client, and the limit of descriptors.
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
void listenClose(void); /* at shutdown */
/* Opens sockets for another port at the addresses of bind, for a caller that accepts on them itself. `fds` can hold
 * BIND_MAX; sets *count. Returns false, with log lines and nothing open, if a required address cannot be opened or
 * there is none. */
bool listenOpenOthers(int port, int *fds, size_t *count) must_check;
/* Call when a port or bind has changed: closes all sockets and opens those of the present settings. Returns false, with
 * *err set, if that fails: nothing is open then until it is called again with the old settings. */
bool listenReopen(const char **err);
/* Writes "name=tcp,bind=...,port=6379" of the listeners of kind i, for INFO. Returns false if there are none. */
#define LISTENER_KINDS 3
bool listenInfo(int i, char *out, size_t size);

/* --- file_limit.c: how many file descriptors the server needs, and the limit of the system ----------------- */
/* Returns how many descriptors are needed for other things than clients: listeners, logs, files, event loops. */
long long fileLimitReserved(void);
/* Returns how many are needed for maxclients clients and everything else. */
long long fileLimitWanted(void);
/* Raises the limit of this process to fileLimitWanted(), or as far as the system allows; never lowers it. Returns the
 * limit now in force, and in *why the errno if that is less. Returns -1, with *why set, if the limit is unknown. */
long long fileLimitRaise(int *why);

#endif
