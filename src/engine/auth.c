/* auth.c -- who a client is: the default user and its password.
 *
 * Not here    the words of AUTH and HELLO (commands/connection_cmds.c).
 * Owns        nothing: the password is the setting requirepass, read at each use.
 * Threads     main.
 * Cost        a comparison takes as long for a wrong password as for the right one.
 * Tests       tests/unit/commands/connection_cmds_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "auth.h"

#include "call.h"
#include "engine_settings.h"
#include "hash.h"
#include "output_limits.h"
#include "panic.h"
#include "reply.h"
#include "transaction_queue.h"

slice authPassword(void) {
    assertMainRole();
    sds password = engine_settings.requirepass;
    return password ? sdsSlice(password) : sliceOf(NULL, 0);
}

bool authRequired(void) {
    assertMainRole();
    return authPassword().len > 0;
}

bool authUserExists(slice name) {
    assertMainRole();
    return sliceEq(name, sliceStr("default"));
}

/* Digests have one length whatever the passwords have, so that time tells neither length nor common start. */
static bool passwordIs(slice given, slice want) {
    char a[65], b[65];
    unsigned char differ = 0;

    sha256Hex(a, given.ptr, given.len);
    sha256Hex(b, want.ptr, want.len);
    for (size_t i = 0; i < 64; i++) differ |= (unsigned char)(a[i] ^ b[i]);
    return differ == 0;
}

static void setAuthenticated(client *c, bool on) {
    c->authenticated = on;
    c->known |= on;
    gateArmClient(c, GATE_AUTH, !on);
}

bool authClient(client *c, slice user, slice password) {
    assertMainRole();
    slice want = authPassword();

    if (!authUserExists(user) || (want.len && !passwordIs(password, want))) {
        engine_stats.acl_denied_auth++;
        return false;
    }
    setAuthenticated(c, true);
    return true;
}

void authForget(client *c) {
    assertMainRole();
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
