/* redirect.h -- redirects clients from a replica to its primary, if they support that (CLIENT CAPA redirect).
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPL_REDIRECT_H
#define REPL_REDIRECT_H

#include "client.h"

/* If the client supports redirections and this server is a replica, writes the error reply that names the primary to
 * `text` (REDIRECT_MAX bytes) and returns true. Else returns false. */
bool redirectFor(const client *c, char *text);
#define REDIRECT_MAX 300

/* Commands by which a client allows or forbids this replica to serve its reads. */
void readonlyCommand(client *c);
void readwriteCommand(client *c);

#endif
