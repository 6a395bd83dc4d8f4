/* manager_plan_test.c -- plans for clusters, compared with what each plan has to achieve and with naive planners.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "manager_plan.h"
#include "unit.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODES 12

static const char *const host_names[] = {"h0", "h1", "h2", "h3", "h4", "h5", "h6", "h7", "h8", "h9"};

/* ---- create ------------------------------------------------------------------------------------------------------ */

/* Returns the smallest number of replicas on the host of their primary, with the primaries that the plan has chosen:
 * assigns the replicas in every possible way. */
static int fewest(const createPlan *p, const char *const *hosts, size_t at, int *places) {
    int best = 1000;
    while (at < p->count && p->primary_of[at] == (int)at) at++;
    if (at >= p->count) return 0;
    for (size_t i = 0; i < p->count; i++) {
        if (places[i] == 0) continue;
        places[i]--;
        int same = strcmp(hosts[at], hosts[i]) == 0;
        int got = same + fewest(p, hosts, at + 1, places);
        places[i]++;
        if (got < best) best = got;
    }
    return best;
}

TEST(plan_create_gives_each_slot_an_owner_and_each_primary_replicas) {
    uint64_t seed = unitRandomSeed();
    for (int round = 0; round < 500; round++) {
        const char *hosts[40];
        size_t count = 1 + unitRandom(&seed) % 40, replicas = unitRandom(&seed) % 4;
        size_t kinds = 1 + unitRandom(&seed) % 10;
        for (size_t i = 0; i < count; i++) hosts[i] = host_names[unitRandom(&seed) % kinds];
        createPlan p;
        bool made = planCreate(&p, hosts, count, replicas);
        CHECK_EQ_INT(made, count >= replicas + 1);
        int has[40] = {0}, owners[HASH_SLOTS] = {0}, once = 0;
        size_t primaries = 0;
        for (size_t i = 0; made && i < count; i++) {
            int primary = p.primary_of[i];
            CHECK(primary >= 0 && primary < (int)count && p.primary_of[primary] == primary);
            if (primary != (int)i) has[primary]++;
            else primaries++;
            for (int slot = p.first[i]; primary == (int)i && slot <= p.last[i]; slot++) owners[slot]++;
        }
        for (int slot = 0; slot < HASH_SLOTS; slot++) once += owners[slot] == 1;
        if (made) CHECK_EQ_INT(once, HASH_SLOTS);
        if (made) CHECK_EQ_INT(primaries, count / (replicas + 1));
        for (size_t i = 0; made && i < count; i++) {
            if (p.primary_of[i] != (int)i) continue;
            CHECK(has[i] >= (int)replicas);
            int size = p.last[i] - p.first[i] + 1;
            CHECK(abs(size - HASH_SLOTS / (int)primaries) <= 1);
        }
        createPlanFree(&p);
    }
}

TEST(plan_create_keeps_replicas_away_from_their_primary) {
    uint64_t seed = unitRandomSeed();
    for (int round = 0; round < 300; round++) {
        const char *hosts[9];
        size_t count = 2 + unitRandom(&seed) % 8, replicas = 1 + unitRandom(&seed) % 2;
        size_t kinds = 1 + unitRandom(&seed) % 4;
        for (size_t i = 0; i < count; i++) hosts[i] = host_names[unitRandom(&seed) % kinds];
        createPlan p;
        int places[9] = {0};
        if (planCreate(&p, hosts, count, replicas)) {
            for (size_t i = 0; i < count; i++)
                if (p.primary_of[i] != (int)i) places[p.primary_of[i]]++;
            CHECK_EQ_INT(p.same_host, fewest(&p, hosts, 0, places));
        }
        createPlanFree(&p);
    }
}

TEST(plan_create_spreads_primaries_and_replicas_over_hosts) {
    static const char *const hosts[] = {"a", "a", "a", "b", "b", "b", "c", "c", "c"};
    createPlan p;
    if (!CHECK(planCreate(&p, hosts, 9, 2))) return;
    CHECK_EQ_INT(p.same_host, 0);
    for (int i = 0; i < 9; i++) {
        CHECK_EQ_INT(p.primary_of[i] == i, i % 3 == 0);
        for (int j = 0; j < i; j++)
            if (p.primary_of[i] == p.primary_of[j]) CHECK(strcmp(hosts[i], hosts[j]) != 0);
    }
    CHECK_EQ_INT(p.first[3], 5461);
    CHECK_EQ_INT(p.last[3], 10922);
    createPlanFree(&p);
}

