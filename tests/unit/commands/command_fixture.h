/* command_fixture.h -- the commands of the layer, and channels, registered once for all test files of a program.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_COMMAND_FIXTURE_H
#define TESTS_COMMAND_FIXTURE_H

#include "blocking.h"
#include "command_defs.h"
#include "command_table.h"
#include "engine.h"
#include "pubsub.h"
#include "transaction_queue.h"

__attribute__((weak)) bool fixture_has_commands;
static inline void fixtureCommands(void) {
    if (!fixture_has_commands) commandsRegister();
    fixture_has_commands = true;
}

/* The commands of engine, and MULTI with its gates. */
__attribute__((weak)) bool fixture_has_transactions;
static inline void fixtureTransactions(void) {
    if (fixture_has_transactions) return;
    fixture_has_transactions = true;
    engineCommandsRegister();
    transactionQueueInit();
    gateSet(GATE_TRANSACTION, transactionGate);
    gateSet(GATE_QUEUE, queueGate);
}

__attribute__((weak)) bool fixture_has_pubsub;
static inline void fixturePubsub(void) {
    if (!fixture_has_pubsub) pubsubInit();
    fixture_has_pubsub = true;
}

/* Blocked clients, and the function of the running test file for a client that is served; NULL if none. */
__attribute__((weak)) void (*fixture_unblocked)(client *c);
__attribute__((weak)) bool fixture_has_blocking;
static inline void fixtureUnblocked(client *c) {
    if (fixture_unblocked) fixture_unblocked(c);
}
static inline void fixtureBlocking(void (*fn)(client *c)) {
    fixture_unblocked = fn;
    if (!fixture_has_blocking) blockingInit(fixtureUnblocked);
    fixture_has_blocking = true;
}

/* Runs a handler for `c` with these arguments, or with the words of a line of at most 16, without what surrounds a
 * command. */
static inline void fixtureRunArgs(client *c, commandHandler *fn, const slice *argv, uint32_t argc) {
    parsedCommand req = {.argv = (slice *)(uintptr_t)argv, .argc = argc};
    c->req = &req;
    c->argv = req.argv;
    c->argc = argc;
    fn(c);
    c->req = NULL;
    c->argv = NULL;
    c->argc = 0;
}
static inline void fixtureRun(client *c, commandHandler *fn, const char *line) {
    slice argv[16];
    int argc;
    sds *words = sdsSplitArgs(line, &argc);
    for (int i = 0; i < argc; i++) argv[i] = sdsSlice(words[i]);
    fixtureRunArgs(c, fn, argv, (uint32_t)argc);
    sdsFreeSplitRes(words, argc);
}

#endif
