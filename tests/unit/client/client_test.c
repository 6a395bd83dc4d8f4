/* client_test.c -- sessions: the list, the index, names, hooks, the line of CLIENT LIST.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "client_fixture.h"
#include "client_describe.h"
#include "unit.h"
#include "zmalloc.h"

static int freed, was_reset;
static client *filled_client;
static bool filled_pause_ended;

static void countFree(client *c) {
    unused(c);
    freed++;
}
static void countReset(client *c) {
    unused(c);
    was_reset++;
}
static void fillInfo(const client *c, clientInfoExtra *extra) {
    if (c != filled_client) return;
    extra->multi = 2;
    extra->user = "alice";
    extra->tracking_bcast = true;
    extra->redirect = 0;
    extra->pause_ended = filled_pause_ended;
}

/* Like two layers at startup: one stores a byte for each client, the other a pointer. */
TEST(slots_are_a_layers_own_and_zero_in_new_clients) {
    size_t mode = clientSlotRegister(sizeof(uint8_t)), state = clientSlotRegister(sizeof(void *));
    CHECK(mode >= offsetof(client, slots) && state > mode && state % sizeof(void *) == 0);
    CHECK(state + sizeof(void *) <= offsetof(client, slots) + CLIENT_SLOTS_BYTES);
    for (int round = 0; round < 2; round++) {
        client *a = fixtureClient(2), *b = fixtureClient(2);
        uint8_t *mode_of[] = {clientSlot(a, mode), clientSlot(b, mode)};
        void **state_of[] = {clientSlot(a, state), clientSlot(b, state)};
        CHECK(*mode_of[0] == 0 && !*state_of[0] && *mode_of[1] == 0 && !*state_of[1]);
        *mode_of[0] = UINT8_MAX;
        *state_of[0] = a;
        CHECK(*mode_of[0] == UINT8_MAX && *state_of[0] == a && *mode_of[1] == 0 && !*state_of[1]);
        clientCheck(a);
        clientFree(a);
        clientFree(b);
    }
}

TEST(clients_are_found_by_id_until_freed) {
    client *a = fixtureClient(2), *b = fixtureClient(2), *fake = clientCreate(NULL, -1, NULL, NULL, false);
    uint64_t id = a->id;
    CHECK_EQ_INT(b->id, id + 1);
    CHECK(clientById(id) == a);
    CHECK(clientById(fake->id) == NULL);
    CHECK(listNodeValue(listFirst(client_state.clients)) == a);
    size_t count = listLength(client_state.clients);
    clientFree(a);
    CHECK(clientById(id) == NULL);
    CHECK_EQ_INT(listLength(client_state.clients), count - 1);
    clientFree(b);
    clientFree(fake);
}

/* A round visits each client once, in the order of ids, while clients come and go. */
TEST(the_round_over_clients_misses_nobody) {
    fixtureInit();
    CHECK(clientNextInRound() == NULL);
    client *c[5];
    for (int i = 0; i < 4; i++) c[i] = fixtureClient(2);
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 4; i++) CHECK(clientNextInRound() == c[i]);
    CHECK(clientNextInRound() == c[0]);
    clientFree(c[1]); /* the next client of the round */
    CHECK(clientNextInRound() == c[2]);
    clientFree(c[2]); /* the last visited client */
    c[4] = fixtureClient(2);
    CHECK(clientNextInRound() == c[3]);
    CHECK(clientNextInRound() == c[4]);
    clientFree(c[4]);
    CHECK(clientNextInRound() == c[0]);
    clientFree(c[3]);
    CHECK(clientNextInRound() == c[0]);
    clientFree(c[0]);
    CHECK(clientNextInRound() == NULL);
}

TEST(the_clock_is_told_of_each_client_once) {
    client *a = fixtureClient(2), *b = fixtureClient(2), *c = fixtureClient(2);
    CHECK(clientPopWatched() == NULL);
    clientWatchOutput(a);
    clientWatchOutput(b);
    clientWatchOutput(a);
    clientWatchOutput(c);
    CHECK_EQ_INT(client_state.watched, 3);
    clientListsCheck();
    clientFree(b);
    clientListsCheck();
    CHECK(clientPopWatched() == a);
    clientWatchOutput(a);
    clientListsCheck();
    CHECK(clientPopWatched() == c);
    CHECK(clientPopWatched() == a);
    CHECK(clientPopWatched() == NULL);
    CHECK_EQ_INT(client_state.watched, 0);
    clientFree(a);
    clientFree(c);
}

