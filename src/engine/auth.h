/* auth.h -- who a client is: the default user and its password.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_AUTH_H
#define ENGINE_AUTH_H

#include "gates.h"

/* Whether a client must tell a password before anything else. */
bool authRequired(void);
slice authPassword(void); /* empty: none is needed */

/* Users are named exactly; there is only "default". */
bool authUserExists(slice name);
/* Check a pair and let the client in. False, counted, with the client as it was when it is wrong: no reply is added. */
bool authClient(client *c, slice user, slice password) must_check;
/* A new connection, or one that is as new: in if no password is needed. */
void authForget(client *c);

/* The entry of GATE_AUTH, which is armed for each client that has not authenticated. */
gateResult authGate(client *c);

#endif
