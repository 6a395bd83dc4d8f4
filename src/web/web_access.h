/* web_access.h -- who may look: the users as the thread that serves knows them.
 *
 * Main makes a copy of what matters whenever users change; the copy is never changed, so it can be asked elsewhere.
 *
 * Threads     webAccessMake(), webAccessVersion(): main. The rest: whoever owns the copy.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEB_WEB_ACCESS_H
#define WEB_WEB_ACCESS_H

#include "slice.h"

typedef struct webAccess webAccess;

/* Of the users there are. `is_protected`: protected-mode is on. */
webAccess *webAccessMake(bool is_protected);
void webAccessFree(webAccess *a); /* NULL is fine */
/* Grows whenever users may have changed. */
uint64_t webAccessVersion(void);

/* Whether strangers from other machines are turned away before they have said a word: no password is asked for, and
 * protected-mode is on. */
bool webAccessIsLocal(const webAccess *a);
/* With these: 200, 401 (there is no such user, it is switched off, or this is not its password) or 403 (it may not run
 * INFO). Takes as long for a wrong password as for the right one, and for a user that is not there. With 200
 * `sees_keys` is set: whether it may run HOTKEYS GET. */
int webAccessAsk(const webAccess *a, slice name, slice password, bool *sees_keys);
/* For those who say nothing: 200, 401 or 403. */
int webAccessAskAnonymous(const webAccess *a, bool *sees_keys);

#endif
