/* propagate_test.c -- propagation units and their commands, as sinks get them.
 *
 * Handlers of the test report their changes. The text of a sink: commands in words, each with the number of its
 * database, and '.' after the last command of a unit.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "propagate.h"

#include "client/client_fixture.h"
#include "call.h"
#include "command_record.h"
#include "key_changed.h"
#include "unit.h"
#include "zmalloc.h"
#include <stdio.h>
#include <stdlib.h>

static sds aof, replicas;

/* Appends a command in RESP as words; long words by their length. */
static sds catWords(sds s, const char *p, size_t n) {
    const char *end = p + n;
    long argc = strtol(p + 1, (char **)(uintptr_t)&p, 10);
    CHECK(argc > 0);
    for (p += 2; argc > 0 && CHECK(p < end && *p == '$'); argc--) {
        long len = strtol(p + 1, (char **)(uintptr_t)&p, 10);
        p += 2;
        s = len > 100 ? sdsCatPrintf(s, " <%ld>", len) : sdsCatPrintf(s, " %.*s", (int)len, p);
        p += len;
        CHECK(p[0] == '\r' && p[1] == '\n');
        p += 2;
    }
    CHECK(p == end);
    return s;
}

static sds take(sds s, const propagateItem *item) {
    sds wire = sdsEmpty();
    for (uint32_t i = 0; i < item->count; i++) wire = sdsCatLen(wire, item->pieces[i].ptr, item->pieces[i].len);
    CHECK_EQ_INT(sdsLen(wire), item->bytes);
    s = item->dbid < 0 ? sdsCatPrintf(s, "-") : sdsCatPrintf(s, "%d", item->dbid);
    s = catWords(s, wire, sdsLen(wire));
    sdsFree(wire);
    return sdsCatPrintf(s, "%s", item->ends_unit ? "." : ";");
}

static void takeAof(const propagateItem *item) { aof = take(aof, item); }

static void takeReplicas(const propagateItem *item) { replicas = take(replicas, item); }

static const propagateSink aof_sink = {PROPAGATE_AOF, takeAof}, replica_sink = {PROPAGATE_REPLICAS, takeReplicas};

/* ---- Commands ---- */

static void nothing(client *c) { addReplyOk(c); }

static void change(client *c) { keyChanged(c, clientKeyAt(c, 1), NOTIFY_GENERIC, "changed", 1); }

static void changeQuietly(client *c) {
    change(c);
    propagateNothing();
}

static void two(client *c) {
    change(c);
    for (int i = 1; i <= 2; i++) {
        if (!propagateInstead(c, "PART")) continue;
        propagateArg(c->argv[1]);
        propagateNumber(i);
        propagateDone();
    }
}

static void one(client *c) {
    change(c);
    if (!propagateRewritten(c)) return;
    propagateArgs(c, 1, c->argc);
    propagateWord("REALLY");
    propagateDone();
}

static void shout(client *c) {
    propagateAsSentTo(PROPAGATE_REPLICAS);
    addReplyOk(c);
}

static void flush(client *c) { dbEmpty(dbId(c->db), false); }

static void expire(client *c) { lookupKeyRead(c->db, clientKeyAt(c, 1)); }

/* Something that is propagated beside the command, at its end (event_stream.c). */
static bool extra;

static void addExtra(void) {
    if (extra) {
        propagateServer(3, "EXTRA");
        propagateCopied(sliceStr("e"));
        propagateDone();
    }
    extra = false;
    propagateRelease();
}

static void holdExtra(void) {
    propagateHold();
    extra = true;
}

static void withExtra(client *c) {
    holdExtra();
    change(c);
}

static void quietlyWithExtra(client *c) {
    holdExtra();
    changeQuietly(c);
}

/* Runs commands within a command. */
static void within(client *c);
/* The same, as commands of another client. */
static void besides(client *c);

#define ROW(row_name, handler, row_flags) \
    { .name = row_name, .fullname = row_name, .proc = handler, .flags = (row_flags), .stats = &stats }
static commandStats stats;
static const serverCommand rows[] = {
    ROW("do-nothing", nothing, CMD_WRITE),
    ROW("do-change", change, CMD_WRITE),
    ROW("do-quiet", changeQuietly, CMD_WRITE),
    ROW("do-two", two, CMD_WRITE),
    ROW("do-one", one, CMD_WRITE),
    ROW("do-shout", shout, CMD_MAY_REPLICATE),
    ROW("do-flush", flush, CMD_WRITE),
    ROW("do-get", expire, CMD_READONLY),
    ROW("do-within", within, 0),
    ROW("do-besides", besides, CMD_READONLY),
    ROW("do-extra", withExtra, CMD_WRITE),
    ROW("do-quiet-extra", quietlyWithExtra, CMD_WRITE),
    ROW("do-scan", expire, CMD_READONLY | CMD_ARBITRARY_KEYS),
    ROW("do-touch", nothing, CMD_READONLY),
};

