/* manager_view_test.c -- replies to CLUSTER NODES as a view, and what a check finds in it.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "bits.h"
#include "manager_check.h"
#include "unit.h"
#include <string.h>

#define A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define C "cccccccccccccccccccccccccccccccccccccccc"

static const char three[] = B " 127.0.0.1:7001@17001,db.example myself,master - 0 1700 12 connected 0 5-7 16383 [6->-" A
                              "] [9-<-" A "]\n" A " ::1:7002@17002,,tls-port=0 master,fail - 1 2 3 disconnected 1-4\n" C
                              " :0@0 slave,noaddr " A " 0 0 3 disconnected\r\n";

TEST(manager_view_parses_nodes) {
    managerView v;
    if (!CHECK(managerViewParse(&v, sliceStr(three)))) return;
    CHECK_EQ_INT(v.count, 3);
    CHECK_EQ_STR(v.nodes[0].id, B);
    CHECK_EQ_STR(v.nodes[0].host, "127.0.0.1");
    CHECK_EQ_STR(v.nodes[0].hostname, "db.example");
    CHECK_EQ_INT(v.nodes[0].port, 7001);
    CHECK_EQ_INT(v.nodes[0].bus_port, 17001);
    CHECK_EQ_INT(v.nodes[0].epoch, 12);
    CHECK_EQ_INT(v.nodes[0].slot_count, 5);
    CHECK_EQ_INT(v.nodes[0].flags, NODE_MYSELF | NODE_PRIMARY);
    CHECK_EQ_STR(v.nodes[0].primary_id, "");
    CHECK_EQ_INT(v.nodes[0].open_count, 2);
    const openSlot *migrating = managerOpenSlot(&v.nodes[0], 6), *importing = managerOpenSlot(&v.nodes[0], 9);
    CHECK(migrating && !migrating->importing && strcmp(migrating->other, A) == 0);
    CHECK(importing && importing->importing && strcmp(importing->other, A) == 0);
    CHECK(managerOpenSlot(&v.nodes[0], 5) == NULL);
    CHECK_EQ_STR(v.nodes[1].host, "::1");
    CHECK(v.nodes[1].hostname == NULL);
    CHECK_EQ_INT(v.nodes[1].flags, NODE_PRIMARY | NODE_FAILED);
    CHECK_EQ_STR(v.nodes[2].host, "");
    CHECK_EQ_INT(v.nodes[2].flags, NODE_REPLICA | NODE_UNKNOWN);
    CHECK_EQ_STR(v.nodes[2].primary_id, A);
    CHECK_EQ_INT(managerFind(&v, A), 1);
    CHECK_EQ_INT(managerFind(&v, "a"), -1);
    CHECK_EQ_INT(managerFindMyself(&v), 0);
    managerCountReplicas(&v);
    CHECK_EQ_INT(v.nodes[1].replicas, 1);
    CHECK_EQ_INT(v.nodes[0].replicas, 0);
    sds opinion = managerOpinion(&v);
    CHECK_EQ_STR(opinion, A ":[1-4]\n" B ":[0],[5-7],[16383]\n");
    sdsFree(opinion);
    managerViewFree(&v);
}

TEST(manager_view_rejects_malformed_lines) {
    static const char *const bad[] = {
        "x",
        A,
        A " 127.0.0.1:7001@17001 master - 0 0 1",
        A " 127.0.0.1 master - 0 0 1 connected",
        A " 127.0.0.1:70010@1 master - 0 0 1 connected",
        A " 127.0.0.1:7001@x master - 0 0 1 connected",
        A " 127.0.0.1:7001@1 master zz 0 0 1 connected",
        A " 127.0.0.1:7001@1 master - 0 0 -1 connected",
        A " 127.0.0.1:7001@1 master - 0 0 1 connected 16384",
        A " 127.0.0.1:7001@1 master - 0 0 1 connected 1-16384",
        A " 127.0.0.1:7001@1 master - 0 0 1 connected 5-4",
        A " 127.0.0.1:7001@1 master - 0 0 1 connected x",
        A " 127.0.0.1:7001@1 master - 0 0 1 connected [",
        A " 127.0.0.1:7001@1 master - 0 0 1 connected [1]",
        A " 127.0.0.1:7001@1 master - 0 0 1 connected [1->-" A,
        A " 127.0.0.1:7001@1 master - 0 0 1 connected [1-=-" A "]",
        A " 127.0.0.1:7001@1 master - 0 0 1 connected [1->-a]",
        A " 127.0.0.1:7001@1 master - 0 0 1 connected [16384->-" A "]",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        managerView v;
        CHECK_EQ_STR(managerViewParse(&v, sliceStr(bad[i])) ? bad[i] : "", "");
        CHECK_EQ_INT(v.count, 0);
        managerViewFree(&v);
    }
}

/* No prefix of a reply, and no reply with one byte changed, is read beyond its end. */
TEST(manager_view_takes_any_bytes) {
    uint64_t seed = unitRandomSeed();
    char text[sizeof(three)];
    managerView v;
    for (size_t len = 0; len < sizeof(three) - 1; len++) {
        sds part = sdsNewLen(three, len);
        if (managerViewParse(&v, sdsSlice(part))) managerViewFree(&v);
        sdsFree(part);
    }
    for (int round = 0; round < 20000; round++) {
        memcpy(text, three, sizeof(text));
        text[unitRandom(&seed) % (sizeof(text) - 1)] = (char)unitRandom(&seed);
        if (managerViewParse(&v, sliceOf(text, sizeof(text) - 1))) managerViewFree(&v);
    }
}