TEST(names_are_checked) {
    client *c = fixtureClient(2);
    const char *err = "";
    CHECK(clientSetName(c, sliceStr("worker-1"), &err));
    CHECK_EQ_STR(c->name, "worker-1");
    CHECK(!clientSetName(c, sliceStr("a b"), &err));
    CHECK_EQ_STR(err, "Client names cannot contain spaces, newlines or special characters.");
    CHECK(!clientSetName(c, sliceStr("\x80"), &err));
    CHECK_EQ_STR(c->name, "worker-1");
    CHECK(clientSetName(c, sliceStr(""), &err));
    CHECK(c->name == NULL);
    clientFree(c);
}

TEST(types_have_names) {
    fixtureInit();
    CHECK_EQ_INT(clientTypeByName(sliceStr("NORMAL")), CLIENT_TYPE_NORMAL);
    CHECK_EQ_INT(clientTypeByName(sliceStr("replica")), CLIENT_TYPE_REPLICA);
    CHECK_EQ_INT(clientTypeByName(sliceStr("slave")), CLIENT_TYPE_REPLICA);
    CHECK_EQ_INT(clientTypeByName(sliceStr("master")), CLIENT_TYPE_PRIMARY);
    CHECK_EQ_INT(clientTypeByName(sliceStr("x")), -1);
    client c = {.flags = CLIENT_REPLICA | CLIENT_MONITOR};
    CHECK_EQ_INT(clientTypeOf(&c), CLIENT_TYPE_NORMAL);
    c.flags = CLIENT_PUBSUB;
    CHECK_EQ_INT(clientTypeOf(&c), CLIENT_TYPE_PUBSUB);
}

TEST(local_peers_are_told_apart) {
    fixtureInit();
    const struct {
        const char *peer;
        bool is_unix, local;
    } cases[] = {
        {"127.0.0.1:1", false, true}, {"[::1]:1", false, true}, {"10.0.0.1:1", false, false}, {"/tmp/s:0", true, true}};
    for (size_t i = 0; i < array_len(cases); i++) {
        client *c = clientCreate(NULL, 1, cases[i].peer, "", cases[i].is_unix);
        CHECK_EQ_INT(clientIsLocal(c), cases[i].local);
        clientFree(c);
    }
}

TEST(closing_is_asked_for_once) {
    client *c = fixtureClient(2), *fake = clientCreate(NULL, -1, NULL, NULL, false);
    clientCloseAsap(c);
    clientCloseAsap(c);
    clientCloseAsap(fake);
    CHECK(clientPopClosing() == c);
    CHECK(clientPopClosing() == NULL);
    clientFree(c);
    clientFree(fake);
}

/* Closing ten thousand clients does not search the list for each: a client that was taken from the list does not read
 * it (the head is not an address), and one in its middle is unlinked directly. */
TEST(closing_many_does_not_search_the_list) {
    client *c[3];
    for (size_t i = 0; i < array_len(c); i++) clientCloseAsap(c[i] = fixtureClient(2));
    CHECK(clientPopClosing() == c[2]);
    client *rest = client_state.closing;
    client_state.closing = (client *)(uintptr_t)CACHE_LINE;
    clientFree(c[2]);
    client_state.closing = rest;
    clientFree(c[0]);
    clientListsCheck();
    CHECK(clientPopClosing() == c[1]);
    CHECK(clientPopClosing() == NULL);
    clientFree(c[1]);
}

TEST(hooks_run) {
    clientOnFree(countFree);
    clientOnReset(countReset);
    client *c = fixtureClient(3);
    const char *err;
    CHECK(clientSetName(c, sliceStr("n"), &err));
    c->flags |= CLIENT_NO_EVICT | CLIENT_REPLY_OFF;
    clientReset(c);
    CHECK_EQ_INT(was_reset, 1);
    CHECK_EQ_INT(c->resp, 2);
    CHECK(c->name == NULL);
    CHECK_EQ_INT(c->flags, 0);
    clientFree(c);
    CHECK_EQ_INT(freed, 1);
}

