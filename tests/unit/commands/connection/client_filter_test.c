/* client_filter_test.c -- options of CLIENT LIST and KILL: valid and invalid ones, and the clients that match.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "acl.h"
#include "client_filter.h"
#include "unit.h"

#include "client/client_fixture.h"

#include <stdio.h>

static client *me; /* its id is not known; name and address as below */

static client *clientWithWords(const char *line, slice *argv) {
    if (!me) {
        me = fixtureClient(2);
        if (!aclDefaultUser()) aclInit();
        me->name = sdsNew("me");
    }
    int count;
    static sds *words;
    static int nwords;
    if (words) sdsFreeSplitRes(words, nwords);
    words = sdsSplitArgs(line, &count);
    nwords = count;
    for (int i = 0; i < count; i++) argv[i] = sdsSlice(words[i]);
    me->argv = argv;
    me->argc = (uint32_t)count;
    return me;
}

static bool matches(const char *line) {
    slice argv[32];
    clientFilter f;
    client *c = clientWithWords(line, argv);
    bool ok = clientFilterParse(&f, c, 0, false);
    bool result = ok && clientFilterMatches(&f, c);
    CHECK(ok);
    clientFilterFree(&f);
    CHECK_REPLY(c, "");
    return result;
}

static void refused(const char *line, const char *text) {
    slice argv[32];
    clientFilter f;
    client *c = clientWithWords(line, argv);
    CHECK(!clientFilterParse(&f, c, 0, false));
    clientFilterFree(&f);
    CHECK_REPLY(c, text);
}

TEST(filter_matches_each_criterion_and_its_denial) {
    static const struct {
        const char *yes, *no;
    } rows[] = {
        {"addr 10.0.0.1:1234", "addr 10.0.0.1"},
        {"laddr 10.0.0.2:6379", "laddr x"},
        {"ip 10.0.0.1", "ip 10.0.0.1:1234"},
        {"name me", "name Me"},
        {"db 0", "db 1"},
        {"flags N", "flags NT"},
        {"flags \"\"", "flags T"},
        {"capa \"\"", "capa r"},
        {"type normal", "type replica"},
        {"user default", NULL},
        {NULL, "lib-name \"\""},
        {NULL, "lib-ver \"\""},
        {NULL, "id 999"},
        {NULL, "id"},
    };
    for (size_t i = 0; i < array_len(rows); i++) {
        char denied[64];
        if (rows[i].yes) {
            snprintf(denied, sizeof(denied), "not-%s", rows[i].yes);
            CHECK(matches(rows[i].yes));
            CHECK(!matches(denied));
        }
        if (rows[i].no) {
            snprintf(denied, sizeof(denied), "NOT-%s", rows[i].no);
            CHECK(!matches(rows[i].no));
            CHECK(matches(denied));
        }
    }
}

TEST(filter_last_value_counts_and_ids_add_up) {
    char line[64];
    CHECK(matches("type replica type normal"));
    CHECK(!matches("type normal type replica"));
    snprintf(line, sizeof(line), "id 998 %llu id 999", (unsigned long long)me->id);
    CHECK(matches(line));
    CHECK(!matches("skipme yes"));
    CHECK(matches("skipme yes skipme no"));
    CHECK(!matches("maxage 10"));
    CHECK(!matches("idle 10"));
}

TEST(filter_refuses) {
    refused("name", "-ERR syntax error\r\n");
    refused("foo bar", "-ERR syntax error\r\n");
    refused("id 1 abc", "-ERR syntax error\r\n");
    refused("not-skipme yes", "-ERR syntax error\r\n");
    refused("skipme maybe", "-ERR syntax error\r\n");
    refused("id 1 0", "-ERR client-id should be greater than 0\r\n");
    refused("type foo", "-ERR Unknown client type 'foo'\r\n");
    refused("user nouser", "-ERR No such user 'nouser'\r\n");
    refused("flags NX", "-ERR Unknown flags found in the provided filter: NX\r\n");
    refused("not-flags Q", "-ERR Unknown flags found in the NOT-FLAGS filter: Q\r\n");
    refused("capa z", "-ERR Unknown capa found in the provided filter: z\r\n");
    refused("not-capa q", "-ERR Unknown capa found in the NOT-CAPA filter: q\r\n");
    refused("db abc", "-ERR DB is not an integer or out of range\r\n");
    refused("db 99999999999", "-ERR DB is not an integer or out of range\r\n");
    refused("db 16", "-ERR DB number should be between 0 and 15\r\n");
    refused("not-db -1", "-ERR NOT-DB number should be between 0 and 15\r\n");
    refused("maxage x", "-ERR maxage is not an integer or out of range\r\n");
    refused("idle 0", "-ERR idle should be greater than 0\r\n");
}
