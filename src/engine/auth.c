/* auth.c -- who a client is: it says a name and a password.
 *
 * Not here    users and their passwords (acl.c, acl_user.c), the words of AUTH and HELLO (commands/connection_cmds.c).
 * Owns        nothing.
 * Threads     main.
 * Cost        a comparison takes as long for a wrong password as for the right one.
 * Tests       tests/unit/commands/connection_cmds_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "auth.h"

#include "acl.h"
#include "acl_log.h"
#include "output_limits.h"
#include "panic.h"
#include "reply.h"
#include "transaction_queue.h"

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
    c->authenticated = on;
    c->known |= on;
    gateArmClient(c, GATE_AUTH, !on);
}

bool authClient(client *c, slice name, slice password) {
    assertMainRole();
    user *u = aclUser(name);
    /* A name that is not there takes as long as one with another password. */
    bool right = userPasswordIs(u ? u : aclDefaultUser(), password);
    if (!u || !u->enabled || !right) {
        aclLogAdd(c, ACL_NO_AUTH, ACL_IN_TOPLEVEL, c->argv[0], name);
        return false;
    }
    aclBecome(c, u);
    setAuthenticated(c, true);
    return true;
}

void authForget(client *c) {
    assertMainRole();
    aclBecome(c, aclDefaultUser());
    setAuthenticated(c, !authRequired());
}

gateResult authGate(client *c) {
    assertMainRole();
    if (c->authenticated || !authRequired()) return GATE_PASSED;
    /* Strangers who ask and do not read must not fill memory with refusals. */
    if (!c->known && outputLimitCheckStranger(c)) return GATE_REFUSED;
    if (c->cmd && c->cmd->flags & CMD_NO_AUTH) return GATE_PASSED;
    if (c->req->flags & REQ_PROTOCOL_ERROR) return GATE_PASSED;
    const char *error = "-NOAUTH Authentication required.";
    if (transactionIsExec(c)) transactionRefuseExec(c, error);
    else addReplyError(c, error);
    return GATE_REFUSED;
}
