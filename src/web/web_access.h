/* web_access.h -- decides who may read metrics, by a copy of the users.
 *
 * Main makes a new copy whenever users change. A copy never changes, so another thread can use it.
 *
 * Threads     webAccessMake(), webAccessVersion(): main. The rest: the thread that owns the copy.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEB_WEB_ACCESS_H
#define WEB_WEB_ACCESS_H

#include "slice.h"

typedef struct webAccess webAccess;

/* Returns a copy of the present users. `is_protected` tells whether protected-mode is on. */
webAccess *webAccessMake(bool is_protected);
void webAccessFree(webAccess *a); /* a may be NULL */
/* Returns a number that grows whenever users may have changed. */
uint64_t webAccessVersion(void);

/* Returns true if only peers on this machine may connect: no password is set, and protected-mode is on. */
bool webAccessIsLocal(const webAccess *a);
/* Checks a user's name and password. Returns 200, 401 (there is no such user, it is disabled, or the password is wrong)
 * or 403 (it may not run INFO). Takes the same time for a right password, a wrong one, and an unknown user. With 200 it
 * sets *may_see_keys if the user may run HOTKEYS GET. */
int webAccessCheck(const webAccess *a, slice name, slice password, bool *may_see_keys);
/* Returns 200, 401 or 403 for a request without credentials. */
int webAccessCheckAnonymous(const webAccess *a, bool *may_see_keys);

#endif
