/* string_fixture.h -- runs a command's handler on a client without a connection.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_STRING_FIXTURE_H
#define TESTS_STRING_FIXTURE_H

#include "client.h"
#include "command_table.h"
#include "panic.h"
#include "reply.h"
#include "unit.h"

#define FIXTURE_ARGS_MAX 1024

static client *fixture_client;
static sds fixture_events; /* all events since the last call, each as "event:key " */

static inline void fixtureSawEvent(serverDb *db, int type, const char *event, slice key) {
    unused(db);
    unused(type);
    if (strcmp(event, "new") == 0 || strcmp(event, "keymiss") == 0) return;
    fixture_events = sdsCatPrintf(fixture_events, "%s:%.*s ", event, (int)key.len, key.ptr);
}

static inline const char *fixtureName(const struct serverCommand *cmd) {
    unused(cmd);
    return "name";
}

static inline void fixtureSetUp(void) {
    if (fixture_client) return;
    static char stream;
    panicSetMainThread();
    if (!client_state.clients) clockInit();
    if (!dbGet(0)) dbInit(16);
    if (!client_state.clients) clientsInit();
    store_settings.notify_events = -1;
    fixture_events = sdsEmpty();
    storeObserveEvents(fixtureSawEvent);
    clientSetCommandNamer(fixtureName);
    fixture_client = clientCreate((struct clientIo *)(void *)&stream, 1, "", "", false);
}

static inline sds fixtureReply(void) {
    replyBlock *chain = clientTakeReplies(fixture_client);
    sds out = replyBlockCatChain(sdsEmpty(), chain);
    clientOutputWritten(fixture_client, chain, sdsLen(out));
    return out;
}

/* Runs `handler` with the words of `line` and returns its reply. If `value_arg` is not 0, the entry of key 1 is built
 * ahead from that argument. */
static inline sds fixtureRun(commandHandler *handler, const char *line, uint32_t value_arg) {
    int count;
    slice argv[FIXTURE_ARGS_MAX];
    fixtureSetUp();
    sds *words = sdsSplitArgs(line, &count);
    for (int i = 0; i < count; i++) argv[i] = sdsSlice(words[i]);
    parsedCommand req = {.argv = argv, .argc = (uint32_t)count};
    if (value_arg) req.value = objectCreateString(argv[1], argv[value_arg], count > 3, 0);
    storeSetNowMs(clockWallMs());
    sdsClear(fixture_events);
    fixture_client->req = &req;
    fixture_client->argv = argv;
    fixture_client->argc = (uint32_t)count;
    fixture_client->cmd = (const struct serverCommand *)(const void *)&req;
    handler(fixture_client);
    if (req.value) objectFree(req.value);
    fixture_client->req = NULL;
    fixture_client->cmd = NULL;
    fixture_client->argc = 0;
    sds out = fixtureReply();
    sdsFreeSplitRes(words, count);
    return out;
}

#define CHECK_RUN(handler, line, want)           \
    do {                                         \
        sds got_ = fixtureRun(handler, line, 0); \
        CHECK_EQ_STR(got_, want);                \
        sdsFree(got_);                           \
    } while (0)

#define CHECK_EVENTS(want) CHECK_EQ_STR(fixture_events, want)

#endif
