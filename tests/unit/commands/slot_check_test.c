/* slot_check_test.c -- clients of a cluster's node, by their replies: redirections, MULTI, ASKING, scripts, blocked
 * clients, shard channels; and GET with the gate counts as without.
 *
 * A row is a conversation: requests and replies, separated by '|'. Of an error the reply shows the first words.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "slot_check.h"

#include "call.h"
#include "client/client_fixture.h"
#include "command_fixture.h"
#include "command_record.h"
#include "engine.h"
#include "engine/slots/slot_fixture.h"
#include "engine_settings.h"
#include "hash.h"
#include "memory_gate.h"
#include "script_context.h"
#include "store_state.h"
#include "transaction_queue.h"
#include "unit.h"
#include "zmalloc.h"

#include <stdio.h>

/* Keys by their slot: of this node, of another one, without an owner, migrating to OTHER, imported from OTHER. */
static const char *const tags[] = {"own", "far", "none", "out", "in"};
static unsigned slotOf(size_t tag) { return (unsigned)keyHashSlot(tags[tag], strlen(tags[tag])); }

static client *scripts;

static const char *product(void) { return "Valkey"; }

static void fixtureStart(void) {
    static bool done;
    fixtureInit();
    fixtureCommands();
    if (!done) {
        done = true;
        objectTypesRegister();
        fixtureTransactions();
        pubsubCommandsInit();
        fixturePubsub();
        fixtureBlocking(NULL);
        gateSet(GATE_CLUSTER, slotGate);
        gateSet(GATE_SUBSCRIBED, subscribedGate);
        scriptContextInit(product);
        scripts = scriptContextClientCreate();
    }
    storeSetNowMs(clockWallMs());
    dbEmpty(-1, false);
}

/* Makes this server a node: a primary, or the replica of PARTNER. */
static void begin(bool replica) {
    fixtureStart();
    slotsEnable();
    fixtureSlots(replica);
    uint16_t shard = replica ? PARTNER : OWN_NODE;
    slotTableSetOwner(slotOf(0), shard);
    slotTableSetOwner(slotOf(1), THIRD);
    slotTableSetOwner(slotOf(2), 0);
    slotTableSetOwner(slotOf(3), shard);
    slotTableSetOpen(slotOf(3), OTHER, 0);
    slotTableSetOwner(slotOf(4), OTHER);
    slotTableSetOpen(slotOf(4), 0, OTHER);
}

/* Other tests of this program have no cluster. */
static void end(void) {
    slotTableClear();
    slots_enabled = false;
    dbEmpty(-1, false);
    dbSetSlots(false);
    recordSetSlots(false);
    gateEnable(GATE_CLUSTER, false);
}

/* Runs a request as a connection would. Returns its record, which the caller frees: in MULTI it is queued. */
static parsedCommand *request(client *c, slice line) {
    alignas(16) char piece[2048];
    recordArena arena;
    recordCache cache = {0};
    sds text = sdsNewLen(line.ptr, line.len);
    int argc;
    sds *words = sdsSplitArgs(text, &argc);
    recordArenaInit(&arena, piece, sizeof(piece));
    parsedCommand *p = recordCreate(&arena, (size_t)argc);
    for (int i = 0; i < argc; i++) p->argv[i] = sdsSlice(words[i]);
    recordComplete(&arena, &cache, p, 0);
    parsedCommand *alone = recordDetach(p);
    recordArenaFree(&arena);
    sdsFreeSplitRes(words, argc);
    sdsFree(text);
    monotime now = clockTicks();
    CHECK_EQ_INT(processCommand(c, alone, &now), CALL_DONE);
    return alone;
}

/* Returns whether a reply has these words; of an error, whether it begins with this text. */
static bool isReply(const char *got, slice want) {
    if (want.len && want.ptr[0] == '-') return strncmp(got, want.ptr, want.len) == 0;
    const char *end = want.ptr + want.len, *w = want.ptr;
    for (; *got; got++) {
        bool blank = *got == '\r' || *got == '\n' || *got == ' ';
        if (blank) continue;
        while (w < end && *w == ' ') w++;
        if (w == end || *w++ != *got) return false;
    }
    return w == end;
}

