/* identity.h -- the run ID, and the product name and version that clients see.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ADMIN_IDENTITY_H
#define ADMIN_IDENTITY_H

#include "connection_cmds.h"

/* Returns the run ID: 40 random hexadecimal digits, which are drawn at the first call. */
const char *identityRunId(void);
/* Returns the name for error texts: "Valkey", or "Redis" with extended-redis-compatibility. */
const char *identityProduct(void);
/* Returns what HELLO replies about the server; for connectionSetIdentity(). */
serverIdentity identityForHello(void);

#endif
