/* reply_text_test.c -- replies parsed into trees and printed in each style.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "reply_text.h"
#include "unit.h"

typedef struct sample {
    const char *wire, *pretty, *raw, *csv, *json;
} sample;

static const sample samples[] = {
    {"+OK\r\n", "OK\n", "OK", "\"OK\"", "\"OK\""},
    {"-ERR x\r\n", "(error) ERR x\n", "ERR x\n", "ERROR,\"ERR x\"", "error:\"ERR x\""},
    {":-7\r\n", "(integer) -7\n", "-7", "-7", "-7"},
    {"$3\r\na\"b\r\n", "\"a\\\"b\"\n", "a\"b", "\"a\\\"b\"", "\"a\\\"b\""},
    {"$-1\r\n", "(nil)\n", "", "NULL", "null"},
    {"_\r\n", "(nil)\n", "", "NULL", "null"},
    {"#t\r\n", "(true)\n", "(true)", "true", "true"},
    {",3.5\r\n", "(double) 3.5\n", "3.5", "3.5", "3.5"},
    {"=7\r\ntxt:a\nb\r\n", "a\nb\n", "a\nb", "\"a\\nb\"", "\"a\\nb\""},
    {"!5\r\nERR x\r\n", "(error) ERR x\n", "ERR x\n", "ERROR,\"ERR x\"", "error:\"ERR x\""},
    {"*0\r\n", "(empty array)\n", "", "", "[]"},
    {"%0\r\n", "(empty hash)\n", "", "", "{}"},
    {"~0\r\n", "(empty set)\n", "", "", "[]"},
    {"*2\r\n:1\r\n*2\r\n:2\r\n*0\r\n", "1) (integer) 1\n2) 1) (integer) 2\n   2) (empty array)\n", "1\n2\n", "1,2,",
     "[1,[2,[]]]"},
    {"%2\r\n+a\r\n:1\r\n:2\r\n*2\r\n:3\r\n:4\r\n",
     "1# a => (integer) 1\n2# (integer) 2 => \n   1) (integer) 3\n   2) (integer) 4\n", "a 1\n2 3\n4", "\"a\",1,2,3,4",
     "{\"a\":1,\"2\":[3,4]}"},
    {"|1\r\n+ttl\r\n:1\r\n:5\r\n", "(integer) 5\n", "5", "5", "5"},
};

static void check(const replyValue *v, const sample *s) {
    sds pretty = replyTextPretty(sdsEmpty(), v, ""), raw = replyTextRaw(sdsEmpty(), v, "\n");
    sds csv = replyTextCsv(sdsEmpty(), v), json = replyTextJson(sdsEmpty(), v, false);
    CHECK_EQ_STR(pretty, s->pretty);
    CHECK_EQ_STR(raw, s->raw);
    CHECK_EQ_STR(csv, s->csv);
    CHECK_EQ_STR(json, s->json);
    sdsFree(pretty);
    sdsFree(raw);
    sdsFree(csv);
    sdsFree(json);
}

TEST(replies_have_a_text_in_each_style) {
    for (size_t i = 0; i < array_len(samples); i++) {
        replyValue *v = replyValueParse(samples[i].wire, strlen(samples[i].wire));
        if (CHECK(v != NULL)) check(v, &samples[i]);
        replyValueFree(v);
    }
}

TEST(json_keeps_text_or_makes_it_ascii) {
    replyValue *v = replyValueParse("$3\r\n\xc3\xbc\x01\r\n", 9);
    sds plain = replyTextJson(sdsEmpty(), v, false), ascii = replyTextJson(sdsEmpty(), v, true);
    CHECK(sliceEq(sdsSlice(plain), sliceStr("\"\xc3\xbc\\u0001\"")));
    CHECK(sliceEq(sdsSlice(ascii), sliceStr("\"\\\\xc3\\\\xbc\\\\x01\"")));
    sdsFree(plain);
    sdsFree(ascii);
    replyValueFree(v);
}

/* A reply that is cut anywhere is rejected, without a leak. */
TEST(cut_replies_are_refused) {
    for (size_t i = 0; i < array_len(samples); i++) {
        size_t len = strlen(samples[i].wire);
        for (size_t cut = 0; cut < len; cut++) CHECK(replyValueParse(samples[i].wire, cut) == NULL);
    }
    sds deep = sdsEmpty();
    for (int i = 0; i < 1000; i++) deep = sdsCat(deep, "*1\r\n");
    deep = sdsCat(deep, ":1\r\n");
    CHECK(replyValueParse(deep, sdsLen(deep)) == NULL);
    sdsFree(deep);
}

TEST(lookup_finds_values_in_maps_and_flat_arrays) {
    const char *wire = "*4\r\n+a\r\n:1\r\n+b\r\n:2\r\n";
    replyValue *v = replyValueParse(wire, strlen(wire));
    CHECK_EQ_INT(replyLookup(v, "b")->integer, 2);
    CHECK(replyLookup(v, "c") == NULL);
    replyValueFree(v);
}
