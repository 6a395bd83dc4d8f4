/* connection_cmds.h -- the facts about the server that HELLO replies with.
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

/* Sets the function from which HELLO gets the identity. Call only at startup, before the first HELLO. */
void connectionSetIdentity(serverIdentity (*identity)(void));

#endif
