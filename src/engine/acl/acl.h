/* acl.h -- which users there are, who a client is, and what it may do.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_ACL_H
#define ENGINE_ACL_H

#include "acl_check.h"
#include "gates.h"
#include "rax.h"

/* Boot: when all commands are registered and before the configuration is read. The user "default" is there from then
 * on, and may do everything without a password. */
void aclInit(void);
user *aclDefaultUser(void);
user *aclUser(slice name); /* NULL: there is none */
size_t aclUsers(void);
/* There is the default user alone, who may do everything, with the password of requirepass or none. */
bool aclIsPlain(void);
/* Grows whenever users have changed, have come or have gone: who has noted something about them looks again then. */
uint64_t aclVersion(void);
/* By name. `fn` changes none. */
void aclEachUser(void (*fn)(void *arg, const user *u), void *arg);

/* ACL SETUSER: all words or none, on a user that is made if it is not there. NULL, or the text of an error, which is
 * the caller's: for the client that has sent the words, or for a log, where it shows no password. Clients of the user
 * are under the new rules at once. */
sds aclSetUser(slice name, const slice *words, int count, bool for_log) must_check;
/* How many of them there were. Their clients are let go; the caller does not ask for the default user. */
size_t aclDeleteUsers(const slice *names, size_t count);
/* These take the place of all there are; `users` is given away. Clients of who is not among them are let go. Where
 * there is no default user among them it is as at the start. */
void aclReplaceUsers(rax *users);
/* requirepass: it takes the place of all passwords of the default user. */
void aclSetDefaultPassword(slice password);

/* Its user's name; "default" for a client without a connection. */
slice aclUserName(const client *c);
/* The client is that user from now on. */
void aclBecome(client *c, user *u);
/* After the reply to a command that has changed users: who may not stay, now that it has, goes behind it. */
void aclAfterReply(client *c);
/* The entry of GATE_ACL, which is armed for each client whose user may not do everything. */
gateResult aclGate(client *c);
/* The same for a command of a transaction when EXEC comes to it: rules may have changed since it was queued. False
 * after an error. */
bool aclAskQueued(client *c, const parsedCommand *req) must_check;
static inline bool aclMayRunQueued(client *c, const parsedCommand *req) {
    return likely(!(c->gates >> GATE_ACL & 1)) || aclAskQueued(c, req);
}
/* The same for a command that has waited for a key, when it is to have what has come. */
bool aclAskServed(client *c, const parsedCommand *req) must_check;
static inline bool aclMayBeServed(client *c, const parsedCommand *req) {
    return likely(!(c->gates >> GATE_ACL & 1)) || aclAskServed(c, req);
}
/* The same for a command that a script runs for `c`: `self` is the script's own client, with its database, and gets the
 * error. */
bool aclAskScript(client *c, client *self, const parsedCommand *req) must_check;
/* Whether the running command may read keys that are not among its arguments: the patterns of SORT. */
bool aclMayReadAllKeys(const client *c);
/* Its user may not do everything. */
static inline bool aclIsRestricted(const client *c) {
    return c->user && !c->user->unrestricted;
}
/* Whether its user may read the key in that database; -1: in all of them. */
bool aclMayReadKey(const client *c, slice key, int dbid);
/* Whether there is no database in which it may do less than in others. */
bool aclDbsAreAlike(const client *c);
/* Why not, as ACL DRYRUN says it; appended to an sds. */
sds aclCatRefusal(sds out, const user *u, aclVerdict verdict, const aclQuestion *q, uint32_t index);

#endif
