/* acl_log.h -- what users were refused lately: ACL LOG.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_ACL_LOG_H
#define ENGINE_ACL_LOG_H

#include "acl_check.h"

typedef enum { ACL_IN_TOPLEVEL, ACL_IN_MULTI, ACL_IN_LUA } aclContext;

/* Note a refusal, and count it. What was refused is `object`: a command, key, channel, database, or a user's name. The
 * same again within a minute is one entry with a count. */
void aclLogAdd(const client *c, aclVerdict verdict, aclContext context, slice object, slice user_name);
/* ACL LOG [count] and ACL LOG RESET. */
void aclLogReply(client *c, long long count);
void aclLogReset(void);

#endif
