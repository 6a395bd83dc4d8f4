/* connection_cmds_test.c -- the handshake, passwords and CLIENT, from the view of one connection.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "acl.h"
#include "auth.h"
#include "commands.h"
#include "connection_cmds.h"
#include "engine_settings.h"
#include "pause.h"
#include "redact.h"
#include "unit.h"

#include "client/client_fixture.h"
#include "command_fixture.h"

#include <stdio.h>

static serverIdentity identity(void) {
    return (serverIdentity){"valkey", "9.1.2", "standalone", "master", sliceOf("az1", 3)};
}

static void setPassword(const char *text) { aclSetDefaultPassword(sliceStr(text ? text : "")); }

static gateResult redirectGate(client *c) {
    unused(c);
    return GATE_PASSED;
}

static client *newClient(const char *with_password) {
    static bool wired;
    client *c = fixtureClient(2);
    if (!wired) {
        wired = true;
        fixturePubsub();
        fixtureBlocking(NULL);
        if (!aclDefaultUser()) aclInit();
        gateSet(GATE_AUTH, authGate);
        gateSet(GATE_REDIRECT, redirectGate);
        gateSet(GATE_ACL, aclGate);
        gateSet(GATE_PAUSE, pauseGate);
        connectionSetIdentity(identity);
    }
    setPassword(with_password);
    authForget(c);
    return c;
}

/* Runs a handler on the words of a line and returns its replies. */
static sds run(client *c, void (*handler)(client *), const char *line) {
    int count;
    slice argv[16];
    sds *words = sdsSplitArgs(line, &count);
    for (int i = 0; i < count; i++) argv[i] = sdsSlice(words[i]);
    parsedCommand req = {.argv = argv, .argc = (uint32_t)count};
    c->req = &req;
    c->argv = argv;
    c->argc = req.argc;
    c->commands++;
    handler(c);
    c->req = NULL;
    c->argv = NULL;
    c->argc = 0;
    sdsFreeSplitRes(words, count);
    return fixtureReplies(c);
}

#define RUN(c, handler, line, want)       \
    do {                                  \
        sds got_ = run(c, handler, line); \
        CHECK_EQ_STR(got_, want);         \
        sdsFree(got_);                    \
    } while (0)

#define WRONGPASS "-WRONGPASS invalid username-password pair or user is disabled.\r\n"

TEST(auth_without_password_lets_the_default_user_in) {
    client *c = newClient(NULL);
    CHECK(c->authenticated);
    RUN(c, authCommand, "auth default anything", "+OK\r\n");
    RUN(c, authCommand, "auth other x", WRONGPASS);
    RUN(c, authCommand, "auth a b c", "-ERR syntax error\r\n");
    RUN(c, authCommand, "auth x",
        "-ERR AUTH <password> called without any password configured for the default user. Are you sure your "
        "configuration is correct?\r\n");
    clientFree(c);
}

TEST(auth_with_password) {
    client *c = newClient("pw");
    CHECK(!c->authenticated);
    RUN(c, authCommand, "auth pwx", WRONGPASS);
    RUN(c, authCommand, "auth default p", WRONGPASS);
    RUN(c, authCommand, "auth Default pw", WRONGPASS);
    CHECK(!c->authenticated);
    RUN(c, authCommand, "auth pw", "+OK\r\n");
    CHECK(c->authenticated);
    RUN(c, authCommand, "auth bad", WRONGPASS);
    CHECK(c->authenticated);
    RUN(c, resetCommand, "reset", "+RESET\r\n");
    CHECK(!c->authenticated);
    clientFree(c);
}

TEST(hello_changes_all_or_nothing) {
    client *c = newClient("pw");
    sds got = run(c, helloCommand, "hello 3");
    CHECK(strncmp(got, "-NOAUTH HELLO must be called with the client already authenticated, ", 68) == 0);
    sdsFree(got);
    RUN(c, helloCommand, "hello 3 auth default bad setname x", WRONGPASS);
    RUN(c, helloCommand, "hello 3 auth default pw foo", "-ERR Syntax error in HELLO option 'foo'\r\n");
    RUN(c, helloCommand, "hello 3 auth default pw setname \"a b\"",
        "-ERR Client names cannot contain spaces, newlines or special characters.\r\n");
    RUN(c, helloCommand, "hello 4", "-NOPROTO unsupported protocol version\r\n");
    RUN(c, helloCommand, "hello x", "-ERR Protocol version is not an integer or out of range\r\n");
    CHECK(!c->authenticated && c->resp == 2 && c->name == NULL);
    got = run(c, helloCommand, "hello 3 auth default pw setname me");
    CHECK(strstr(got, "%8\r\n$6\r\nserver\r\n$6\r\nvalkey\r\n$7\r\nversion\r\n$5\r\n9.1.2\r\n$5\r\nproto\r\n:3\r\n") ==
          got);
    CHECK(strstr(got, "$17\r\navailability_zone\r\n$3\r\naz1\r\n") != NULL);
    sdsFree(got);
    CHECK(c->authenticated && c->resp == 3);
    CHECK_EQ_STR(c->name, "me");
    clientFree(c);
}

