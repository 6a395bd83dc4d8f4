/* redact.c -- arguments that logs and monitors must not show.
 *
 * What is hidden is kept for one command at a time, under the client's id and its count of commands, which name
 * one execution for good: nothing needs to be cleared when the next command starts.
 *
 * Not here    which arguments are secrets: each handler knows its own.
 * Owns        one growing list of positions.
 * Threads     main.
 * Tests       tests/unit/engine/commandlog_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "redact.h"

#include "panic.h"
#include "zmalloc.h"

static struct {
    uint64_t client_id;
    long long commands;
    uint32_t *hidden; /* owns */
    uint32_t count, capacity;
} redactions;

static bool isAbout(const client *c) {
    return redactions.client_id == c->id && redactions.commands == c->commands;
}

void redactArgument(client *c, uint32_t index) {
    assertMainRole();
    if (!isAbout(c)) {
        redactions.client_id = c->id;
        redactions.commands = c->commands;
        redactions.count = 0;
    }
    if (redactions.count == redactions.capacity) {
        redactions.capacity = redactions.capacity ? redactions.capacity * 2 : 8;
        redactions.hidden = zrealloc(redactions.hidden, redactions.capacity * sizeof(*redactions.hidden));
    }
    redactions.hidden[redactions.count++] = index;
}

slice redactedArgument(const client *c, uint32_t index) {
    assertMainRole();
    if (redactions.count > 0 && isAbout(c)) {
        for (uint32_t i = 0; i < redactions.count; i++) {
            if (redactions.hidden[i] == index) return sliceStr("(redacted)");
        }
    }
    return c->req->argv[index];
}
