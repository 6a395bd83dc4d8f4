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
} state;

static bool isAbout(const client *c) {
    return state.client_id == c->id && state.commands == c->commands;
}

void redactArgument(client *c, uint32_t index) {
    assertMainRole();
    if (!isAbout(c)) {
        state.client_id = c->id;
        state.commands = c->commands;
        state.count = 0;
    }
    if (state.count == state.capacity) {
        state.capacity = state.capacity ? state.capacity * 2 : 8;
        state.hidden = zrealloc(state.hidden, state.capacity * sizeof(*state.hidden));
    }
    state.hidden[state.count++] = index;
}

slice redactedArgument(const client *c, uint32_t index) {
    assertMainRole();
    if (state.count > 0 && isAbout(c)) {
        for (uint32_t i = 0; i < state.count; i++) {
            if (state.hidden[i] == index) return sliceStr("(redacted)");
        }
    }
    return c->req->argv[index];
}
