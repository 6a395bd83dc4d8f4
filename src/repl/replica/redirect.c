/* redirect.c -- clients that have said they follow redirections are sent from a replica to its primary.
 *
 * All that they would change or read, unless READONLY has said that a replica's data will do.
 *
 * Threads     main.
 * Tests       tests/repl/redirect.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "redirect.h"

#include "repl_settings.h"
#include "reply.h"

#include <stdio.h>

bool redirectFor(const client *c, char *text) {
    if (!(c->capa & CLIENT_CAPA_REDIRECT) || !repl_settings.primary_host) return false;
    snprintf(text, REDIRECT_MAX, "-REDIRECT %s:%lld", repl_settings.primary_host, repl_settings.primary_port);
    return true;
}

void readonlyCommand(client *c) {
    c->flags |= CLIENT_READONLY;
    addReplyOk(c);
}

void readwriteCommand(client *c) {
    c->flags &= ~CLIENT_READONLY;
    addReplyOk(c);
}
