/* session_fan.h -- messages for many clients, on their way from main to the holders of their streams and back.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_SESSION_FAN_H
#define NET_SESSION_FAN_H

#include "messages.h"
#include "session_hold.h"

/* Hand over all runs that there are (client/fan_out.h), before the output that is pending; when `mark` is reached, or
 * now (NULL). */
void sessionFanFlush(const outputMark *mark);
/* A holder has delivered a batch (takes it). */
void sessionFanned(fanBatch *batch);

#endif
