/* debug_internal.h -- the subcommands of DEBUG that are in other files than debug.c.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ADMIN_DEBUG_INTERNAL_H
#define ADMIN_DEBUG_INTERNAL_H

#include "client.h"

/* Each function runs the subcommand in c->argv[1]. It returns false, without a reply, if the arguments have the wrong
 * form. In debug_data.c: */
bool debugDigest(client *c);
bool debugDigestValue(client *c);
bool debugHtstats(client *c);
bool debugHtstatsKey(client *c);
bool debugListpack(client *c);
bool debugObject(client *c);
bool debugPlainThreshold(client *c);
bool debugPopulate(client *c);
bool debugQuicklist(client *c);
/* In debug_reload.c: */
bool debugReload(client *c);
bool debugLoadAof(client *c);
/* In debug_malloc.c: */
bool debugMallctl(client *c);
bool debugMallctlStr(client *c);

#endif
