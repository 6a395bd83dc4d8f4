/* auth.h -- who a client is: the default user and its password.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_AUTH_H
#define ENGINE_AUTH_H

#include "client.h"

/* Make callAuthRequired() tell the truth. Boot only. */
void authInit(void);
const char *authPassword(void); /* NULL: none is needed */

/* Users are named exactly; there is only "default". */
bool authUserExists(slice name);
/* Check a pair and let the client in. False, counted, with the client as it was when it is wrong: no reply is added. */
bool authClient(client *c, slice user, slice password) must_check;
/* As a new connection: in if no password is needed. */
void authForget(client *c);

#endif
