/* sessions.h -- handles messages from connections, and frees clients.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_SESSIONS_H
#define NET_SESSIONS_H

#include "messages.h"

/* Handles a message from a connection (`to_session` of ioThreadHooks). */
void sessionDeliver(const ioMessage *m);
/* Frees the clients that are to be closed. Not while a batch is open. */
void sessionsFreeClosing(void);

#endif
