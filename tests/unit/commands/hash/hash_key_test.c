/* hash_key_test.c -- large values of fields: taken from the arguments, and referred to by replies.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "commands.h"
#include "hash_key.h"
#include "string_fixture.h"
#include "zmalloc.h"

#define LEN 50000
#define LEN_COPIED 20000 /* a string in the hash, but not a separate argument */

static largeArg largeOf(uint32_t index, char fill) {
    largeArg a = {.bytes = zmalloc(LEN), .len = LEN, .capacity = LEN, .have = LEN, .index = index};
    memset(a.bytes, fill, LEN);
    return a;
}

static void run(commandHandler *handler, parsedCommand *req) {
    fixture_client->req = req;
    fixture_client->argv = req->argv;
    fixture_client->argc = req->argc;
    fixture_client->cmd = (const struct serverCommand *)(const void *)req;
    handler(fixture_client);
    if (fixture_client->flags & CLIENT_ARGS_TAKEN) clientArgsEnd(fixture_client);
    fixture_client->req = NULL;
    fixture_client->cmd = NULL;
    fixture_client->argc = 0;
}

static hashPair find(const char *field) {
    hashPair pair = {.object = NULL};
    robj *o = dbFindByHash(dbGet(0), keyHash(sliceStr("h")));
    slice name = sliceStr(field);
    if (!CHECK(o && hashFind(o, name, hashBytes(name.ptr, name.len), &pair))) return pair;
    CHECK_EQ_INT(o->encoding, OBJ_ENC_HASHTABLE);
    return pair;
}

static void checkReply(const char *line, const char *want, size_t want_len) {
    sds got = fixtureRun(line[1] == 'd' ? hdelCommand : hgetCommand, line, 0);
    CHECK(sliceEq(sdsSlice(got), sliceOf(want, want_len)));
    sdsFree(got);
}

TEST(large_values_of_fields_are_taken) {
    static char copied[LEN_COPIED];
    fixtureSetUp();
    objectTypesRegister();
    storeSetNowMs(clockWallMs());
    size_t used = zmallocUsed();
    largeArg large[] = {largeOf(3, 'x'), largeOf(5, 'y'), largeOf(9, 'z')};
    const char *y = large[1].bytes, *z = large[2].bytes;
    for (size_t i = 0; i < 3; i++) large[i].next = &large[(i + 1) % 3];
    memset(copied, 'c', sizeof(copied));
    slice argv[10] = {sliceStr("hset"), sliceStr("h"),
                      sliceStr("a"),    sliceOf(large[0].bytes, LEN),
                      sliceStr("a"),    sliceOf(y, LEN), /* replaces the first */
                      sliceStr("b"),    sliceOf(copied, LEN_COPIED),
                      sliceStr("c"),    sliceOf(z, LEN)};
    parsedCommand req = {.argv = argv, .argc = 10, .flags = REQ_SCATTERED, .large = large};
    run(hsetCommand, &req);
    sds reply = fixtureReply();
    CHECK_EQ_STR(reply, ":3\r\n");
    sdsFree(reply);
    CHECK(!large[0].bytes && !large[1].bytes && !large[2].bytes);
    CHECK(find("a").value.ptr == y && find("c").value.ptr == z);
    CHECK(find("b").value.ptr != copied && sliceEq(find("b").value, sliceOf(copied, LEN_COPIED)));
    CHECK_EQ_INT(find("a").object->refcount, 1);

    /* A reply refers to it, and keeps it when it is overwritten. */
    slice get[3] = {sliceStr("hget"), sliceStr("h"), sliceStr("a")};
    parsedCommand getting = {.argv = get, .argc = 3};
    run(hgetCommand, &getting);
    CHECK_EQ_INT(find("a").object->refcount, 2);
    sdsFree(fixtureRun(hsetCommand, "hset h a short", 0)); /* returns both replies */
    CHECK(find("a").object == NULL);
    checkReply("hget h a", "$5\r\nshort\r\n", 11);
    checkReply("hdel h a b c", ":3\r\n", 4);
    dbEmpty(0, false);
    CHECK(zmallocUsed() < used + LEN_COPIED);
}
