/* debug_internal.h -- the subcommands of DEBUG that are in other files than debug.c.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ADMIN_DEBUG_INTERNAL_H
#define ADMIN_DEBUG_INTERNAL_H

#include "client.h"

/* Each function runs a subcommand. In debug_data.c: */
void debugDigest(client *c);
void debugDigestValue(client *c);
void debugHtstats(client *c);
void debugHtstatsKey(client *c);
void debugListpack(client *c);
void debugObject(client *c);
void debugPlainThreshold(client *c);
void debugPopulate(client *c);
void debugQuicklist(client *c);
/* In debug_cluster.c; some have a switch instead: */
void debugClusterlink(client *c);
void debugDropFilter(client *c);
void debugDropCloses(bool on);
void debugNoConnects(bool on);
void debugNoRandomPings(bool on);
/* In debug_reload.c: */
void debugReload(client *c);
void debugLoadAof(client *c);
/* In debug_malloc.c: */
void debugMallctl(client *c);
void debugMallctlStr(client *c);

#endif