enum { AS_INLINE = 1, IN_DB_3 = 2 };

static void run(client *c, const char *line, int how) {
    alignas(16) char room[4096];
    recordArena arena;
    int argc;
    sds *words = sdsSplitArgs(line, &argc);
    recordArenaInit(&arena, room, sizeof(room));
    parsedCommand *p = recordCreate(&arena, (size_t)argc);
    for (int i = 0; i < argc; i++) p->argv[i] = sdsSlice(words[i]);
    for (size_t i = 0; i < array_len(rows); i++)
        if (sliceIs(p->argv[0], rows[i].name)) p->cmd = &rows[i];
    parsedCommand *detached = recordDetach(p);
    if (how & AS_INLINE) detached->flags |= REQ_INLINE;
    if (how & IN_DB_3) c->db = dbGet(3);
    monotime now = clockTicks();
    if (c->req) callQueued(c, detached, &now);
    else processCommand(c, detached, &now);
    recordFree(detached);
    recordArenaFree(&arena);
    sdsFreeSplitRes(words, argc);
    c->db = dbGet(0);
}

static const char *script;

/* Runs the lines of `script`. */
static void within(client *c) {
    const char *at = script;
    while (*at) {
        size_t len = strcspn(at, "|");
        sds line = sdsNewLen(at, len);
        run(c, line, 0);
        sdsFree(line);
        at += len + (at[len] == '|');
    }
}

static void besides(client *c) {
    propagateOuter unit;
    bool suspended = propagateSuspend(&unit);
    addReplyBool(c, suspended);
    if (!suspended) return;
    within(c);
    propagateResume(&unit);
}

static client *c;

static void begin(void) {
    if (!aof) {
        fixtureInit();
        objectTypesRegister();
        propagateInit();
        propagateAddSink(&aof_sink);
        propagateAddSink(&replica_sink);
        aof = sdsEmpty();
        replicas = sdsEmpty();
        c = fixtureClient(2);
        c->authenticated = true;
    }
    sdsClear(aof);
    sdsClear(replicas);
}

static void addExpired(const char *name) {
    hashedKey key = hashedKeyOf(sliceStr(name));
    dbAddTake(dbGet(0), objectSetExpireTake(objectCreateInteger(key.name, 1, true, object_main_owner), 1), key);
    keyspaceSettle(dbGet(0), key.hash);
    storeSetNowMs(1000);
}

static void check(const char *line, int how, const char *want) {
    sdsClear(aof);
    run(c, line, how);
    if (!CHECK_EQ_STR(aof, want)) printf("    %s\n", line);
    sdsFree(fixtureReplies(c));
}

TEST(a_command_is_propagated_as_it_was_sent) {
    begin();
    check("do-nothing k", 0, "");
    check("Do-change k", 0, "0 Do-change k.");
    check("Do-change k v", AS_INLINE, "0 Do-change k v.");
    check("do-change k", IN_DB_3, "3 do-change k.");
    check("do-quiet k", 0, "");
    check("do-flush", 0, "0 do-flush.");
    check("do-get nothere", 0, "");
}

TEST(a_handler_says_what_stands_for_its_command) {
    begin();
    check("Do-one k", 0, "0 Do-one k REALLY.");
    check("do-two k", 0, "- MULTI;0 PART k 1;0 PART k 2;- EXEC.");
}

TEST(a_long_argument_is_referred_to) {
    begin();
    sds line = sdsNew("do-one k ");
    for (int i = 0; i < 9000; i++) line = sdsCatLen(line, "x", 1);
    check(line, 0, "0 do-one k <9000> REALLY.");
    script = line;
    check("do-within", 0, "- MULTI;0 do-one k <9000> REALLY;- EXEC.");
    script = "do-one k|do-change k";
    check("do-within", 0, "- MULTI;0 do-one k REALLY;0 do-change k;- EXEC.");
    sdsFree(line);
}

TEST(what_runs_within_a_command_is_one_unit) {
    static const char *const cases[][2] = {
        {"", ""},
        {"do-nothing k", ""},
        {"do-change k", "0 do-change k."},
        {"do-nothing k|do-one k|do-quiet k", "0 do-one k REALLY."},
        {"do-change k|do-change l", "- MULTI;0 do-change k;0 do-change l;- EXEC."},
        {"do-two k", "- MULTI;0 PART k 1;0 PART k 2;- EXEC."},
        {"do-change k|do-two k|do-one k", "- MULTI;0 do-change k;0 PART k 1;0 PART k 2;0 do-one k REALLY;- EXEC."},
    };
    begin();
    for (size_t i = 0; i < array_len(cases); i++) {
        script = cases[i][0];
        check("do-within", 0, cases[i][1]);
    }
}

