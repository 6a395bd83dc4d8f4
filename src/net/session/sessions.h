/* sessions.h -- messages from streams, and the end of sessions.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_SESSIONS_H
#define NET_SESSIONS_H

#include "messages.h"

/* A message of a stream has come (the `to_session` of ioThreadHooks). */
void sessionDeliver(const ioMessage *m);
/* Free the clients that are to be closed. Not while a batch is open. */
void sessionsFreeClosing(void);

#endif
