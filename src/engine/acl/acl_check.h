/* acl_check.h -- may a user run a command with these arguments?
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_ACL_CHECK_H
#define ENGINE_ACL_CHECK_H

#include "acl_user.h"

/* Why not. Of several selectors the one counts that comes furthest in this order. */
typedef enum {
    ACL_ALLOWED,
    ACL_NO_DB,
    ACL_NO_COMMAND,
    ACL_NO_KEY,
    ACL_NO_AUTH,
    ACL_NO_CHANNEL,
    ACL_NO_CERT
} aclVerdict;

/* A command and its arguments, of which there may be too few or too many (the function acl_check_cmd of scripts). */
typedef struct aclQuestion {
    const serverCommand *cmd;
    const slice *argv;
    uint32_t argc;
    const requestKey *keys; /* as they were extracted with the record; NULL: they have not been */
    uint32_t nkeys;
    int dbid; /* selected */
} aclQuestion;

/* The keys that are asked for, with the flags that these arguments give them. What cannot be parsed names none: the
 * command itself will say what is wrong. They lie in the question or in `room`, whose `more` is the caller's. */
typedef struct aclKeys {
    requestKey few[8], *more; /* owns */
} aclKeys;
const requestKey *aclKeysOf(const aclQuestion *q, aclKeys *room, uint32_t *count);
/* ACL_READ, ACL_WRITE: what a user must be allowed for a key with these CMD_KEY_ flags. */
unsigned aclAccessOf(uint32_t key_flags);
/* Whether a user must be allowed the selected database for the command. */
bool aclUsesSelectedDb(const serverCommand *cmd);

/* With the argument that is refused (0: the command itself). */
aclVerdict aclCheck(const user *u, const aclQuestion *q, uint32_t *index);
/* Whether it may read any key with this command. */
bool aclMayReadAll(const user *u, const serverCommand *cmd);
/* Whether it may read the key, by whatever command, in that database (-1: in all). */
bool aclMayRead(const user *u, slice key, int dbid);
/* Whether a subscriber may listen: for a pattern it must stand there letter by letter. */
bool aclMaySubscribe(const user *u, slice name, bool is_pattern);

/* Resolve the names of commands that are special here. Boot, once, when all are registered. */
void aclCheckInit(void);

#endif
