/* acl_check.h -- checks whether a user may run a command with given arguments.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_ACL_CHECK_H
#define ENGINE_ACL_CHECK_H

#include "acl_user.h"

/* The reason of a refusal. If all selectors of a user refuse, the reason that is last in this order is returned. */
typedef enum {
    ACL_ALLOWED,
    ACL_NO_DB,
    ACL_NO_COMMAND,
    ACL_NO_KEY,
    ACL_NO_AUTH,
    ACL_NO_CHANNEL,
    ACL_NO_CERT
} aclVerdict;

/* A command with its arguments, of which there may be too few or too many (function acl_check_cmd of scripts). */
typedef struct aclQuestion {
    const serverCommand *cmd;
    const slice *argv;
    uint32_t argc;
    const requestKey *keys; /* as extracted for the record; NULL: not extracted yet */
    uint32_t nkeys;
    int dbid; /* the selected database */
} aclQuestion;

/* Memory for keys that are not in the question. */
typedef struct aclKeys {
    requestKey few[8], *more; /* owns */
} aclKeys;
/* Returns the keys to check, with the flags that these arguments give them. Arguments that cannot be parsed yield none:
 * the command itself will reply with the error. The keys are in the question or in `buffer`; the caller frees
 * buffer->more. */
const requestKey *aclKeysOf(const aclQuestion *q, aclKeys *buffer, uint32_t *count);
/* Returns the access that a user needs to a key with these CMD_KEY_ flags: ACL_READ, ACL_WRITE, both or none. */
unsigned aclAccessOf(uint32_t key_flags);
/* Returns whether a user needs access to the selected database for the command. */
bool aclUsesSelectedDb(const serverCommand *cmd);

/* Checks the command. *index gets the index of the argument that is refused; 0: the command itself. */
aclVerdict aclCheck(const user *u, const aclQuestion *q, uint32_t *index);
/* Returns whether the user may read any key with this command. */
bool aclMayReadAll(const user *u, const serverCommand *cmd);
/* Returns whether the user may read the key, with any command, in that database (-1: in all databases). */
bool aclMayRead(const user *u, slice key, int dbid);
/* Returns whether the user may subscribe to the channel. A pattern must be identical to one that the user is
 * allowed. */
bool aclMaySubscribe(const user *u, slice name, bool is_pattern);

/* Looks up the commands that are special here. Call once at startup, when all commands are registered. */
void aclCheckInit(void);

/* --- ACL LOG: recent refusals (acl_log.c) ------------------------------------------------------------------------- */

typedef enum { ACL_IN_TOPLEVEL, ACL_IN_MULTI, ACL_IN_LUA } aclContext;

/* Logs and counts a refusal. `object` is the command, key, channel, database or user name that was refused. Equal
 * refusals within a minute become one entry with a count. */
void aclLogAdd(const client *c, aclVerdict verdict, aclContext context, slice object, slice user_name);
/* Replies with the newest `count` entries (ACL LOG [count]). */
void aclLogReply(client *c, long long count);
/* Removes all entries (ACL LOG RESET). */
void aclLogReset(void);

#endif
