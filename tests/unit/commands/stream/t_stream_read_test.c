/* t_stream_read_test.c -- XREADGROUP without memory for a consumer.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "client/client_fixture.h"
#include "command_fixture.h"
#include "commands.h"
#include "reply_reader.h"
#include "unit.h"
#include "zmalloc.h"

#define NAME_LEN 300

static void fill(client *c) {
    dbEmpty(-1, false);
    fixtureRun(c, xaddCommand, "xadd a 1-1 f v");
    fixtureRun(c, xaddCommand, "xadd b 1-1 f v");
    fixtureRun(c, xgroupCreateCommand, "xgroup create a g 0");
    fixtureRun(c, xgroupCreateCommand, "xgroup create b g 0");
    sdsFree(fixtureReplies(c));
}

/* Whichever allocation fails, the client gets one whole reply: of the first stream if that could be read. */
TEST(xreadgroup_without_memory_sends_one_reply) {
    static char name[NAME_LEN];
    bool partial = false;
    fixtureInit();
    fixtureBackground();
    fixtureCommands();
    objectTypesRegister();
    memset(name, 'n', sizeof(name));
    client *c = fixtureClient(2);
    const slice argv[] = {sliceStr("xreadgroup"),  sliceStr("group"),   sliceStr("g"),
                          sliceOf(name, NAME_LEN), sliceStr("streams"), sliceStr("a"),
                          sliceStr("b"),           sliceStr(">"),       sliceStr(">")};
    for (long n = 1, left = 0; left == 0; n++) {
        fill(c);
        zmallocFailAfter(n);
        fixtureRunArgs(c, xreadgroupCommand, argv, array_len(argv));
        left = zmallocFailAfter(0);
        sds got = fixtureReplies(c);
        replyScanner s;
        bool whole;
        replyScannerReset(&s);
        CHECK_EQ_INT(replyScan(&s, got, sdsLen(got), &whole), sdsLen(got));
        CHECK(whole && (s.first_type == '*' || s.first_type == '-'));
        partial |= left == 0 && s.first_type == '*';
        sdsFree(got);
    }
    CHECK(partial); /* else no allocation for the second stream has failed */
    dbEmpty(-1, false);
    clientFree(c);
    bioDrain(BIO_LAZY_FREE);
}
