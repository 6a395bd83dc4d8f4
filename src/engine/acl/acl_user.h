/* acl_user.h -- a user: its passwords and its permissions.
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
    bool unrestricted;       /* every command on everything is allowed: no checks are needed */
    bool changed, deleted;   /* acl.c's, while it updates the user's clients */
    aclWords passwords;      /* their hashes */
    aclSelector **selectors; /* owns; the first one is the user's own, the others were given in parentheses */
    uint32_t selectors_count;
} user;

/* Creates a user that is disabled, without password and permissions. */
user *userCreate(slice name);
/* Returns a deep copy. */
user *userDup(const user *u);
void userFree(user *u); /* NULL is allowed */
/* Moves the contents of `from` to `u`, which clients point to, and frees `from`. */
void userTake(user *u, user *from);
/* Applies one word of ACL SETUSER; a selector in parentheses is one word. Returns NULL, or the text of an error; then
 * nothing has changed. */
const char *userApply(user *u, slice word) must_check;
/* Returns whether the password is right. Takes the same time for a wrong password as for the right one. */
bool userPasswordIs(const user *u, slice password);
/* Appends a word of ACL SETUSER to `out` as a log may show it: without passwords and without text that may have been
 * meant as one. */
sds aclCatRedacted(sds out, slice word);
/* Appends the user as a line of ACL LIST, without the word "user": its name and rules. */
sds userCat(sds out, const user *u);

/* Joins the words of ACL SETUSER as they were sent, where a selector may span several words. Returns `count` words or
 * fewer and stores their number in *count; the caller frees them with sdsFreeSplitRes(). Returns NULL if a parenthesis
 * is not closed; then *open is the word with it. */
sds *aclJoinWords(const slice *words, int *count, slice *open);

#endif
