/* session_fan.h -- messages for many clients, on their way from main to the owner threads and back.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_SESSION_FAN_H
#define NET_SESSION_FAN_H

#include "messages.h"
#include "session_hold.h"

/* Hands over all runs (client/fan_out.h), before other pending output. They are sent when `mark` is reached; NULL:
 * now. */
void sessionFanFlush(const outputMark *mark);
/* Handles a batch that an owner thread has delivered; takes ownership of it. */
void sessionFanned(fanBatch *batch);

#endif
