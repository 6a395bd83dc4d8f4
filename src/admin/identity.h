/* identity.h -- the names by which this run of the server is known.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ADMIN_IDENTITY_H
#define ADMIN_IDENTITY_H

#include "connection_cmds.h"

/* 40 hexadecimal digits, drawn at the first call. */
const char *identityRunId(void);
/* "Valkey", or "Redis" for those who expect that (extended-redis-compatibility), in error texts. */
const char *identityProduct(void);
/* What HELLO says; for connectionSetIdentity(). */
serverIdentity identityForHello(void);

#endif