static void converse(client *c, const char *row) {
    parsedCommand *kept[32];
    size_t n = 0;
    for (const char *at = row; *at;) {
        slice line = sliceOf(at, strcspn(at, "|"));
        at += line.len + 1;
        slice want = sliceOf(at, strcspn(at, "|"));
        at += want.len + (at[want.len] == '|');
        kept[n++] = request(c, line);
        sds got = fixtureReplies(c);
        if (!CHECK(isReply(got, want)))
            fprintf(stderr, "%s\n  %.*s: got %s, not %.*s\n", row, (int)line.len, line.ptr, got, (int)want.len,
                    want.ptr);
        sdsFree(got);
    }
    transactionEnd(c);
    for (size_t i = 0; i < n; i++) recordFree(kept[i]);
}

static client *newClient(void) {
    client *c = fixtureClient(2);
    c->authenticated = true;
    return c;
}

static void converseAll(const char *const *rows, size_t count) {
    for (size_t i = 0; i < count; i++) {
        client *c = newClient();
        converse(c, rows[i]);
        clientFree(c);
    }
}

TEST(slot_check_redirects_plain_commands) {
    static const char *const rows[] = {
        "set {own}1 x|+OK|get {own}1|$1 x|mget {own}1 {own}2|*2 $1 x $-1",
        "get {far}1|-MOVED|get {none}1|-CLUSTERDOWN Hash slot not served",
        "mget {own}1 {far}1|-CROSSSLOT Keys in request don't hash to the same slot",
        "mset {own}1 x {own}2 y|+OK|dbsize|:2|ping|+PONG|object help x|-ERR wrong",
        "set {out}1 x|-ASK|get {out}1|-ASK|exists {out}1 {out}2|-ASK",
        "get {in}1|-MOVED|asking|+OK|get {in}1|$-1|get {in}1|-MOVED",
        "asking|+OK|set {in}1 x|+OK|asking|+OK|mget {in}1 {in}2|-TRYAGAIN|asking|+OK|mget {in}1 {in}1|*2 $1 x $1 x",
        "asking|+OK|mget {in}8 {in}9|-TRYAGAIN|asking|+OK|mget {in}8 {in}8|*2 $-1 $-1",
        "asking|+OK|no-such|-ERR unknown|get {in}1|-MOVED|asking|+OK|ping|+PONG|get {in}1|-MOVED",
        "asking|+OK|asking|+OK|get {in}2|$-1|asking|+OK|get {own}2|$1 y|get {in}1|-MOVED",
        "move {out}1 1|-TRYAGAIN|move {in}1 1|-TRYAGAIN|copy {out}1 {out}2 db 1|-TRYAGAIN",
        "copy {out}1 {out}2 db 0|-ASK|copy {out}1 {out}2|-ASK|move {far}1 1|-MOVED|move {own}7 1|:0",
        ("spublish {own} x|:0|spublish {out} x|:0|spublish {far} x|-MOVED|spublish {in} x|-MOVED|asking|+OK|spublish "
         "{in} x|:0"),
        "ssubscribe {own}a {far}a|-CROSSSLOT|sunsubscribe {far}a|-MOVED|sunsubscribe|*3 $12 sunsubscribe $-1 :0",
        "publish {far} x|:0|swapdb 0 1|-ERR SWAPDB is not allowed in cluster mode|swapdb x|-ERR wrong number",
    };
    begin(false);
    converseAll(rows, array_len(rows));
    end();
}

#define BY_DENIED \
    "-ERR BY option of SORT denied in Cluster mode when keys formed by the pattern may be in different slots."
#define GET_DENIED \
    "-ERR GET option of SORT denied in Cluster mode when keys formed by the pattern may be in different slots."

TEST(slot_check_of_the_patterns_of_sort) {
    static const char *const rows[] = {
        "rpush own 2 1|:2|sort own by w_*|" BY_DENIED "|sort own by nosort|*2 $1 2 $1 1|sort own by {own}|*2 $1 2 $1 1",
        "sort own by {own}w_* get {own}x_*|*2 $-1 $-1|sort own by {own}*->f|*2 $1 1 $1 2|sort own by w{own}*|*2 $1 1 "
        "$1 2",
        "sort own by *{own}|" BY_DENIED "|sort own by {*}|" BY_DENIED "|sort own by *|" BY_DENIED
        "|sort own by {far}*|" BY_DENIED,
        "sort own get #|*2 $1 1 $1 2|sort own get own|*2 $-1 $-1|sort own get x->{own}|*2 $-1 $-1|sort own get "
        "other|" GET_DENIED,
        "sort own get ?{own}|" GET_DENIED "|sort own get [{own}|" GET_DENIED
        "|sort own get {own}?|*2 $-1 $-1|sort own get {}own|" GET_DENIED "|sort own get {own|" GET_DENIED
        "|sort own get a]{own}|*2 $-1 $-1",
        "sort own get # get w_*|" GET_DENIED "|sort own by w_* no-such|" BY_DENIED
        "|sort_ro own get {far}x|" GET_DENIED,
    };
    begin(false);
    converseAll(rows, array_len(rows));
    end();
}

