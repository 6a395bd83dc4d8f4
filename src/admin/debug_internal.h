/* debug_internal.h -- the subcommands of DEBUG that have files of their own.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ADMIN_DEBUG_INTERNAL_H
#define ADMIN_DEBUG_INTERNAL_H

#include "client.h"

/* debug_data.c: c->argv[1] is the subcommand; false when the form of the arguments is wrong: nothing was replied then.
 * */
bool debugDigest(client *c);
bool debugDigestValue(client *c);
bool debugHtstats(client *c);
bool debugHtstatsKey(client *c);
bool debugListpack(client *c);
bool debugObject(client *c);
bool debugPlainThreshold(client *c);
bool debugPopulate(client *c);
bool debugQuicklist(client *c);
/* debug_reload.c: the same. */
bool debugReload(client *c);
bool debugLoadAof(client *c);
/* debug_malloc.c: the same. */
bool debugMallctl(client *c);
bool debugMallctlStr(client *c);

#endif
