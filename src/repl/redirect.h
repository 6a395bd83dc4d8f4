/* redirect.h -- clients that have said they follow redirections are sent from a replica to its primary.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPL_REDIRECT_H
#define REPL_REDIRECT_H

#include "gates.h"

/* The entry of GATE_REDIRECT, which CLIENT CAPA redirect arms for a client. */
gateResult redirectGate(client *c);
/* Whether the client can do with a redirection: then `text` (of REDIRECT_MAX bytes) is the error that says where to. */
bool redirectFor(const client *c, char *text);
#define REDIRECT_MAX 300

void readonlyCommand(client *c);
void readwriteCommand(client *c);

#endif