/* ---- moves ------------------------------------------------------------------------------------------------------- */

static void makeView(managerView *v, size_t count) {
    static managerNode nodes[NODES];
    memset(nodes, 0, sizeof(nodes));
    *v = (managerView){nodes, count};
    for (size_t i = 0; i < count; i++) {
        snprintf(nodes[i].id, sizeof(nodes[i].id), "%040zu", i);
        nodes[i].flags = NODE_PRIMARY;
    }
}

/* A random view: runs of slots with random owners, and sometimes none. */
static void randomView(managerView *v, size_t count, uint64_t *seed) {
    makeView(v, count);
    for (int slot = 0; slot < HASH_SLOTS;) {
        size_t owner = unitRandom(seed) % (count + (unitRandom(seed) % 8 == 0));
        int run = 1 + (int)(unitRandom(seed) % 3000);
        for (; run-- > 0 && slot < HASH_SLOTS; slot++)
            if (owner < count) managerSetSlot(&v->nodes[owner], slot, true);
    }
}

/* Executes the moves, and checks that each takes a slot from its owner. */
static bool execute(managerView *v, const movePlan *p) {
    bool ok = true;
    for (size_t i = 0; i < p->count; i++) {
        const slotMove *move = &p->moves[i];
        ok &= CHECK(move->from != move->to && managerOwns(&v->nodes[move->from], move->slot));
        managerSetSlot(&v->nodes[move->from], move->slot, false);
        managerSetSlot(&v->nodes[move->to], move->slot, true);
    }
    return ok;
}

TEST(plan_reshard_takes_from_sources_in_proportion) {
    uint64_t seed = unitRandomSeed();
    for (int round = 0; round < 300; round++) {
        managerView v;
        movePlan p;
        size_t count = 2 + unitRandom(&seed) % (NODES - 2), sources = 0;
        int from[NODES], before[NODES], all = 0, slots = (int)(unitRandom(&seed) % 20000);
        randomView(&v, count, &seed);
        for (size_t i = 1; i < count; i++)
            if (unitRandom(&seed) % 2) from[sources++] = (int)i;
        for (size_t i = 0; i < sources; i++) all += before[i] = v.nodes[from[i]].slot_count;
        planReshard(&p, &v, from, sources, 0, slots);
        int want = slots < all ? slots : all;
        CHECK_EQ_INT(p.count, want);
        execute(&v, &p);
        for (size_t i = 0; i < sources; i++) {
            double exact = all ? (double)want * before[i] / all : 0;
            int took = before[i] - v.nodes[from[i]].slot_count;
            CHECK(took > exact - 1.001 && took < exact + 1.001);
        }
        movePlanFree(&p);
    }
}

TEST(plan_reshard_takes_the_lowest_slots) {
    managerView v;
    movePlan p;
    int from[] = {0};
    makeView(&v, 2);
    for (int slot = 100; slot < 200; slot++) managerSetSlot(&v.nodes[0], slot, true);
    planReshard(&p, &v, from, 1, 1, 3);
    CHECK_EQ_INT(p.count, 3);
    for (int i = 0; i < 3; i++) CHECK_EQ_INT(p.moves[i].slot, 100 + i);
    movePlanFree(&p);
}

/* After the moves each node has its share, to a slot, and no slot has moved without need. */
TEST(plan_rebalance_gives_each_node_its_share) {
    uint64_t seed = unitRandomSeed();
    for (int round = 0; round < 300; round++) {
        managerView v;
        movePlan p;
        double weights[NODES], sum = 0;
        size_t count = 1 + unitRandom(&seed) % (NODES - 1);
        int before[NODES], all = 0, must = 0;
        randomView(&v, count, &seed);
        for (size_t i = 0; i < count; i++) {
            weights[i] = unitRandom(&seed) % 5 ? (double)(unitRandom(&seed) % 30) / 10 : -1;
            before[i] = v.nodes[i].slot_count;
            if (weights[i] < 0) continue;
            sum += weights[i];
            all += before[i];
        }
        planRebalance(&p, &v, weights, 0);
        execute(&v, &p);
        for (size_t i = 0; i < count; i++) {
            int has = v.nodes[i].slot_count;
            if (weights[i] < 0 || sum == 0) CHECK_EQ_INT(has, before[i]);
            else CHECK(has > all * weights[i] / sum - 1.001 && has < all * weights[i] / sum + 1.001);
            must += has > before[i] ? has - before[i] : 0;
        }
        CHECK_EQ_INT(p.count, must);
        movePlanFree(&p);
    }
}

