/* commandlog_test.c -- the parts of a command that an entry keeps, the logs that it enters, and the form that monitors
 * get.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "commandlog.h"
#include "monitor.h"
#include "redact.h"
#include "unit.h"

#include "client/client_fixture.h"

#include <stdio.h>

static slice args[64];
static parsedCommand request = {.argv = args};

static client *clientWith(uint32_t argc) {
    client *c = fixtureClient(2);
    request.argc = argc;
    c->req = &request;
    c->argv = args;
    c->argc = argc;
    c->commands++;
    return c;
}

static void reset(client *c) {
    slowlogResetCommand(c);
    sdsFree(fixtureReplies(c));
    engine_settings = (engineSettings){.slower_than_us = 10,
                                       .slow_max_len = 3,
                                       .request_larger_than = -1,
                                       .request_max_len = 3,
                                       .reply_larger_than = 100,
                                       .reply_max_len = 0};
}

/* Checks the reply from the arguments on, which follow id and time. */
static void checkEntry(client *c, const char *want) {
    slowlogGetCommand(c);
    sds got = fixtureReplies(c);
    const char *from = strstr(got, "\r\n:10\r\n");
    if (CHECK(from != NULL)) CHECK_EQ_STR(from + 7, want);
    sdsFree(got);
}

TEST(commandlog_enters_by_threshold_and_length) {
    args[0] = sliceStr("get");
    client *c = clientWith(1);
    reset(c);
    CHECK(!commandlogWanted(9999, 1000000, 99));
    CHECK(commandlogWanted(10000, 0, 0));
    CHECK(commandlogWanted(0, 0, 100));
    engine_settings.slower_than_us = -1;
    CHECK(!commandlogWanted(INT64_MAX, 0, 0));
    engine_settings.slower_than_us = 10;
    commandlogRecord(c, 9999, 1000000, 200);
    CHECK_EQ_INT(commandlogLength(COMMANDLOG_SLOW), 0);
    CHECK_EQ_INT(commandlogLength(COMMANDLOG_LARGE_REQUEST), 0);
    CHECK_EQ_INT(commandlogLength(COMMANDLOG_LARGE_REPLY), 0);
    for (int i = 0; i < 5; i++) commandlogRecord(c, 10999, 0, 0);
    CHECK_EQ_INT(commandlogLength(COMMANDLOG_SLOW), 3);
    CHECK(commandlogMemUsage() > 0);
    engine_settings.slow_max_len = 0;
    commandlogRecord(c, 10999, 0, 0);
    CHECK_EQ_INT(commandlogLength(COMMANDLOG_SLOW), 3);
    clientFree(c);
}

TEST(commandlog_cuts_long_arguments) {
    char text[130];
    memset(text, 'x', sizeof(text));
    args[0] = sliceStr("echo");
    args[1] = sliceOf(text, 128);
    args[2] = sliceOf(text, 130);
    client *c = clientWith(3);
    reset(c);
    c->name = sdsNew("me");
    commandlogRecord(c, 10999, 0, 0);
    sds want = sdsCat(sdsEmpty(), "*3\r\n$4\r\necho\r\n$128\r\n");
    want = sdsCatLen(want, text, 128);
    want = sdsCat(want, "\r\n$146\r\n");
    want = sdsCatLen(want, text, 128);
    want = sdsCat(want, "... (2 more bytes)\r\n$13\r\n10.0.0.1:1234\r\n$2\r\nme\r\n");
    c->argc = 2; /* of SLOWLOG GET */
    checkEntry(c, want);
    sdsFree(want);
    clientFree(c);
}

TEST(commandlog_cuts_many_arguments) {
    for (int i = 0; i < 33; i++) args[i] = sliceStr("a");
    for (uint32_t argc = 32; argc <= 33; argc++) {
        client *c = clientWith(argc);
        reset(c);
        commandlogRecord(c, 10999, 0, 0);
        sds want = sdsNew("*32\r\n");
        for (int i = 0; i < 31; i++) want = sdsCat(want, "$1\r\na\r\n");
        want = sdsCat(want, argc == 32 ? "$1\r\na\r\n" : "$22\r\n... (2 more arguments)\r\n");
        want = sdsCat(want, "$13\r\n10.0.0.1:1234\r\n$0\r\n\r\n");
        c->argc = 2;
        checkEntry(c, want);
        sdsFree(want);
        clientFree(c);
    }
}

TEST(redacted_arguments_are_hidden_for_one_command) {
    args[0] = sliceStr("auth");
    args[1] = sliceStr("secret");
    client *c = clientWith(2);
    reset(c);
    redactArgument(c, 1);
    commandlogRecord(c, 10999, 0, 0);
    checkEntry(c, "*2\r\n$4\r\nauth\r\n$10\r\n(redacted)\r\n$13\r\n10.0.0.1:1234\r\n$0\r\n\r\n");
    CHECK(sliceEq(redactedArgument(c, 0), sliceStr("auth")));
    c->commands++;
    CHECK(sliceEq(redactedArgument(c, 1), sliceStr("secret")));
    clientFree(c);
}

TEST(monitor_shows_and_leaves) {
    gateSet(GATE_REPLICA_CLIENT, replicaClientGate);
    args[0] = sliceStr("auth");
    args[1] = sliceOf("q\"\n\0\xff", 5);
    args[2] = sliceStr("secret");
    client *c = clientWith(3);
    monitorInit();
    client *watcher = fixtureClient(2);
    monitorCommand(watcher);
    monitorCommand(watcher);
    CHECK_REPLY(watcher, "+OK\r\n");
    CHECK_EQ_INT(monitor_count, 1);
    redactArgument(c, 2);
    c->db = dbGet(3);
    monitorFeed(c);
    sds got = fixtureReplies(watcher);
    const char *from = strchr(got, '[');
    CHECK(got[0] == '+' && from && from[-1] == ' ' && from[-8] == '.');
    if (from) CHECK_EQ_STR(from, "[3 10.0.0.1:1234] \"auth\" \"q\\\"\\n\\x00\\xff\" \"(redacted)\"\r\n");
    sdsFree(got);
    clientReset(watcher);
    CHECK_EQ_INT(monitor_count, 0);
    CHECK(!(watcher->flags & (CLIENT_MONITOR | CLIENT_REPLICA)));
    monitorCommand(watcher);
    clientFree(watcher);
    CHECK_EQ_INT(monitor_count, 0);
    clientFree(c);
}