TEST(client_describes_and_names_itself) {
    client *c = newClient(NULL);
    RUN(c, clientGetnameCommand, "client getname", "$-1\r\n");
    RUN(c, clientSetnameCommand, "client setname a", "+OK\r\n");
    RUN(c, clientGetnameCommand, "client getname", "$1\r\na\r\n");
    RUN(c, clientSetnameCommand, "client setname \"\"", "+OK\r\n");
    CHECK(c->name == NULL);
    RUN(c, clientSetinfoCommand, "client setinfo foo bar", "-ERR Unrecognized option 'foo'\r\n");
    RUN(c, clientSetinfoCommand, "client setinfo LIB-VER \"1 0\"",
        "-ERR LIB-VER cannot contain spaces, newlines or special characters.\r\n");
    RUN(c, clientSetinfoCommand, "client setinfo lib-name x", "+OK\r\n");
    CHECK_EQ_STR(c->lib_name, "x");
    RUN(c, clientCapaCommand, "client capa foo redirect", "+OK\r\n");
    CHECK_EQ_INT(c->capa, CLIENT_CAPA_REDIRECT);
    CHECK(c->gates & 1u << GATE_REDIRECT);
    RUN(c, clientNoEvictCommand, "client no-evict foo", "-ERR syntax error\r\n");
    RUN(c, clientNoEvictCommand, "client no-evict on", "+OK\r\n");
    CHECK(c->flags & CLIENT_NO_EVICT);
    RUN(c, clientImportSourceCommand, "client import-source on", "-ERR Server is not in import mode\r\n");
    RUN(c, clientImportSourceCommand, "client import-source off", "+OK\r\n");
    storeSetFollowing((storeFollowing){.on = true, .imports = true});
    RUN(c, clientImportSourceCommand, "client import-source on", "+OK\r\n");
    CHECK(c->flags & CLIENT_IMPORT_SOURCE);
    RUN(c, clientImportSourceCommand, "client import-source foo", "-ERR syntax error\r\n");
    storeSetFollowing((storeFollowing){0});
    RUN(c, clientUnblockCommand, "client unblock 1 foo", "-ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR\r\n");
    RUN(c, clientUnblockCommand, "client unblock 1 error", ":0\r\n");
    clientFree(c);
}

TEST(client_kill_spares_or_ends_itself_after_the_reply) {
    client *c = newClient(NULL), *other = newClient(NULL);
    sdsFree(other->peer);
    other->peer = sdsNew("10.0.0.9:1");
    RUN(c, clientKillCommand, "client kill 1.1.1.1:1", "-ERR No such client\r\n");
    RUN(c, clientKillCommand, "client kill addr 10.0.0.9:1", ":1\r\n");
    CHECK(other->flags & CLIENT_CLOSE_ASAP);
    RUN(c, clientKillCommand, "client kill laddr 10.0.0.2:6379 name x skipme no", ":0\r\n");
    RUN(c, clientSetnameCommand, "client setname killer", "+OK\r\n");
    RUN(c, clientKillCommand, "client kill name killer laddr 10.0.0.2:6379", ":0\r\n");
    CHECK(!(c->flags & CLIENT_CLOSE_AFTER_REPLY));
    char by_id[64];
    snprintf(by_id, sizeof(by_id), "client kill id %llu skipme no", (unsigned long long)c->id);
    RUN(c, clientKillCommand, by_id, ":1\r\n");
    CHECK(c->flags & CLIENT_CLOSE_AFTER_REPLY);
    clientFree(other);
}

TEST(client_pause_checks_its_arguments) {
    client *c = newClient(NULL);
    RUN(c, clientPauseCommand, "client pause abc foo", "-ERR CLIENT PAUSE mode must be WRITE or ALL\r\n");
    RUN(c, clientPauseCommand, "client pause abc", "-ERR timeout is not an integer or out of range\r\n");
    RUN(c, clientPauseCommand, "client pause -1", "-ERR timeout is negative\r\n");
    RUN(c, clientPauseCommand, "client pause 9223372036854775807", "-ERR timeout is out of range\r\n");
    CHECK_EQ_INT(pauseInForce(), PAUSE_NONE);
    RUN(c, clientPauseCommand, "client pause 100000 write", "+OK\r\n");
    CHECK_EQ_INT(pauseInForce(), PAUSE_WRITES);
    RUN(c, clientUnpauseCommand, "client unpause", "+OK\r\n");
    CHECK_EQ_INT(pauseInForce(), PAUSE_NONE);
    clientFree(c);
}
