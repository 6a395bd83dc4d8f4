/* redirect.c -- redirects clients from a replica to its primary, if they support that (CLIENT CAPA redirect).
 *
 * The gate (primary_link.c) redirects their commands that write, and also those that read unless the client has sent
 * READONLY.
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
