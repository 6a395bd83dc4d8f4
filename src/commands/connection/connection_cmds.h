/* connection_cmds.h -- what HELLO says about the server.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef COMMANDS_CONNECTION_CMDS_H
#define COMMANDS_CONNECTION_CMDS_H

#include "slice.h"

typedef struct serverIdentity {
    const char *name, *version; /* "valkey" "9.1.2" */
    const char *mode, *role;    /* "standalone" "master" */
    slice availability_zone;    /* empty: not shown */
} serverIdentity;

/* The layer that knows hands in how to ask. Boot only; needed before the first HELLO. */
void connectionSetIdentity(serverIdentity (*identity)(void));

#endif
