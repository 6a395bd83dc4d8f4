/* auth.c -- authentication: makes a client the user whose name and password it sends.
 *
 * Not here    users and their passwords (acl.c, acl_user.c), the arguments of AUTH and HELLO
 *             (commands/connection/connection_cmds.c).
 * Owns        nothing.
 * Threads     main.
 * Cost        a comparison takes as long for a wrong password as for the right one.
 * Tests       tests/unit/commands/connection/connection_cmds_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "auth.h"

#include "acl.h"
#include "acl_check.h"
#include "log.h"
#include "output_limits.h"
#include "panic.h"
#include "reply.h"
#include "transaction_queue.h"

#include <string.h>

bool authRequired(void) {
    assertMainRole();
    const user *u = aclDefaultUser();
    return !u->nopass || !u->enabled;
}

bool authDefaultHasNone(void) {
    assertMainRole();
    return aclDefaultUser()->nopass;
}

static void setAuthenticated(client *c, bool on) {
    debugAssert(!on || c->user);
    c->authenticated = on;
    c->was_authenticated |= on;
    gateEnableClient(c, GATE_AUTH, !on);
}

bool authClient(client *c, slice name, slice password) {
    assertMainRole();
    user *u = aclUser(name);
    /* No comparison for a user without password. Otherwise an unknown or disabled user takes as long as a wrong
     * password. */
    bool open = u && u->enabled && u->nopass;
    bool right = open || userPasswordIs(u ? u : aclDefaultUser(), password);
    if (!u || !u->enabled || !right) {
        aclLogAdd(c, ACL_NO_AUTH, ACL_IN_TOPLEVEL, c->argv[0], name);
        return false;
    }
    aclBecome(c, u);
    setAuthenticated(c, true);
    return true;
}

void authByCertificate(client *c, slice names) {
    assertMainRole();
    for (size_t at = 0, len; at < names.len; at += len + 1) {
        len = strnlen(names.ptr + at, names.len - at);
        user *u = aclUser(sliceOf(names.ptr + at, len));
        if (!u || !u->enabled) continue;
        aclBecome(c, u);
        setAuthenticated(c, true);
        serverLog(LL_VERBOSE, "TLS: authenticated client id=%llu as user '%s' by its certificate",
                  (unsigned long long)c->id, u->name);
        return;
    }
    serverLog(LL_VERBOSE, "TLS: the certificate of client id=%llu has no name of an enabled user",
              (unsigned long long)c->id);
    aclLogAdd(c, ACL_NO_CERT, ACL_IN_TOPLEVEL, sliceOf("", 0), sliceOf(names.ptr, strnlen(names.ptr, names.len)));
}

void authForget(client *c) {
    assertMainRole();
    aclBecome(c, aclDefaultUser());
    setAuthenticated(c, !authRequired());
}

gateResult authGate(client *c) {
    assertMainRole();
    if (c->authenticated || !authRequired()) return GATE_PASSED;
    /* Clients that never authenticated and do not read must not fill the memory with error replies. */
    if (!c->was_authenticated && outputLimitCheckUnauthenticated(c)) return GATE_REFUSED;
    if (c->cmd && c->cmd->flags & CMD_NO_AUTH) return GATE_PASSED;
    if (c->req->flags & REQ_PROTOCOL_ERROR) return GATE_PASSED;
    const char *error = "-NOAUTH Authentication required.";
    transactionRefuse(c, error);
    return GATE_REFUSED;
}
