/* auth.h -- who a client is: it says a name and a password.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_AUTH_H
#define ENGINE_AUTH_H

#include "gates.h"

/* Whether a new client must tell a password before anything else. */
bool authRequired(void);
/* Whether the default user has no password: AUTH with a password alone is a mistake then. */
bool authDefaultHasNone(void);

/* Check a pair and let the client in as that user. False, counted and logged, with the client as it was when it is
 * wrong or the user is switched off: no reply is added. */
bool authClient(client *c, slice user, slice password) must_check;
/* A new connection has shown a certificate with these names, each of which ends with a zero byte: the client is the
 * first of them that is a user who is switched on, without a password. If none is that is counted and logged, and the
 * client is as it was. */
void authByCertificate(client *c, slice names);
/* A new connection, or one that is as new: the default user's, and in if that needs no password. */
void authForget(client *c);

/* The entry of GATE_AUTH, which is armed for each client that has not authenticated. */
gateResult authGate(client *c);

#endif