/* Slots are checked when a command is queued, and keys at EXEC, for all queued commands together. */
TEST(slot_check_of_a_transaction) {
    static const char *const rows[] = {
        "set {own}1 x|+OK|multi|+OK|get {own}1|+QUEUED|get {own}2|+QUEUED|exec|*2 $1 x $-1",
        ("multi|+OK|get {far}1|-MOVED|get {own}1|+QUEUED|exec|-EXECABORT Transaction discarded because of previous "
         "errors."),
        "multi|+OK|mget {own}1 {far}1|-CROSSSLOT|exec|-EXECABORT",
        "multi|+OK|get {none}1|-CLUSTERDOWN Hash slot|exec|-EXECABORT",
        "multi|+OK|get {own}1|+QUEUED|get {out}1|+QUEUED|exec|-CROSSSLOT Keys|exec|-ERR EXEC without MULTI",
        "multi|+OK|get {out}1|+QUEUED|get {out}1|+QUEUED|exec|-ASK|get {own}1|$1 x|exec|-ERR EXEC without",
        "multi|+OK|move {out}1 1|-TRYAGAIN|exec|-EXECABORT",
        "multi|+OK|spublish {out} x|+QUEUED|get {out}1|+QUEUED|exec|*2 :0 $-1",
        "multi|+OK|get {in}1|-MOVED|exec|-EXECABORT",
        "multi|+OK|asking|+QUEUED|get {in}1|-MOVED|exec|-EXECABORT",
        "asking|+OK|multi|+OK|set {in}1 y|+QUEUED|get {in}1|+QUEUED|exec|*2 +OK $1 y|get {in}1|-MOVED",
        "asking|+OK|multi|+OK|get {in}1|+QUEUED|get {in}2|+QUEUED|exec|-TRYAGAIN|get {in}1|-MOVED",
        "asking|+OK|multi|+OK|discard|+OK|get {in}1|-MOVED",
        "multi|+OK|asking|+QUEUED|exec|*1 +OK|get {in}1|-MOVED",
        "multi|+OK|ping|+QUEUED|exec|*1 +PONG",
    };
    begin(false);
    converseAll(rows, array_len(rows));
    end();
}

/* The slot leaves after its commands were queued. */
TEST(slot_check_of_exec_looks_again) {
    begin(false);
    client *c = newClient();
    parsedCommand *p[3] = {request(c, sliceStr("multi")), request(c, sliceStr("set {own}1 x"))};
    CHECK_REPLY(c, "+OK\r\n+QUEUED\r\n");
    slotTableSetOwner(slotOf(0), OTHER);
    p[2] = request(c, sliceStr("exec"));
    sds got = fixtureReplies(c);
    CHECK(!strncmp(got, "-MOVED ", 7) && strstr(got, "10.0.0.3:7003"));
    sdsFree(got);
    CHECK_EQ_INT(dbSize(dbGet(0)), 0);
    CHECK(!(c->flags & CLIENT_MULTI));
    for (size_t i = 0; i < array_len(p); i++) recordFree(p[i]);
    clientFree(c);
    end();
}

TEST(slot_check_on_a_replica) {
    begin(true);
    client *c = newClient();
    converse(c,
             "get {own}1|-MOVED|watch {own}1|-MOVED|multi|+OK|get {own}1|-MOVED|exec|-EXECABORT|spublish {own} x|:0");
    c->flags |= CLIENT_READONLY;
    converse(
        c,
        "get {own}1|$-1|set {own}1 x|-MOVED|multi|+OK|get {own}1|+QUEUED|exec|*1 $-1|watch {own}1|+OK|get {out}1|-ASK");
    converse(c, "multi|+OK|set {own}1 x|-MOVED|exec|-EXECABORT|get {far}1|-MOVED|get {in}1|-MOVED");
    c->flags |= CLIENT_ASKING;
    clientReset(c);
    CHECK(!(c->flags & (CLIENT_READONLY | CLIENT_ASKING)));
    clientFree(c);
    end();
}