TEST(plan_rebalance_does_nothing_within_the_threshold) {
    managerView v;
    movePlan p;
    double equal[] = {1, 1}, with_empty[] = {1, 1, 1}, none[] = {1, 0};
    makeView(&v, 3);
    for (int slot = 0; slot < HASH_SLOTS; slot++) managerSetSlot(&v.nodes[slot < 8100 ? 0 : 1], slot, true);
    v.count = 2;
    planRebalance(&p, &v, equal, 2);
    CHECK_EQ_INT(p.count, 0);
    movePlanFree(&p);
    planRebalance(&p, &v, equal, 0.5);
    CHECK_EQ_INT(p.count, 92);
    movePlanFree(&p);
    planRebalance(&p, &v, none, 2);
    CHECK_EQ_INT(p.count, HASH_SLOTS - 8100);
    movePlanFree(&p);
    v.count = 3;
    planRebalance(&p, &v, with_empty, 2);
    CHECK_EQ_INT(p.count, 5461);
    movePlanFree(&p);
}

/* ---- fix --------------------------------------------------------------------------------------------------------- */

static void openAs(managerView *v, int node, bool importing, int other) {
    static openSlot slots[NODES];
    managerNode *n = &v->nodes[node];
    n->open = &slots[node];
    n->open_count = 1;
    slots[node] = (openSlot){.slot = 7, .importing = importing};
    memcpy(slots[node].other, v->nodes[other].id, sizeof(slots[node].other));
}

static sds listOf(const int *nodes, size_t count) {
    sds out = sdsEmpty();
    for (size_t i = 0; i < count; i++) out = sdsCatPrintf(out, "%s%d", i ? "," : "", nodes[i]);
    return out;
}

/* Returns the plan for slot 7 as text: "owner[ take][ finish] givers losers". */
static sds fixText(const managerView *v, const long long *keys) {
    fixPlan p;
    planFix(&p, v, 7, keys);
    sds givers = listOf(p.givers, p.giver_count), losers = listOf(p.losers, p.loser_count);
    sds out = sdsCatPrintf(sdsEmpty(), "%d%s%s from {%s} close {%s}", p.owner, p.take ? " take" : "",
                           p.finish ? " finish" : "", givers, losers);
    sdsFree(givers);
    sdsFree(losers);
    fixPlanFree(&p);
    return out;
}

/* One row per kind of damage: owners, nodes that import from or migrate to another, keys. */
typedef struct fixCase {
    const char *owners;                                              /* a digit for each */
    int migrating, migrates_to, importing, imports_from, importing2; /* -1: none */
    long long keys[4];
    const char *want;
} fixCase;

