/* connection_cmds.h -- what HELLO replies with: facts about the server, and its modules.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef COMMANDS_CONNECTION_CMDS_H
#define COMMANDS_CONNECTION_CMDS_H

#include "client.h"

typedef struct serverIdentity {
    const char *name, *version; /* "valkey" "9.1.2" */
    const char *mode, *role;    /* "standalone" "master" */
    slice availability_zone;    /* empty: not shown */
} serverIdentity;

/* Sets the function from which HELLO gets the identity. Call only at startup, before the first HELLO. */
void connectionSetIdentity(serverIdentity (*identity)(void));

/* --- module_cmds.c --- */
/* Adds the list of modules to the reply, in the form of MODULE LIST and HELLO. */
void replyModules(client *c);

#endif
