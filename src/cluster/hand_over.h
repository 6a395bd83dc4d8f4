/* hand_over.h -- a primary that shuts down lets one of its replicas take over (SHUTDOWN FAILOVER).
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLUSTER_HAND_OVER_H
#define CLUSTER_HAND_OVER_H

#include "platform.h"

/* Names a replica that has the whole replication stream, in the stream, as the one that begins a failover. Returns
 * false, after a log line that says why, if this node serves no slots or no replica can take over. Writes must be
 * paused from here on: the successor would not have them. */
bool clusterHandOver(void) must_check;
/* Returns whether another node has taken over: this node is no primary any more. */
bool clusterIsHandedOver(void) must_check;

#endif