TEST(plan_fix_has_a_plan_for_each_kind_of_damage) {
    static const fixCase cases[] = {
        /* a move that was begun ends */
        {"0", 0, 1, 1, 0, -1, {3, 2, 0, 0}, "1 finish from {0} close {0}"},
        {"0", 0, 1, 1, 0, -1, {0, 0, 0, 0}, "1 finish from {} close {0}"},
        {"0", 0, 1, 1, 0, 2, {3, 2, 1, 0}, "1 finish from {0,2} close {0,2}"},
        /* half of it was begun: undone */
        {"0", -1, -1, 1, 0, -1, {3, 2, 0, 0}, "0 from {1} close {1}"},
        {"0", -1, -1, 1, 0, 2, {0, 2, 2, 0}, "0 from {1,2} close {1,2}"},
        {"0", 0, 1, -1, -1, -1, {3, 0, 0, 0}, "0 from {} close {0}"},
        {"0", 0, 1, -1, -1, -1, {3, 4, 0, 0}, "0 from {1} close {0,1}"},
        {"0", 0, 1, 2, 0, -1, {3, 4, 0, 0}, "0 from {1} close {0,1,2}"},
        {"0", 1, 2, -1, -1, -1, {3, 0, 0, 0}, "0 from {} close {1}"},
        {"0", 1, 0, -1, -1, -1, {3, 5, 0, 0}, "0 from {1} close {1}"},
        /* no owner */
        {"", -1, -1, -1, -1, -1, {0, 0, 0, 0}, "3 take from {} close {}"},
        {"", -1, -1, -1, -1, -1, {0, 1, 0, 0}, "1 take from {} close {}"},
        {"", -1, -1, -1, -1, -1, {2, 3, 1, 0}, "1 take from {0,2} close {0,2}"},
        {"", 0, 1, 1, 0, 2, {0, 0, 0, 0}, "1 take from {} close {0,1,2}"},
        {"", 0, 1, -1, -1, -1, {0, 0, 0, 0}, "0 take from {} close {0}"},
        {"", 0, 1, 1, 0, 2, {0, 0, 5, 0}, "2 take from {} close {0,1,2}"},
        /* several owners */
        {"01", -1, -1, -1, -1, -1, {0, 0, 0, 0}, "1 take from {} close {0}"},
        {"01", -1, -1, -1, -1, -1, {9, 3, 2, 0}, "0 take from {1,2} close {1,2}"},
        {"01", -1, -1, -1, -1, -1, {1, 1, 9, 0}, "1 take from {0,2} close {0,2}"},
        {"012", 0, 1, 1, 0, -1, {0, 0, 1, 0}, "2 take from {} close {0,1}"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const fixCase *c = &cases[i];
        managerView v;
        makeView(&v, 4);
        v.nodes[1].epoch = 5;                                                   /* the greatest */
        for (int j = 0; j < 3; j++) managerSetSlot(&v.nodes[j], 100 + j, true); /* node 3 has fewest slots */
        for (const char *owner = c->owners; *owner; owner++) managerSetSlot(&v.nodes[*owner - '0'], 7, true);
        if (c->migrating >= 0) openAs(&v, c->migrating, false, c->migrates_to);
        if (c->importing >= 0) openAs(&v, c->importing, true, c->imports_from);
        if (c->importing2 >= 0) openAs(&v, c->importing2, true, c->imports_from);
        sds got = fixText(&v, c->keys);
        CHECK_EQ_STR(got, c->want);
        sdsFree(got);
    }
}

/* A slot that is open at a replica alone is closed at its primary, which passes it on. */
TEST(plan_fix_closes_slots_of_replicas) {
    managerView v;
    long long keys[4] = {4, 0, 9, 0};
    makeView(&v, 3);
    managerSetSlot(&v.nodes[0], 7, true);
    v.nodes[2].flags = NODE_REPLICA;
    memcpy(v.nodes[2].primary_id, v.nodes[1].id, sizeof(v.nodes[2].primary_id));
    openAs(&v, 2, true, 0);
    sds got = fixText(&v, keys);
    CHECK_EQ_STR(got, "0 from {} close {1}");
    memcpy(v.nodes[2].primary_id, v.nodes[0].id, sizeof(v.nodes[2].primary_id));
    sdsFree(got);
    got = fixText(&v, keys);
    CHECK_EQ_STR(got, "0 from {} close {0}");
    sdsFree(got);
}

/* After any damage: one owner, all keys at it, and no slot left open. */
TEST(plan_fix_repairs_random_damage) {
    uint64_t seed = unitRandomSeed();
    for (int round = 0; round < 20000; round++) {
        managerView v;
        long long keys[NODES], left = 0;
        fixPlan p;
        size_t count = 1 + unitRandom(&seed) % 6;
        makeView(&v, count);
        for (size_t i = 0; i < count; i++) {
            keys[i] = (long long)(unitRandom(&seed) % 3);
            v.nodes[i].epoch = unitRandom(&seed) % 4;
            if (unitRandom(&seed) % 3 == 0) managerSetSlot(&v.nodes[i], 7, true);
            if (count > 1 && unitRandom(&seed) % 2)
                openAs(&v, (int)i, unitRandom(&seed) % 2, (int)(unitRandom(&seed) % count));
        }
        planFix(&p, &v, 7, keys);
        if (!CHECK(p.owner >= 0 && !(p.take && p.finish))) return;
        bool owned = managerOwns(&v.nodes[p.owner], 7);
        CHECK(owned || p.take || p.finish);
        if (p.take || p.finish) managerSetSlot(&v.nodes[p.owner], 7, true);
        if (p.finish) v.nodes[p.owner].open_count = 0;
        for (size_t i = 0; i < p.giver_count; i++) keys[p.givers[i]] = 0;
        for (size_t i = 0; i < p.loser_count; i++) {
            v.nodes[p.losers[i]].open_count = 0;
            if (p.losers[i] != p.owner) managerSetSlot(&v.nodes[p.losers[i]], 7, false);
        }
        for (size_t i = 0; i < count; i++) {
            CHECK_EQ_INT(managerOwns(&v.nodes[i], 7), (int)i == p.owner);
            CHECK_EQ_INT(v.nodes[i].open_count, 0);
            if ((int)i != p.owner) left += keys[i];
        }
        CHECK_EQ_INT(left, 0);
        fixPlanFree(&p);
    }
}
