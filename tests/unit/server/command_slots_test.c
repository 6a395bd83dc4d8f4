/* command_slots_test.c -- the slot of a request: of its keys, wherever the command has them, and of shard channels.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "command_record.h"
#include "command_table.h"
#include "hash.h"
#include "panic.h"
#include "sds.h"
#include "startup.h"
#include "unit.h"

#include <stdio.h>

/* The words of a request. Keys are those of slot 'k', unless they are 'x'. */
enum { NONE, SLOT_K, CROSS, INVALID };

static const struct {
    const char *line;
    int want;
} rows[] = {
    {"get k", SLOT_K},
    {"get {k}other", SLOT_K},
    {"get a{k}b{x}", SLOT_K},
    {"get x", CROSS},
    {"mget k {k}1 {k}2", SLOT_K},
    {"mget k x", CROSS},
    {"mget k {}k", CROSS},
    {"mset k x {k}1 x", SLOT_K},
    {"mset k 1 x 1", CROSS},
    {"msetex 2 k 1 {k}2 2", SLOT_K},
    {"msetex 2 k 1 x 2", CROSS},
    {"rename k {k}1", SLOT_K},
    {"rename k x", CROSS},
    {"copy k {k}1 db 3", SLOT_K},
    {"smove k {k}1 x", SLOT_K},
    {"bitop and k {k}1 {k}2", SLOT_K},
    {"bitop and k {k}1 x", CROSS},
    {"blpop k {k}1 0", SLOT_K},
    {"blpop k x 0", CROSS},
    {"blmpop 0 2 k {k}1 left", SLOT_K},
    {"blmpop 0 2 k x left", CROSS},
    {"lmpop 1 k left", SLOT_K},
    {"zunionstore k 2 {k}1 {k}2 weights 1 2", SLOT_K},
    {"zunionstore k 2 {k}1 x", CROSS},
    {"zunionstore x 2 k {k}2", CROSS},
    {"zinter 2 k {k}1 withscores", SLOT_K},
    {"sintercard 2 k x limit 1", CROSS},
    {"pfmerge k {k}1", SLOT_K},
    {"pfcount k x", CROSS},
    {"object encoding k", SLOT_K},
    {"object help", NONE},
    {"memory usage k samples 1", SLOT_K},
    {"xread block 0 streams k {k}1 0 0", SLOT_K},
    {"xread streams k x 0 0", CROSS},
    {"xreadgroup group streams x streams k {k}1 > >", SLOT_K},
    {"xgroup create k x $", SLOT_K},
    {"xinfo stream k full", SLOT_K},
    {"sort k", SLOT_K},
    {"sort k by x_* get x store {k}1", SLOT_K},
    {"sort k store x", CROSS},
    {"sort_ro k by x", SLOT_K},
    {"georadius k 1 1 1 m", SLOT_K},
    {"georadius k 1 1 1 m store x", CROSS},
    {"georadius k 1 1 1 m storedist {k}1", SLOT_K},
    {"geosearchstore k {k}1 fromlonlat 1 1 byradius 1 m", SLOT_K},
    {"migrate 127.0.0.1 1 k 0 100", SLOT_K},
    {"migrate 127.0.0.1 1 \"\" 0 100 keys k {k}1", SLOT_K},
    {"migrate 127.0.0.1 1 \"\" 0 100 auth x keys k x", CROSS},
    {"eval x 0", NONE},
    {"eval x 0 k x", NONE},
    {"eval x 1 k x", SLOT_K},
    {"eval x 2 k x", CROSS},
    {"eval x 3 k {k}1 {k}2 x", SLOT_K},
    {"eval x 9 k", INVALID},
    {"evalsha x 2 k {k}1", SLOT_K},
    {"eval_ro x 1 k", SLOT_K},
    {"fcall x 2 k x", CROSS},
    {"fcall_ro x 1 k x", SLOT_K},
    {"watch k {k}1", SLOT_K},
    {"watch k x", CROSS},
    {"restore k 0 x", SLOT_K},
    {"restore-asking k 0 x", SLOT_K},
    {"spublish k x", SLOT_K},
    {"spublish {k}1 x", SLOT_K},
    {"ssubscribe k {k}1", SLOT_K},
    {"ssubscribe k x", CROSS},
    {"sunsubscribe k {k}1", SLOT_K},
    {"sunsubscribe k x", CROSS},
    {"sunsubscribe", NONE},
    {"clusterscan 0-{k}-0 match x", SLOT_K},
    {"publish k x", NONE},
    {"subscribe k x", NONE},
    {"pubsub shardnumsub k x", NONE},
    {"multi", NONE},
    {"exec", NONE},
    {"ping k", NONE},
    {"scan 0 match k", NONE},
    {"keys k", NONE},
    {"randomkey", NONE},
    {"dbsize", NONE},
    {"flushall", NONE},
    {"debug object k", NONE},
    {"command getkeys get k", NONE},
    {"script load k", NONE},
    {"function list", NONE},
    {"cluster keyslot k", NONE},
};

static recordArena arena;

static parsedCommand *recordOf(const char *line) {
    recordCache cache = {0};
    int argc;
    sds *words = sdsSplitArgs(line, &argc);
    parsedCommand *p = recordCreate(&arena, (size_t)argc);
    for (int i = 0; i < argc; i++) p->argv[i] = sdsSlice(words[i]);
    recordComplete(&arena, &cache, p, 0);
    if (p->value) decrRefCount(p->value);
    sdsFreeSplitRes(words, argc);
    return p;
}

static int kindOf(const parsedCommand *p) {
    int slot_k = keyHashSlot("k", 1);
    if (p->flags & REQ_KEYS_INVALID) return p->slot < 0 ? INVALID : -1;
    if (p->slot < 0) return p->flags & REQ_CROSS_SLOT ? -1 : NONE;
    return p->flags & REQ_CROSS_SLOT || p->slot != slot_k ? CROSS : SLOT_K;
}

TEST(slots_of_requests_of_all_layers) {
    static char piece[4096];
    panicSetMainThread();
    if (!commandCount()) {
        wiringCommands();
        commandTableSeal();
    }
    for (int on = 1; on >= 0; on--) {
        recordSetSlots(on);
        keyHashSetSlots(on);
        for (size_t i = 0; i < array_len(rows); i++) {
            recordArenaInit(&arena, piece, sizeof(piece));
            const parsedCommand *p = recordOf(rows[i].line);
            bool good = CHECK(p->cmd && !(p->flags & REQ_MALFORMED));
            if (on) good &= CHECK_EQ_INT(kindOf(p), rows[i].want);
            else good &= CHECK(p->slot == -1 && !(p->flags & REQ_CROSS_SLOT));
            if (!good) fprintf(stderr, "%s\n", rows[i].line);
            recordArenaFree(&arena);
        }
    }
}
