/* redirect.c -- clients that have said they follow redirections are sent from a replica to its primary.
 *
 * All that they would change or read, unless READONLY has said that a replica's data will do.
 *
 * Threads     main.
 * Tests       tests/repl/redirect.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "redirect.h"

#include "failover.h"
#include "pause.h"
#include "primary_link.h"
#include "repl_settings.h"
#include "reply.h"
#include "transaction_queue.h"

#include <stdio.h>

bool redirectFor(const client *c, char *text) {
    if (!(c->capa & CLIENT_CAPA_REDIRECT) || !primaryLinkWanted()) return false;
    snprintf(text, REDIRECT_MAX, "-REDIRECT %s:%lld", repl_settings.primary_host, repl_settings.primary_port);
    return true;
}

gateResult redirectGate(client *c) {
    char text[REDIRECT_MAX];
    if (!redirectFor(c, text)) return GATE_PASSED;
    uint32_t flags = commandFlagsNow(c), wanted = c->flags & CLIENT_READONLY ? CMD_WRITE : CMD_WRITE | CMD_READONLY;
    if (!(flags & wanted)) return GATE_PASSED;
    if (failoverNow() != FAILOVER_NONE) return pauseGate(c);
    bool exec = transactionIsExec(c);
    addReplyError(c, text);
    if (exec) transactionEnd(c);
    return GATE_REFUSED;
}

void readonlyCommand(client *c) {
    c->flags |= CLIENT_READONLY;
    addReplyOk(c);
}

void readwriteCommand(client *c) {
    c->flags &= ~(uint32_t)CLIENT_READONLY;
    addReplyOk(c);
}