/* Commands of a primary and of the append-only file run whatever the table has. */
TEST(slot_check_leaves_the_log_and_the_primary_alone) {
    begin(false);
    client *c = newClient();
    c->flags |= CLIENT_REPLAYS;
    converse(c, "set {far}1 x|+OK|mset {own}1 a {far}1 b|+OK|set {out}1 x|+OK");
    c->flags &= ~CLIENT_REPLAYS;
    converse(c, "set {far}1 x|-MOVED");
    clientFree(c);
    end();
}

/* Redirections name the port and the address of the client's kind. */
TEST(slot_check_redirects_to_what_the_client_can_use) {
    begin(false);
    slotTableSetNode(THIRD,
                     &(slotNode){.ip = "10.0.0.4", .client_ipv6 = "2001:db8::4", .port = 7004, .tls_port = 8004});
    client *c = newClient(),
           *v6 = clientCreate((struct clientIo *)(void *)&fixture_io, 7, "[::1]:1234", "[::1]:1", false);
    sds moved = sdsCatPrintf(sdsEmpty(), "get {far}1|-MOVED %u 10.0.0.4:7004", slotOf(1));
    converse(c, moved);
    c->flags |= CLIENT_TLS;
    sdsFree(moved);
    moved = sdsCatPrintf(sdsEmpty(), "get {far}1|-MOVED %u 10.0.0.4:8004", slotOf(1));
    converse(c, moved);
    sdsFree(moved);
    v6->authenticated = true;
    moved = sdsCatPrintf(sdsEmpty(), "get {far}1|-MOVED %u 2001:db8::4:7004", slotOf(1));
    converse(v6, moved);
    sdsFree(moved);
    clientFree(c);
    clientFree(v6);
    end();
}

/* ---- Scripts ---- */

/* Runs one command in a script and compares its reply. */
static void scriptCalls(scriptContext *s, const char *line, const char *want) {
    alignas(16) char piece[2048];
    recordArena arena;
    recordCache cache = {0};
    int argc;
    sds *words = sdsSplitArgs(line, &argc);
    recordArenaInit(&arena, piece, sizeof(piece));
    parsedCommand *p = recordCreate(&arena, (size_t)argc);
    for (int i = 0; i < argc; i++) p->argv[i] = sdsSlice(words[i]);
    recordComplete(&arena, &cache, p, 0);
    scriptContextCall(s, p);
    sds got = fixtureReplies(scripts);
    if (!CHECK(isReply(got, sliceStr(want)))) fprintf(stderr, "%s: got %s, not %s\n", line, got, want);
    sdsFree(got);
    if (p->value) decrRefCount(p->value);
    recordArenaFree(&arena);
    sdsFreeSplitRes(words, argc);
}

/* Begins a script of `caller` that has declared a key of this slot; -1: none. */
static void beginScript(scriptContext *s, client *caller, int declared, bool one_slot) {
    const parsedCommand eval = {.slot = (int16_t)declared};
    caller->req = &eval;
    scriptContextBegin(s, scripts, caller);
    s->one_slot = one_slot;
    caller->req = NULL;
}

#define NON_LOCAL "-ERR Attempted to access a non local key in a cluster node"
#define TWO_SLOTS "-ERR Script attempted to access keys that do not hash to the same slot"

TEST(slot_check_of_scripts) {
    begin(false);
    slotTableSetOwner(slotOf(1), OWN_NODE);
    client *c = newClient();
    scriptContext s;
    beginScript(&s, c, -1, false);
    scriptCalls(&s, "set {own}1 x", "+OK");
    scriptCalls(&s, "get {far}1", "$-1"); /* another slot of this node */
    slotTableSetOwner(slotOf(1), THIRD);
    scriptCalls(&s, "get {far}1", NON_LOCAL);
    scriptCalls(&s, "get {none}1", NON_LOCAL);
    scriptCalls(&s, "get {out}1", NON_LOCAL);
    scriptCalls(&s, "get {in}1", NON_LOCAL);
    scriptCalls(&s, "ping", "+PONG");
    c->flags |= CLIENT_ASKING;
    scriptCalls(&s, "get {in}1", "$-1");
    scriptCalls(&s, "mget {in}1 {in}2", NON_LOCAL);
    c->flags &= ~CLIENT_ASKING;
    s.read_only = true; /* that the key is elsewhere precedes that it may not write */
    scriptCalls(&s, "set {far}1 x", NON_LOCAL);
    scriptCalls(&s, "set {own}1 x", "-ERR Write commands are not allowed from read-only scripts.");
    clientFree(c);
    end();
}

