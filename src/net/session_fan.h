/* session_fan.h -- messages for many clients, on their way from main to the holders of their streams and back.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_SESSION_FAN_H
#define NET_SESSION_FAN_H

#include "messages.h"

/* Hand over all runs that there are (client/fan_out.h), before the output that is pending. */
void sessionFanFlush(void);
/* A holder has delivered a batch (takes it). */
void sessionFanned(fanBatch *batch);

#endif
