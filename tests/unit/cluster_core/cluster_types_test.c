/* cluster_types_test.c -- names of nodes and sets of slots.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cluster_types.h"
#include "unit.h"

TEST(slot_sets_against_an_array) {
    uint64_t rng = unitRandomSeed();
    for (int round = 0; round < 50; round++) {
        static bool model[CLUSTER_SLOTS];
        slotSet set = {{0}};
        size_t count = 0, in_runs = 0;
        unsigned runs = (unsigned)(unitRandom(&rng) % 40), first = 0, last;
        memset(model, 0, sizeof(model));
        for (unsigned r = 0; r < runs; r++) {
            unsigned at = (unsigned)(unitRandom(&rng) % CLUSTER_SLOTS), len = (unsigned)(unitRandom(&rng) % 300);
            bool add = unitRandom(&rng) % 4 != 0;
            for (unsigned s = at; s < CLUSTER_SLOTS && s < at + len; s++) {
                model[s] = add;
                if (add) slotSetAdd(&set, s);
                else slotSetRemove(&set, s);
            }
        }
        for (unsigned s = 0; s < CLUSTER_SLOTS; s++) count += model[s];
        CHECK_EQ_INT(slotSetCount(&set), count);
        for (; slotSetRun(&set, &first, &last); first = last + 1) {
            CHECK(last < CLUSTER_SLOTS && (first == 0 || !model[first - 1]) &&
                  (last + 1 == CLUSTER_SLOTS || !model[last + 1]));
            for (unsigned s = first; s <= last; s++) CHECK(model[s] && slotSetHas(&set, s));
            in_runs += last - first + 1;
        }
        CHECK_EQ_INT(in_runs, count);
    }
}

TEST(node_ids_have_small_letters_and_digits) {
    nodeId id;
    memset(&id, 0, sizeof(id));
    CHECK(nodeIdIsNone(&id) && !nodeIdIsValid(&id));
    memset(id.text, 'z', NODE_ID_LEN);
    CHECK(!nodeIdIsNone(&id) && nodeIdIsValid(&id));
    static const char wrong[] = {'A', '-', '/', ':', '`', '{', '\n', (char)0xe4};
    for (size_t i = 0; i < sizeof(wrong); i++) {
        id.text[NODE_ID_LEN - 1] = wrong[i];
        CHECK(!nodeIdIsValid(&id));
    }
}
