/* reply_error_test.c -- error texts, their counters, and parsing numbers in arguments.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "client_fixture.h"
#include "unit.h"
#include <stdio.h>

static const char *nameOfCommand(const struct serverCommand *cmd) { return (const char *)cmd; }

static long long countOf(const char *code);

static void findCode(void *arg, slice code, long long count) {
    struct {
        const char *name;
        long long count;
    } *want = arg;
    if (sliceEq(code, sliceStr(want->name))) want->count = count;
}

static long long countOf(const char *code) {
    struct {
        const char *name;
        long long count;
    } want = {code, 0};
    clientErrorStatsEach(findCode, &want);
    return want.count;
}

TEST(errors_get_a_code_and_are_counted_by_it) {
    client *c = fixtureClient(2);
    clientErrorStatsReset();
    long long before = client_state.total_error_replies;
    addReplyError(c, "plain");
    CHECK_REPLY(c, "-ERR plain\r\n");
    addReplyError(c, "-NOAUTH go away");
    CHECK_REPLY(c, "-NOAUTH go away\r\n");
    addReplyWrongType(c);
    CHECK_REPLY(c, "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n");
    addReplyErrorFormat(c, "two\r\nlines %d\n", 7);
    CHECK_REPLY(c, "-ERR two  lines 7\r\n");
    addReplyErrorSlice(c, sliceStr("-BARE"));
    CHECK_REPLY(c, "-BARE\r\n");
    CHECK_EQ_INT(countOf("ERR"), 3);
    CHECK_EQ_INT(countOf("NOAUTH"), 1);
    CHECK_EQ_INT(countOf("WRONGTYPE"), 1);
    CHECK_EQ_INT(countOf("BARE"), 0);
    CHECK_EQ_INT(c->error_replies, 5);
    CHECK_EQ_INT(client_state.total_error_replies - before, 5);
    clientFree(c);
}

TEST(errors_count_when_nobody_hears_them) {
    client *c = fixtureClient(2);
    c->flags |= CLIENT_REPLY_OFF;
    addReplySyntaxError(c);
    CHECK(!clientHasReplies(c));
    CHECK_EQ_INT(c->error_replies, 1);
    clientFree(c);
}

TEST(errors_name_the_command) {
    client *c = fixtureClient(2);
    slice argv[] = {sliceStr("config"), sliceStr("nope")};
    clientSetCommandNamer(nameOfCommand);
    c->argv = argv;
    c->argc = 2;
    c->cmd = (const struct serverCommand *)(const void *)"config|get";
    addReplyErrorArity(c);
    CHECK_REPLY(c, "-ERR wrong number of arguments for 'config|get' command\r\n");
    addReplyErrorExpire(c);
    CHECK_REPLY(c, "-ERR invalid expire time in 'config|get' command\r\n");
    addReplyUnknownSubcommand(c);
    CHECK_REPLY(c, "-ERR unknown subcommand 'nope'. Try CONFIG HELP.\r\n");
    addReplySubcommandSyntaxError(c);
    CHECK_REPLY(c, "-ERR unknown subcommand or wrong number of arguments for 'nope'. Try CONFIG HELP.\r\n");
    c->cmd = NULL;
    clientFree(c);
    clientSetCommandNamer(NULL);
}

TEST(codes_of_scripts_beyond_the_first_128_count_together) {
    client *c = fixtureClient(2);
    clientErrorStatsReset();
    char text[64];
    for (int i = 0; i < 140; i++) {
        snprintf(text, sizeof(text), "-CODE%d text", i);
        addReplyErrorOfScript(c, sliceStr(text));
    }
    addReplyErrorOfScript(c, sliceStr("-CODE3 again"));
    CHECK_EQ_INT(countOf("CODE127"), 1);
    CHECK_EQ_INT(countOf("CODE128"), 0);
    CHECK_EQ_INT(countOf("CODE3"), 2);
    CHECK_EQ_INT(countOf("ERRORSTATS_OVERFLOW"), 12);
    addReplyErrorOfScript(c, sliceStr("-WRONGTYPE of a script"));
    addReplyWrongType(c);
    addReplyError(c, "of a command");
    CHECK_EQ_INT(countOf("ERRORSTATS_OVERFLOW"), 13);
    CHECK_EQ_INT(countOf("WRONGTYPE"), 1);
    CHECK_EQ_INT(countOf("ERR"), 1);
    clientErrorStatsReset();
    CHECK_EQ_INT(countOf("CODE3"), 0);
    addReplyErrorOfScript(c, sliceStr("-CODE_OF_30_BYTES_YYYYYYYYYYYYY text"));
    addReplyErrorOfScript(c, sliceStr("-CODE_OF_31_BYTES_YYYYYYYYYYYYYY text"));
    CHECK_EQ_INT(countOf("CODE_OF_30_BYTES_YYYYYYYYYYYYY"), 1);
    CHECK_EQ_INT(countOf("ERR"), 1);
    clientFree(c);
}

TEST(check_type_answers_for_another_type) {
    client *c = fixtureClient(2);
    robj *o = objectCreateString(sliceStr("k"), sliceStr("v"), false, 0);
    CHECK(!checkType(c, NULL, OBJ_LIST));
    CHECK(!checkType(c, o, OBJ_STRING));
    CHECK(!clientHasReplies(c));
    CHECK(checkType(c, o, OBJ_LIST));
    CHECK_REPLY(c, "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n");
    objectRelease(o);
    clientFree(c);
}

TEST(arguments_are_read_or_answered) {
    client *c = fixtureClient(2);
    slice argv[] = {sliceStr("12"), sliceStr("x"), sliceStr("-5"), sliceStr("1.5"), sliceStr("9999999999")};
    long long n = 0;
    double d = 0;
    long double ld = 0;
    int i = 0;
    c->argv = argv;
    c->argc = 5;
    CHECK(getLongLongFromArg(c, 0, &n, NULL) && n == 12);
    CHECK(getDoubleFromArg(c, 3, &d, NULL) && d == 1.5);
    CHECK(getLongDoubleFromArg(c, 3, &ld, NULL) && ld == 1.5L);
    CHECK(getIntFromArg(c, 2, &i, NULL) && i == -5);
    CHECK(!clientHasReplies(c));
    CHECK(!getLongLongFromArg(c, 1, &n, NULL));
    CHECK_REPLY(c, "-ERR value is not an integer or out of range\r\n");
    CHECK(!getLongLongFromArg(c, 1, &n, "mine"));
    CHECK_REPLY(c, "-ERR mine\r\n");
    CHECK(!getRangeLongFromArg(c, 0, 0, 10, &n, NULL));
    CHECK_REPLY(c, "-ERR value is out of range, value must between 0 and 10\r\n");
    CHECK(!getPositiveLongFromArg(c, 2, &n, NULL));
    CHECK_REPLY(c, "-ERR value is out of range, must be positive\r\n");
    CHECK(!getDoubleFromArg(c, 1, &d, NULL));
    CHECK_REPLY(c, "-ERR value is not a valid float\r\n");
    CHECK(!getIntFromArg(c, 4, &i, NULL));
    CHECK_REPLY(c, "-ERR value is out of range, value must between -2147483648 and 2147483647\r\n");
    clientFree(c);
}