TEST(the_line_of_client_list) {
    client *c = fixtureClient(2);
    slice argv[] = {sliceStr("client"), sliceStr("info")};
    parsedCommand req = {.argv = argv, .argc = 2};
    c->req = &req;
    c->argv = argv;
    c->argc = 2;
    sds line = clientCatInfo(sdsEmpty(), c);
    sds head =
        sdsCatPrintf(sdsEmpty(),
                     "id=%llu addr=10.0.0.1:1234 laddr=10.0.0.2:6379 fd=7 name= age=0 idle=0 flags=N capa= db=0 sub=0 "
                     "psub=0 ssub=0 multi=-1 watch=0 qbuf=0 qbuf-free=0 argv-mem=10 multi-mem=0 rbs=0 rbp=0 obl=0 "
                     "oll=0 omem=0 tot-mem=",
                     (unsigned long long)c->id);
    CHECK(strncmp(line, head, sdsLen(head)) == 0);
    CHECK_EQ_STR(strstr(line, " events="),
                 " events=r cmd=NULL user=default redir=-1 resp=2 lib-name= lib-ver= tot-net-in=0 "
                 "tot-net-out=0 tot-cmds=0");
    sdsFree(line);
    sdsFree(head);
    c->req = NULL; /* between commands the arguments are not read */

    clientOnInfo(fillInfo);
    filled_client = c;
    c->flags |= CLIENT_MULTI | CLIENT_TRACKING | CLIENT_READONLY | CLIENT_NO_EVICT | CLIENT_NO_TOUCH;
    c->capa = CLIENT_CAPA_REDIRECT;
    line = clientCatInfo(sdsEmpty(), c);
    CHECK(strstr(line, " flags=xtBreT capa=r ") != NULL);
    CHECK(strstr(line, " multi=2 ") != NULL);
    CHECK(strstr(line, " user=alice redir=0 ") != NULL);
    CHECK(clientMemUsage(c) >= sizeof(client));
    sdsFree(line);
    filled_client = NULL;
    clientFree(c);
}

/* A paused client counts as blocked; once its pause has ended it is about to run again. */
TEST(a_client_that_is_paused_waits_until_the_pause_ends) {
    client *c = fixtureClient(2);
    clientOnInfo(fillInfo);
    filled_client = c;
    c->flags |= CLIENT_PAUSED;
    for (int ended = 0; ended <= 1; ended++) {
        filled_pause_ended = ended;
        sds line = clientCatInfo(sdsEmpty(), c);
        CHECK_EQ_INT(clientIsBlocked(c), !ended);
        CHECK(strstr(line, ended ? " flags=Bu " : " flags=bB ") != NULL);
        sdsFree(line);
    }
    filled_pause_ended = false;
    filled_client = NULL;
    clientFree(c);
}

TEST(keys_bring_the_hash_they_were_parsed_with) {
    client *c = fixtureClient(2);
    slice argv[] = {sliceStr("mset"), sliceStr("a"), sliceStr("1"), sliceStr("b"),
                    sliceStr("2"),    sliceStr("c"), sliceStr("3")};
    requestKey keys[] = {{11, 1, 0}, {33, 3, 0}, {55, 5, 0}};
    parsedCommand req = {.argv = argv, .argc = 7, .keys = keys, .nkeys = 3};
    robj *value = objectCreateString(sliceStr("a"), sliceStr("1"), false, 0);
    c->req = &req;
    c->argv = argv;
    c->argc = 7;
    CHECK_EQ_INT(clientKeyAt(c, 1).hash, 11);
    CHECK_EQ_INT(clientKeyAt(c, 5).hash, 55);
    CHECK(sliceEq(clientKeyAt(c, 3).name, sliceStr("b")));
    CHECK_EQ_INT(clientKeyAt(c, 2).hash, hashBytes("1", 1));
    CHECK(clientTakeValue(c) == NULL);
    req.value = value;
    CHECK(clientTakeValue(c) == value);
    CHECK(clientTakeValue(c) == NULL);
    slice rewritten[] = {sliceStr("set"), sliceStr("z")};
    c->argv = rewritten; /* hashes of the old vector are not used */
    CHECK_EQ_INT(clientKeyAt(c, 1).hash, hashBytes("z", 1));
    c->req = NULL;
    CHECK_EQ_INT(clientKeyAt(c, 1).hash, hashBytes("z", 1));
    objectRelease(value);
    clientFree(c);
}

