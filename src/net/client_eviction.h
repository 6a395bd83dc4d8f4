/* client_eviction.h -- maxmemory-clients: close the clients that cost most when all together cost too much.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_CLIENT_EVICTION_H
#define NET_CLIENT_EVICTION_H

#include "platform.h"

/* From cron, and when the setting changes. Nothing is done while maxmemory-clients is 0. */
void clientEvictionCheck(void);
long long clientEvictionCount(void); /* INFO evicted_clients */
void clientEvictionResetStats(void);

#endif
