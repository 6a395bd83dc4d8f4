/* lua_values_test.c -- conversion of Lua values to replies, with each allocation failing in turn.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "lua_values.h"
#include "client_check.h"
#include "clock.h"
#include "panic.h"
#include "reply.h"
#include "sandbox_fixture.h"
#include "unit.h"
#include "zmalloc.h"

static char stream; /* never accessed */

static client *connected(void) {
    if (!client_state.clients) {
        panicSetMainThread();
        clockInit();
        if (!dbGet(0)) dbInit(16);
        clientsInit();
    }
    return clientCreate((struct clientIo *)(void *)&stream, 7, "10.0.0.1:1234", "10.0.0.2:6379", false);
}

static client *to;

/* A lua_CFunction that calls its argument and replies with its result. */
static int callAndReply(lua_State *L) {
    lua_call(L, 0, 1);
    luaReplyValue(L, to, to->resp);
    return 0;
}

/* Returns all output of the client. */
static sds replies(client *c) {
    replyBlock *chain = clientTakeReplies(c);
    sds out = replyBlockCatChain(sdsEmpty(), chain);
    clientOutputWritten(c, chain, sdsLen(out));
    return out;
}

/* Runs with the n-th allocation failing. Returns how many were left before the failure. */
static long convert(const char *code, int resp, long n, sds *said) {
    interpreter in;
    interpreterInit(&in);
    CHECK(sandboxFixtureOpen(&in));
    lua_pushcfunction(in.L, callAndReply);
    CHECK_EQ_INT(luaL_loadstring(in.L, code), 0);
    to = connected();
    to->resp = resp;
    zmallocFailAfter(n);
    bool failed = lua_pcall(in.L, 1, 0, 0) != 0;
    long left = zmallocFailAfter(0);
    bool given_up = failed && addReplyGiveUp(to, NULL);
    CHECK(!given_up || to->flags & CLIENT_CLOSE_ASAP);
    CHECK(to->deferred == NULL);
    replyCheck(to);
    *said = replies(to);
    /* The output is a complete reply, an error alone, or the client is closed. */
    if (to->flags & CLIENT_CLOSE_ASAP) {
        CHECK(clientPopClosing() == to);
        sdsFree(*said);
        *said = NULL;
    } else if (failed) {
        CHECK_EQ_STR(*said, "");
    }
    clientFree(to);
    interpreterFree(&in);
    CHECK_EQ_INT(in.memory, 0);
    return left;
}

TEST(luaReplyValue_each_allocation_of_a_reply_is_refused) {
    static const char *const values[] = {
        "return 1",
        "return {1, 'two', {3, {4}}, true, 2.5}",
        "local t = {} for i = 1, 60 do t = {t, {}} end return t",
        "return {ok = 'fi\\r\\nne'}",
        "return {err = 'ERR b\\nad'}",
        "return {{err = 'ERR bad', ignore_error_stats_update = true}, {ok = string.rep('x', 3000)}}",
        "return {big_number = string.rep('12\\n', 900)}",
        "return {{double = 1.5}, {verbatim_string = {format = 'txt', string = string.rep('y', 4000)}}}",
        "return {map = {a = {1, 2}}}",
        "return {{set = {a = true}}, {map = {b = {map = {c = 1}}}}, string.rep('z', 20000)}",
    };
    for (size_t i = 0; i < array_len(values); i++)
        for (int resp = 2; resp <= 3; resp++) {
            sds want, said;
            convert(values[i], resp, 0, &want);
            CHECK(want && sdsLen(want) > 0);
            bool refused = true;
            for (long n = 1; refused; n++) {
                refused = convert(values[i], resp, n, &said) == 0;
                if (said && sdsLen(said)) CHECK_EQ_STR(said, want);
                sdsFree(said);
            }
            sdsFree(want);
        }
}