/* Valkey 9.1.2 refuses all commands of all scripts after one with keys of two slots, until it is restarted. */
TEST(slot_check_of_scripts_keeps_nothing) {
    begin(false);
    client *c = newClient();
    scriptContext s;
    beginScript(&s, c, -1, false);
    scriptCalls(&s, "mget {own}1 {far}1", NON_LOCAL);
    scriptCalls(&s, "ping", "+PONG");
    scriptCalls(&s, "get {own}1", "$-1");
    beginScript(&s, c, -1, true);
    scriptCalls(&s, "mget {own}1 {far}1", NON_LOCAL);
    scriptCalls(&s, "get {own}1", "$-1");
    clientFree(c);
    end();
}

/* A script with a line of flags, and a function, may touch keys of one slot only, unless it declares otherwise. */
TEST(slot_check_of_scripts_that_must_not_cross) {
    begin(false);
    slotTableSetOwner(slotOf(1), OWN_NODE);
    client *c = newClient();
    scriptContext s;
    beginScript(&s, c, -1, true);
    scriptCalls(&s, "get {own}1", "$-1");
    scriptCalls(&s, "get {far}1", TWO_SLOTS);
    scriptCalls(&s, "ping", "+PONG");
    scriptCalls(&s, "get {own}2", "$-1");
    beginScript(&s, c, (int)slotOf(1), true); /* a declared key is the first one */
    scriptCalls(&s, "get {own}1", TWO_SLOTS);
    scriptCalls(&s, "get {far}1", "$-1");
    s.read_only = true;
    scriptCalls(&s, "set {own}1 x", "-ERR Write commands are not allowed from read-only scripts.");
    clientFree(c);
    end();
}

TEST(slot_check_of_scripts_while_the_cluster_is_down) {
    begin(false);
    slotTableSetState(SLOTS_DOWN_COVERAGE);
    client *c = newClient();
    scriptContext s;
    beginScript(&s, c, -1, false);
    scriptCalls(&s, "GET {own}1", "-ERR Can not execute a command 'get' while the cluster is down");
    scriptCalls(&s, "object encoding {own}1",
                "-ERR Can not execute a command 'object|encoding' while the cluster is down");
    scriptCalls(&s, "ping", "+PONG");
    scriptCalls(&s, "spublish {own} x", ":0");
    scriptCalls(&s, "get {none}1", NON_LOCAL);
    engine_settings.cluster_allow_reads_when_down = true;
    scriptCalls(&s, "get {own}1", "$-1");
    scriptCalls(&s, "SET {own}1 x",
                "-ERR Can not execute a write command 'set' while the cluster is down and readonly");
    converse(c, "get {own}1|$-1|set {own}1 x|-CLUSTERDOWN The cluster is down and only accepts read commands");
    clientFree(c);
    fixtureSlots(false);
    end();
}

/* ---- Blocked clients and shard channels ---- */

static client *blockedIn(const char *line, uint64_t flags, parsedCommand **p) {
    client *c = newClient();
    c->flags |= flags;
    *p = request(c, sliceStr(line));
    CHECK(c->flags & CLIENT_BLOCKED);
    CHECK_REPLY(c, "");
    return c;
}

static void checkReplyBegins(client *c, const char *want) {
    sds got = fixtureReplies(c);
    if (!CHECK(*want ? !strncmp(got, want, strlen(want)) : !*got)) fprintf(stderr, "got %s, not %s\n", got, want);
    sdsFree(got);
}

