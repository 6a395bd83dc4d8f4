/* acl_log.h -- ACL LOG: recent refusals.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_ACL_LOG_H
#define ENGINE_ACL_LOG_H

#include "acl_check.h"

typedef enum { ACL_IN_TOPLEVEL, ACL_IN_MULTI, ACL_IN_LUA } aclContext;

/* Logs and counts a refusal. `object` is the command, key, channel, database or user name that was refused. Equal
 * refusals within a minute become one entry with a count. */
void aclLogAdd(const client *c, aclVerdict verdict, aclContext context, slice object, slice user_name);
/* Replies with the newest `count` entries (ACL LOG [count]). */
void aclLogReply(client *c, long long count);
/* Removes all entries (ACL LOG RESET). */
void aclLogReset(void);

#endif
