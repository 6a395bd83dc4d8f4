/* redirect.h -- clients that have said they follow redirections are sent from a replica to its primary.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPL_REDIRECT_H
#define REPL_REDIRECT_H

#include "client.h"

/* Whether the client can do with a redirection, and there is a primary: then `text` (of REDIRECT_MAX bytes) is the
 * error that says where to. */
bool redirectFor(const client *c, char *text);
#define REDIRECT_MAX 300

/* What it says of that for reads. */
void readonlyCommand(client *c);
void readwriteCommand(client *c);

#endif
