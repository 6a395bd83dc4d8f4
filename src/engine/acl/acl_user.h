/* acl_user.h -- a user: its passwords, and what it may do.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_ACL_USER_H
#define ENGINE_ACL_USER_H

#include "acl_selector.h"

#define PASSWORD_HASH_LEN 64 /* SHA-256 in hexadecimal digits */

typedef struct user {
    sds name; /* owns */
    bool enabled, nopass;
    bool unrestricted;       /* every command on anything: nothing has to be asked */
    bool changed, gone;      /* acl.c's, until its clients have been told */
    aclWords passwords;      /* hashes */
    aclSelector **selectors; /* own: the first is the user's own, the others stand in parentheses */
    uint32_t selectors_count;
} user;

/* Off, without password or permission. */
user *userCreate(slice name);
user *userDup(const user *u);
void userFree(user *u); /* NULL is fine */
/* `u`, to which clients point, becomes what `from` is, which is freed. */
void userTake(user *u, user *from);
/* Apply one word of ACL SETUSER, a selector in parentheses too. NULL, or what is wrong with it; then nothing has
 * changed. */
const char *userApply(user *u, slice word) must_check;
/* Whether it may come in with this password. Takes as long for a wrong one as for the right one. */
bool userPasswordIs(const user *u, slice password);
/* A word of ACL SETUSER as a log may show it, appended to an sds: without what is a password, or may have been meant as
 * one. */
sds aclCatShown(sds out, slice word);
/* As a line of ACL LIST without the word "user": name and words, appended to an sds. */
sds userCat(sds out, const user *u);

/* Words of ACL SETUSER as they were sent: a selector may be spread over several. Returns `count` words or fewer, each
 * whole; *count is changed. The array and the words are the caller's (sdsFreeSplitRes()). NULL when a parenthesis is
 * not closed; then *open is the word where it begins. */
sds *aclJoinWords(const slice *words, int *count, slice *open);

#endif
