/* redact.c -- hides arguments that logs and monitors must not show.
 *
 * The list of hidden arguments is for one command at a time. The client's id and its count of commands identify that
 * execution uniquely, so nothing needs to be cleared when the next command starts.
 *
 * Not here    which arguments are secrets: each handler knows its own.
 * Owns        a list of argument positions, which grows as needed.
 * Threads     main.
 * Tests       tests/unit/engine/observe/commandlog_test.c, tests/engine/acl.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "redact.h"

#include <string.h>

#include "call_after.h"
#include "command_table.h"
#include "panic.h"
#include "zmalloc.h"

static struct {
    uint64_t client_id;
    long long commands;
    uint32_t *hidden; /* owns */
    size_t count, capacity;
} redactions;

static bool redactionsAreFor(const client *c) {
    return redactions.client_id == c->id && redactions.commands == c->commands;
}

void redactArgument(client *c, uint32_t index) {
    assertMainRole();
    if (!redactionsAreFor(c)) {
        redactions.client_id = c->id;
        redactions.commands = c->commands;
        redactions.count = 0;
    }
    redactions.hidden = zgrowArray(redactions.hidden, redactions.count, &redactions.capacity, sizeof(uint32_t));
    redactions.hidden[redactions.count++] = index;
    call_after |= CALL_AFTER_WIPE;
}

bool redactIsHidden(const client *c, uint32_t index) {
    if (redactions.count == 0 || !redactionsAreFor(c)) return false;
    for (size_t i = 0; i < redactions.count; i++)
        if (redactions.hidden[i] == index) return true;
    return false;
}

slice redactedArgument(const client *c, uint32_t index) {
    assertMainRole();
    return redactIsHidden(c, index) ? sliceStr("(redacted)") : c->req->argv[index];
}

void redactCopied(const parsedCommand *p, const parsedCommand *copy) {
    if (!(p->cmd->flags & (CMD_NOSCRIPT | CMD_SECRETS))) return;
    for (uint32_t i = 1; i < p->argc; i++)
        if (p->argv[i].ptr != copy->argv[i].ptr) explicit_bzero((char *)p->argv[i].ptr, p->argv[i].len);
}

/* The arguments of clients with a connection are in request blocks, which the server may write to. Others are not
 * overwritten. */
void redactWipe(const client *c) {
    assertMainRole();
    if (!(c->flags & CLIENT_FAKE) && redactionsAreFor(c)) {
        for (size_t i = 0; i < redactions.count; i++) {
            slice arg = c->req->argv[redactions.hidden[i]];
            explicit_bzero((char *)arg.ptr, arg.len);
        }
    }
    redactions.count = 0;
    call_after &= ~CALL_AFTER_WIPE;
}
