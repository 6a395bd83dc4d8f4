/* acl.h -- the table of users, the user of each client, and the checks of its commands.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_ACL_H
#define ENGINE_ACL_H

#include "acl_check.h"
#include "gates.h"
#include "rax.h"

/* Call at startup, when all commands are registered and before the configuration is read. Creates the user "default",
 * who may do everything without a password. */
void aclInit(void);
/* Returns the user "default", which always exists. */
user *aclDefaultUser(void);
/* Returns the user with this name, or NULL. */
user *aclUser(slice name);
/* Returns the number of users. */
size_t aclUsers(void);
/* Returns whether the default user is the only one and may do everything, with the password of requirepass or none. */
bool aclIsPlain(void);
/* Returns a number that grows whenever users are changed, added or removed, so that callers can tell whether cached
 * facts about them are still valid. */
uint64_t aclVersion(void);
/* Calls `fn` for each user, ordered by name. `fn` must not change the table. */
void aclEachUser(void (*fn)(void *arg, const user *u), void *arg);

/* ACL SETUSER: applies all words or, after an error, none; creates the user if it is absent. Clients of the user are
 * under the new rules immediately. Returns NULL, or an error text that the caller frees. With for_log the text is meant
 * for a log and shows no passwords; otherwise for the client that has sent the words. */
sds aclSetUser(slice name, const slice *words, int count, bool for_log) must_check;
/* Deletes the users with these names, which must not include "default", closes the connections of their clients, and
 * returns how many users there were. */
size_t aclDeleteUsers(const slice *names, size_t count);
/* Replaces all users by `users` (takes ownership). Closes connections of clients whose user is not among them. If there
 * is no default user, one is made as at startup. */
void aclReplaceUsers(rax *users);
/* Replaces all passwords of the default user by that of requirepass; without one, it needs none. */
void aclSetDefaultPassword(slice password);

/* Returns the name of the client's user; "default" for a client without a connection. */
slice aclUserName(const client *c);
/* Makes `u` the client's user. */
void aclBecome(client *c, user *u);
/* Call after the reply to a command that has changed users: closes the client after the reply if that command has
 * deleted its own user, or taken away its right to a channel that it is subscribed to. */
void aclAfterReply(client *c);
/* The check function of GATE_ACL, which is enabled for each client whose user is restricted. */
gateResult aclGate(client *c);
/* Checks a queued command when EXEC runs it: rules may have changed since it was queued. Returns false after an error
 * reply. */
bool aclAllowsQueued(client *c, const parsedCommand *req) must_check;
/* Does the same as aclAllowsQueued(), which it calls only if the user is restricted. */
static inline bool aclMayRunQueued(client *c, const parsedCommand *req) {
    return likely(!(c->gates >> GATE_ACL & 1)) || aclAllowsQueued(c, req);
}
/* Checks a command of a blocked client when it is to be served. Returns false after an error reply. */
bool aclAllowsServed(client *c, const parsedCommand *req) must_check;
/* Does the same as aclAllowsServed(), which it calls only if the user is restricted. */
static inline bool aclMayBeServed(client *c, const parsedCommand *req) {
    return likely(!(c->gates >> GATE_ACL & 1)) || aclAllowsServed(c, req);
}
/* Checks a command that a script runs for `c`. `self` is the script's own client: its database is checked, and it gets
 * the error. */
bool aclAllowsScript(client *c, client *self, const parsedCommand *req) must_check;
/* Returns whether the running command may read keys that are not among its arguments: those of SORT's patterns. */
bool aclMayReadAllKeys(const client *c);
/* Returns whether the client's user may not do everything. */
static inline bool aclIsRestricted(const client *c) { return c->user && !c->user->unrestricted; }
/* Returns whether the client's user may read the key in that database; -1: in all databases. */
bool aclMayReadKey(const client *c, slice key, int dbid);
/* Returns whether the client's user may access all databases, so that they are alike for it. */
bool aclDbsAreAlike(const client *c);
/* Appends the reason of a refusal, in the words of ACL DRYRUN, to `out`. */
sds aclCatRefusal(sds out, const user *u, aclVerdict verdict, const aclQuestion *q, uint32_t index);

#endif