TEST(what_others_run_in_the_middle_of_a_command_is_no_part_of_it) {
    begin();
    script = "do-change k|do-two k|do-nothing k|do-one k";
    check("do-besides", 0, "0 do-change k.- MULTI;0 PART k 1;0 PART k 2;- EXEC.0 do-one k REALLY.");
    check("do-change k", 0, "0 do-change k.");
}

TEST(some_get_only_what_is_for_them) {
    begin();
    run(c, "do-shout k", 0);
    CHECK_EQ_STR(aof, "");
    CHECK_EQ_STR(replicas, "0 do-shout k.");
    begin();
    script = "do-shout k|do-change k|do-shout l";
    run(c, "do-within", 0);
    CHECK_EQ_STR(aof, "- MULTI;0 do-change k;- EXEC.");
    CHECK_EQ_STR(replicas, "- MULTI;0 do-shout k;0 do-change k;0 do-shout l;- EXEC.");
    begin();
    script = "do-shout k|do-shout l";
    run(c, "do-within", 0);
    CHECK_EQ_STR(aof, "");
    CHECK_EQ_STR(replicas, "- MULTI;0 do-shout k;0 do-shout l;- EXEC.");
    propagateRemoveSink(&replica_sink);
    begin();
    script = "do-shout k|do-change k";
    run(c, "do-within", 0);
    CHECK_EQ_STR(aof, "0 do-change k.");
    CHECK_EQ_STR(replicas, "");
    propagateAddSink(&replica_sink);
    sdsFree(fixtureReplies(c));
}

TEST(what_the_server_removes_stands_before_the_command) {
    begin();
    addExpired("k");
    check("do-get k", 0, "0 UNLINK k.");
    store_settings.lazyfree_expire = false;
    addExpired("k");
    check("do-get k", 0, "0 DEL k.");
    store_settings.lazyfree_expire = true;
    addExpired("k");
    addExpired("l");
    script = "do-get k|do-get l|do-change m";
    check("do-within", 0, "- MULTI;0 UNLINK k;0 UNLINK l;0 do-change m;- EXEC.");
    addExpired("k");
    sdsClear(aof);
    lookupKeyRead(dbGet(0), hashedKeyOf(sliceStr("k")));
    CHECK_EQ_STR(aof, "0 UNLINK k.");
}

TEST(what_follows_a_command_is_in_its_unit) {
    begin();
    propagateOnCommandEnd(addExtra);
    check("do-extra k", 0, "- MULTI;0 do-extra k;3 EXTRA e;- EXEC.");
    check("do-quiet-extra k", 0, "3 EXTRA e.");
    check("do-change k", 0, "0 do-change k."); /* nothing follows it */
    script = "do-extra k|do-change l|do-quiet-extra m";
    check("do-within", 0, "- MULTI;0 do-extra k;3 EXTRA e;0 do-change l;3 EXTRA e;- EXEC.");
    sds line = sdsNew("do-extra ");
    for (int i = 0; i < 20000; i++) line = sdsCatLen(line, "x", 1);
    check(line, 0, "- MULTI;0 do-extra <20000>;3 EXTRA e;- EXEC.");
    sdsFree(line);
    propagateOnCommandEnd(NULL);
}

TEST(a_removal_is_held_until_what_follows_it) {
    begin();
    propagateOnCommandEnd(addExtra);
    addExpired("k");
    addExpired("l");
    holdExtra();
    lookupKeyRead(dbGet(0), hashedKeyOf(sliceStr("k")));
    holdExtra();
    lookupKeyRead(dbGet(0), hashedKeyOf(sliceStr("l")));
    CHECK(propagateIsHeld());
    addExtra();
    CHECK(!propagateIsHeld());
    CHECK_EQ_STR(aof, "- MULTI;0 UNLINK k;0 UNLINK l;3 EXTRA e;- EXEC.");
    /* The next command begins a unit of its own. */
    addExpired("k");
    holdExtra();
    lookupKeyRead(dbGet(0), hashedKeyOf(sliceStr("k")));
    check("do-change m", 0, "- MULTI;0 UNLINK k;3 EXTRA e;- EXEC.0 do-change m.");
    /* Removals by SCAN are not held, but those after it are. */
    addExpired("k");
    check("do-scan k", 0, "0 UNLINK k.");
    addExpired("k");
    sdsClear(aof);
    holdExtra();
    lookupKeyRead(dbGet(0), hashedKeyOf(sliceStr("k")));
    addExtra();
    CHECK_EQ_STR(aof, "- MULTI;0 UNLINK k;3 EXTRA e;- EXEC.");
    holdExtra(); /* nothing is removed after all */
    extra = false;
    sdsClear(aof);
    addExtra();
    CHECK_EQ_STR(aof, "");
    propagateOnCommandEnd(NULL);
}