TEST(slots_changed_redirects_blocked_clients) {
    begin(false);
    parsedCommand *p[2];
    client *own = blockedIn("blpop {own}q 0", 0, &p[0]), *in = blockedIn("blpop {in}q 0", CLIENT_ASKING, &p[1]);
    CHECK(!(in->flags & CLIENT_ASKING)); /* it was for this command */
    slotsChanged();
    CHECK(own->flags & in->flags & CLIENT_BLOCKED);
    slotTableSetOpen(slotOf(0), OTHER, 0); /* keys that are written here until the slot leaves wake it */
    slotsChanged();
    CHECK(own->flags & CLIENT_BLOCKED);
    slotTableSetOpen(slotOf(0), 0, 0);
    slotTableSetOwner(slotOf(0), THIRD);
    slotTableSetOwner(slotOf(4), OWN_NODE);
    slotTableSetOpen(slotOf(4), 0, 0);
    slotsChanged();
    CHECK(!(own->flags & CLIENT_BLOCKED) && in->flags & CLIENT_BLOCKED);
    checkReplyBegins(own, "-MOVED ");
    slotTableSetOwner(slotOf(4), 0);
    slotsChanged();
    checkReplyBegins(in, "-CLUSTERDOWN Hash slot not served");
    clientFree(own);
    clientFree(in);
    recordFree(p[0]), recordFree(p[1]);
    end();
}

TEST(slots_changed_refuses_blocked_clients_of_a_cluster_that_is_down) {
    begin(false);
    parsedCommand *p[2];
    client *pop = blockedIn("blpop {own}q 0", 0, &p[0]), *read = blockedIn("xread block 0 streams {own}s 0", 0, &p[1]);
    slotTableSetState(SLOTS_DOWN_MINORITY);
    engine_settings.cluster_allow_reads_when_down = true; /* a write would have to wake it */
    slotsChanged();
    checkReplyBegins(pop, "-CLUSTERDOWN The cluster is down\r\n");
    checkReplyBegins(read, "-CLUSTERDOWN The cluster is down\r\n");
    CHECK(!((pop->flags | read->flags) & CLIENT_BLOCKED));
    clientFree(pop);
    clientFree(read);
    recordFree(p[0]), recordFree(p[1]);
    fixtureSlots(false);
    end();
}

TEST(slots_changed_redirects_blocked_clients_of_a_replica) {
    begin(true);
    parsedCommand *p;
    client *c = blockedIn("xread block 0 streams {own}s 0", CLIENT_READONLY, &p);
    slotsChanged();
    CHECK(c->flags & CLIENT_BLOCKED);
    slotTableSetOwner(slotOf(0), THIRD);
    slotsChanged();
    checkReplyBegins(c, "-MOVED ");
    clientFree(c);
    recordFree(p);
    end();
}

TEST(slots_changed_ends_subscriptions_of_slots_that_left) {
    begin(false);
    client *a = newClient(), *b = newClient();
    converse(a, "ssubscribe {own}1|*3 $10 ssubscribe $6 {own}1 :1|ssubscribe {own}2|*3 $10 ssubscribe $6 {own}2 :2"
                "|ssubscribe {out}|*3 $10 ssubscribe $5 {out} :3");
    b->resp = 3;
    converse(
        b, "ssubscribe {own}1|>3 $10 ssubscribe $6 {own}1 :1|asking|+OK|ssubscribe {in}|>3 $10 ssubscribe $4 {in} :2");
    slotsChanged();
    CHECK_EQ_INT(pubsubNames(PUBSUB_SHARD_CHANNEL), 4);
    slotTableSetOwner(slotOf(0), THIRD);
    slotsChanged();
    CHECK_EQ_INT(pubsubNames(PUBSUB_SHARD_CHANNEL), 2);
    sds got = fixtureReplies(a);
    CHECK(strstr(got, "*3\r\n$12\r\nsunsubscribe\r\n$6\r\n{own}1\r\n:") != NULL);
    CHECK(strstr(got, "*3\r\n$12\r\nsunsubscribe\r\n$6\r\n{own}2\r\n:") != NULL);
    CHECK(strstr(got, ":2\r\n") != NULL && strstr(got, ":1\r\n") != NULL);
    sdsFree(got);
    CHECK_REPLY(b, ">3\r\n$12\r\nsunsubscribe\r\n$6\r\n{own}1\r\n:1\r\n");
    clientFree(a);
    clientFree(b);
    CHECK_EQ_INT(pubsubNames(PUBSUB_SHARD_CHANNEL), 0);
    end();
}