/* Ranges of random sets, compared with sets that are written slot by slot. */
TEST(manager_slots_are_printed_as_ranges) {
    uint64_t seed = unitRandomSeed();
    for (int round = 0; round < 200; round++) {
        managerNode n = {0};
        sds want = sdsEmpty();
        int first = -1;
        int bias = 1 + (int)(unitRandom(&seed) % 4000);
        bool in = unitRandom(&seed) & 1;
        for (int slot = 0; slot < HASH_SLOTS; slot++) {
            if (unitRandom(&seed) % (uint64_t)bias == 0) in = !in;
            if (in) managerSetSlot(&n, slot, true);
            if (in && first < 0) first = slot;
            bool ends = first >= 0 && (!in || slot == HASH_SLOTS - 1);
            if (!ends) continue;
            int last = in ? slot : slot - 1;
            want = sdsCat(want, sdsLen(want) ? ",[" : "[");
            want = last > first ? sdsCatPrintf(want, "%d-%d]", first, last) : sdsCatPrintf(want, "%d]", first);
            first = -1;
        }
        sds got = managerCatSlots(sdsEmpty(), n.slots);
        CHECK_EQ_STR(got, want);
        CHECK_EQ_INT(n.slot_count, bitsCount(n.slots, 0, HASH_SLOTS));
        sdsFree(got);
        sdsFree(want);
    }
}

static void check(const char *text, const char *opinion_of_second, managerFaults *faults) {
    managerView v;
    if (!CHECK(managerViewParse(&v, sliceStr(text)))) return;
    for (size_t i = 0; i < v.count; i++) v.nodes[i].opinion = sdsNew(i == 1 ? opinion_of_second : "same");
    managerCheck(&v, faults);
    managerViewFree(&v);
}

TEST(manager_check_finds_faults) {
    managerFaults faults;
    check(A " h:1@1 myself,master - 0 0 1 connected 0-8000\n" B " h:2@2 master - 0 0 1 connected 8001-16383\n", "same",
          &faults);
    CHECK(managerIsSound(&faults));
    check(A " h:1@1 myself,master - 0 0 1 connected 0-8000\n" B " h:2@2 master - 0 0 1 connected 8001-16383\n", "other",
          &faults);
    CHECK(faults.disagree && !managerIsSound(&faults));
    check(A " h:1@1 myself,master - 0 0 1 connected 0-8000\n" B " h:2@2 master - 0 0 1 connected 8000-16382\n", "same",
          &faults);
    CHECK_EQ_INT(faults.owned_count, HASH_SLOTS - 1);
    CHECK_EQ_INT(faults.shared_count, 1);
    CHECK_EQ_INT(managerSlotNext(faults.shared, -1), 8000);
    CHECK_EQ_INT(managerSlotNext(faults.shared, 8000), -1);
    CHECK_EQ_INT(managerSlotNext(faults.owned, HASH_SLOTS - 1), -1);
    CHECK(!managerIsSound(&faults));
    check(A " h:1@1 myself,master - 0 0 1 connected 0-16383 [3->-" B "]\n" B " h:2@2 slave " A " 0 0 1 connected 0-5\n",
          "same", &faults);
    CHECK_EQ_INT(faults.open_count, 1);
    CHECK_EQ_INT(managerSlotNext(faults.open, -1), 3);
    CHECK_EQ_INT(faults.shared_count, 0);
    CHECK(!faults.disagree && !managerIsSound(&faults));
}
