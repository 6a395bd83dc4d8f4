/* auth.h -- authentication: makes a client the user whose name and password it sends.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_AUTH_H
#define ENGINE_AUTH_H

#include "gates.h"

/* Returns whether a new client must authenticate before it may do anything else. */
bool authRequired(void);
/* Returns whether the default user has no password: then AUTH with a password alone is an error. */
bool authDefaultHasNone(void);

/* Authenticates the client as that user. Returns false if the name or password is wrong or the user is disabled: then
 * the failure is counted and logged, the client is unchanged, and no reply is added. */
bool authClient(client *c, slice user, slice password) must_check;
/* Authenticates a new connection by its certificate with these names, each of which ends with a NUL. The client becomes
 * the first of them that is an enabled user, without a password. If there is none, the failure is counted and logged
 * and the client is unchanged. */
void authByCertificate(client *c, slice names);
/* Resets the client to the state of a new connection: the default user's, authenticated if that needs no password. */
void authForget(client *c);

/* The check function of GATE_AUTH, which is enabled for each client that has not authenticated. */
gateResult authGate(client *c);

#endif