/* --- large arguments ------------------------------------------------------------------------------------- */

static largeArg largeOf(uint32_t index, size_t len, char fill) {
    largeArg a = {.bytes = zmalloc(len), .len = len, .capacity = len, .have = len, .index = index};
    memset(a.bytes, fill, len);
    return a;
}

TEST(a_large_argument_becomes_the_value) {
    enum { LEN = 50000 };
    client *c = fixtureClient(2);
    largeArg large[] = {largeOf(2, LEN, 'x'), largeOf(4, LEN, 'y'), largeOf(6, LEN, 'z')};
    for (size_t i = 0; i < 3; i++) large[i].next = &large[(i + 1) % 3];
    slice argv[7] = {sliceStr("mset"),
                     sliceStr("a"),
                     sliceOf(large[0].bytes, LEN),
                     sliceStr("b"),
                     sliceOf(large[1].bytes, LEN),
                     sliceStr("c"),
                     sliceOf(large[2].bytes, LEN)};
    parsedCommand req = {.argv = argv, .argc = 7, .flags = REQ_SCATTERED, .large = large};
    c->req = &req;
    c->argv = argv;
    c->argc = 7;

    robj *a = clientEntryOfArg(c, argv[1], 2, false), *small = clientEntryOfArg(c, argv[3], 3, false);
    CHECK(objectRawString(a).ptr == argv[2].ptr && large[0].bytes == NULL); /* taken, not copied */
    CHECK(sliceEq(objectKey(a), sliceStr("a")));
    CHECK_EQ_INT(objectExpire(a), -1);
    CHECK_EQ_STR(objectEncodingName(small), "embstr");
    CHECK(c->flags & CLIENT_ARGS_TAKEN);
    robj *again = clientEntryOfArg(c, argv[1], 2, false); /* already taken: a copy */
    CHECK(objectRawString(again).ptr != argv[2].ptr && sliceEq(objectRawString(again), argv[2]));
    robj *last = clientEntryOfArg(c, argv[5], 6, true);
    CHECK(objectRawString(last).ptr == argv[6].ptr);
    CHECK(large[1].bytes == argv[4].ptr); /* not requested */

    objectRelease(a); /* the key was replaced: the argument stays readable until the command ends */
    CHECK(argv[2].ptr[0] == 'x' && argv[2].ptr[LEN - 1] == 'x');
    CHECK_EQ_INT(a->refcount, 1);
    clientArgsEnd(c);
    CHECK(!(c->flags & CLIENT_ARGS_TAKEN));
    CHECK_EQ_INT(last->refcount, 1);

    c->req = NULL;
    objectRelease(small);
    objectRelease(again);
    objectRelease(last);
    zfree(large[1].bytes);
    clientFree(c);
}

TEST(other_vectors_have_no_large_arguments) {
    client *c = fixtureClient(2);
    largeArg large = largeOf(1, 50000, 'x');
    large.next = &large;
    slice argv[2] = {sliceStr("set"), sliceOf(large.bytes, 50000)}, rewritten[2] = {argv[0], argv[1]};
    parsedCommand req = {.argv = argv, .argc = 2, .flags = REQ_SCATTERED, .large = &large};
    c->req = &req;
    c->argv = rewritten;
    c->argc = 2;
    robj *o = clientEntryOfArg(c, sliceStr("k"), 1, false);
    CHECK(objectRawString(o).ptr != large.bytes && large.bytes != NULL);
    CHECK(!(c->flags & CLIENT_ARGS_TAKEN));
    c->req = NULL;
    objectRelease(o);
    zfree(large.bytes);
    clientFree(c);
}
