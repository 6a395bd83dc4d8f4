/* slot_gate_test.c -- the decision for a slot, by row: on a primary and on its replica, in the order of the errors.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "slot_gate.h"

#include "engine/slots/slot_fixture.h"
#include "panic.h"
#include "unit.h"

#include <stdio.h>

/* Letters of a row: the question. Keys: p present, m missing, d they differ. No p or m: keys do not matter. */
enum { ON_PRIMARY = 1, ON_REPLICA = 2, ANYWHERE = 3 };

static const struct {
    int where, slot;
    const char *words; /* of: cross write shard otherdb migrate asking readonly waits; keys as letters */
    const char *keys;
    slotVerdict verdict;
    uint16_t node;
} rows[] = {
    /* Keys of several slots, and none, decide before anything else. */
    {ANYWHERE, UNASSIGNED, "cross", "", SLOT_CROSS, 0},
    {ANYWHERE, -1, "cross", "", SLOT_CROSS, 0},
    {ANYWHERE, -1, "write", "", SLOT_SERVED, 0},
    {ANYWHERE, UNASSIGNED, "", "", SLOT_UNASSIGNED, 0},
    {ANYWHERE, UNASSIGNED, "shard", "", SLOT_UNASSIGNED, 0},
    {ANYWHERE, UNASSIGNED, "asking readonly", "", SLOT_UNASSIGNED, 0},
    /* Own slots and those of others. */
    {ON_PRIMARY, OWN, "", "m", SLOT_SERVED, 0},
    {ON_PRIMARY, OWN, "write otherdb", "pm", SLOT_SERVED, 0},
    {ON_PRIMARY, OWN, "migrate", "m", SLOT_SERVED, 0},
    {ANYWHERE, FOREIGN, "", "", SLOT_MOVED, THIRD},
    {ANYWHERE, FOREIGN, "asking readonly", "", SLOT_MOVED, THIRD},
    {ANYWHERE, FOREIGN, "shard", "", SLOT_MOVED, THIRD},
    {ANYWHERE, FOREIGN, "otherdb", "", SLOT_MOVED, THIRD},
    /* A replica serves reads of clients that have sent READONLY, and shard channels. */
    {ON_REPLICA, OWN, "", "p", SLOT_MOVED, PARTNER},
    {ON_REPLICA, OWN, "readonly", "m", SLOT_SERVED, 0},
    {ON_REPLICA, OWN, "readonly write", "p", SLOT_MOVED, PARTNER},
    {ON_REPLICA, OWN, "shard", "", SLOT_SERVED, 0},
    {ON_REPLICA, OWN, "asking", "p", SLOT_MOVED, PARTNER},
    /* A slot that is migrating: ASK if no key is here, TRYAGAIN if some are. */
    {ON_PRIMARY, MIGRATING, "", "p", SLOT_SERVED, 0},
    {ON_PRIMARY, MIGRATING, "", "m", SLOT_ASK, OTHER},
    {ON_PRIMARY, MIGRATING, "write", "m", SLOT_ASK, OTHER},
    {ON_PRIMARY, MIGRATING, "", "pmd", SLOT_TRY_AGAIN, 0},
    {ON_PRIMARY, MIGRATING, "", "pd", SLOT_SERVED, 0},
    {ON_PRIMARY, MIGRATING, "asking", "m", SLOT_ASK, OTHER},
    {ON_PRIMARY, MIGRATING, "", "", SLOT_SERVED, 0},
    {ON_PRIMARY, MIGRATING, "shard", "m", SLOT_SERVED, 0},
    {ON_PRIMARY, MIGRATING, "otherdb write", "p", SLOT_TRY_AGAIN, 0},
    {ON_PRIMARY, MIGRATING, "otherdb write", "", SLOT_TRY_AGAIN, 0},
    {ON_PRIMARY, MIGRATING, "migrate write", "m", SLOT_SERVED, 0},
    {ON_PRIMARY, MIGRATING, "waits", "", SLOT_SERVED, 0},
    {ON_REPLICA, MIGRATING, "", "m", SLOT_MOVED, PARTNER},
    {ON_REPLICA, MIGRATING, "readonly", "p", SLOT_SERVED, 0},
    {ON_REPLICA, MIGRATING, "readonly", "m", SLOT_ASK, OTHER},
    {ON_REPLICA, MIGRATING, "readonly", "pm", SLOT_TRY_AGAIN, 0},
    {ON_REPLICA, MIGRATING, "readonly otherdb", "p", SLOT_TRY_AGAIN, 0},
    {ON_REPLICA, MIGRATING, "readonly write", "p", SLOT_MOVED, PARTNER},
    {ON_REPLICA, MIGRATING, "readonly write migrate", "p", SLOT_MOVED, PARTNER},
    /* A slot that is imported: served after ASKING. */
    {ON_PRIMARY, IMPORTING, "", "p", SLOT_MOVED, OTHER},
    {ON_PRIMARY, IMPORTING, "asking", "m", SLOT_SERVED, 0},
    {ON_PRIMARY, IMPORTING, "asking write", "m", SLOT_SERVED, 0},
    {ON_PRIMARY, IMPORTING, "asking", "pd", SLOT_SERVED, 0},
    {ON_PRIMARY, IMPORTING, "asking", "pmd", SLOT_TRY_AGAIN, 0},
    {ON_PRIMARY, IMPORTING, "asking", "md", SLOT_TRY_AGAIN, 0},
    {ON_PRIMARY, IMPORTING, "asking", "", SLOT_SERVED, 0},
    {ON_PRIMARY, IMPORTING, "asking shard", "m", SLOT_SERVED, 0},
    {ON_PRIMARY, IMPORTING, "shard", "", SLOT_MOVED, OTHER},
    {ON_PRIMARY, IMPORTING, "otherdb", "p", SLOT_TRY_AGAIN, 0},
    {ON_PRIMARY, IMPORTING, "migrate", "p", SLOT_SERVED, 0},
    {ON_PRIMARY, IMPORTING, "asking waits", "", SLOT_SERVED, 0},
};

static slotKeys keys;
static int counted;

static slotKeys count(const void *arg) {
    CHECK(arg == &keys);
    counted++;
    return keys;
}

static slotQuestion ask(int slot, const char *words, const char *letters) {
    keys = (slotKeys){.present = strchr(letters, 'p') != NULL,
                      .missing = strchr(letters, 'm') != NULL,
                      .differ = strchr(letters, 'd') != NULL};
    return (slotQuestion){.slot = slot,
                          .cross_slot = strstr(words, "cross"),
                          .writes = strstr(words, "write"),
                          .shard_channels = strstr(words, "shard"),
                          .changes_db = strstr(words, "otherdb"),
                          .migrates = strstr(words, "migrate"),
                          .asking = strstr(words, "asking"),
                          .readonly = strstr(words, "readonly"),
                          .waits = strstr(words, "waits"),
                          .count = *letters ? count : NULL,
                          .arg = &keys};
}

static void checkRows(int where) {
    for (size_t i = 0; i < array_len(rows); i++) {
        if (!(rows[i].where & where)) continue;
        slotQuestion q = ask(rows[i].slot, rows[i].words, rows[i].keys);
        counted = 0;
        slotAnswer a = slotDecide(&q);
        bool right = CHECK_EQ_INT(a.verdict, rows[i].verdict);
        right &= CHECK_EQ_INT(a.node, rows[i].node);
        if (!right) fprintf(stderr, "row %zu: %s\n", i, rows[i].words);
        CHECK(counted <= 1 && (counted == 0 || rows[i].slot == MIGRATING || rows[i].slot == IMPORTING));
    }
}

/* Rows are asked forwards twice: no answer depends on the one before. */
TEST(each_row_has_its_answer) {
    panicSetMainThread();
    fixtureSlots(false);
    checkRows(ON_PRIMARY);
    checkRows(ON_PRIMARY);
    fixtureSlots(true);
    checkRows(ON_REPLICA);
    checkRows(ON_REPLICA);
    slotTableClear();
}

static slotVerdict decide(int slot, const char *words, const char *letters) {
    slotQuestion q = ask(slot, words, letters);
    return slotDecide(&q).verdict;
}

/* While the cluster is down a slot without owner and MOVE from an open slot have their own errors, and slots of other
 * nodes do not. */
TEST(a_cluster_that_is_down_serves_what_it_is_configured_to_serve) {
    panicSetMainThread();
    for (int replica = 0; replica < 2; replica++) {
        fixtureSlots(replica);
        slotTableSetState(replica ? SLOTS_DOWN_MINORITY : SLOTS_DOWN_COVERAGE);
        CHECK_EQ_INT(decide(OWN, "cross", ""), SLOT_CROSS);
        CHECK_EQ_INT(decide(-1, "write", ""), SLOT_SERVED);
        CHECK_EQ_INT(decide(UNASSIGNED, "", ""), SLOT_UNASSIGNED);
        CHECK_EQ_INT(decide(MIGRATING, "otherdb readonly", "p"), SLOT_TRY_AGAIN);
        CHECK_EQ_INT(decide(MIGRATING, "migrate", "p"), SLOT_DOWN);
        CHECK_EQ_INT(decide(IMPORTING, "asking", "p"), SLOT_DOWN);
        CHECK_EQ_INT(decide(OWN, "readonly", "p"), SLOT_DOWN);
        CHECK_EQ_INT(decide(FOREIGN, "", "p"), SLOT_DOWN);
        CHECK_EQ_INT(decide(OWN, "shard", ""), SLOT_SERVED);
        CHECK_EQ_INT(decide(FOREIGN, "shard", ""), SLOT_MOVED);
        engine_settings.cluster_allow_reads_when_down = true;
        CHECK_EQ_INT(decide(OWN, "readonly", "p"), SLOT_SERVED);
        CHECK_EQ_INT(decide(OWN, "readonly write", "p"), SLOT_DOWN_READS);
        CHECK_EQ_INT(decide(OWN, "readonly waits", ""), SLOT_DOWN);
        CHECK_EQ_INT(decide(FOREIGN, "readonly", "p"), SLOT_MOVED);
        CHECK_EQ_INT(decide(FOREIGN, "write", "p"), SLOT_DOWN_READS);
        CHECK_EQ_INT(decide(MIGRATING, "readonly", "m"), SLOT_ASK);
        engine_settings.cluster_allow_pubsubshard_when_down = false;
        CHECK_EQ_INT(decide(OWN, "shard", ""), SLOT_DOWN);
        CHECK_EQ_INT(decide(FOREIGN, "shard", ""), SLOT_DOWN);
        slotTableSetState(SLOTS_UP);
        CHECK_EQ_INT(decide(OWN, "readonly", "p"), SLOT_SERVED);
        CHECK_EQ_INT(decide(OWN, "shard", ""), SLOT_SERVED);
    }
    slotTableClear();
    fixtureSlots(false);
    slotTableClear();
}

TEST(errors_have_the_words_that_clients_know) {
    static const struct {
        slotVerdict verdict;
        const char *text;
    } texts[] = {
        {SLOT_CROSS, "-CROSSSLOT Keys in request don't hash to the same slot"},
        {SLOT_UNASSIGNED, "-CLUSTERDOWN Hash slot not served"},
        {SLOT_TRY_AGAIN, "-TRYAGAIN Multiple keys request during rehashing of slot"},
        {SLOT_DOWN, "-CLUSTERDOWN The cluster is down"},
        {SLOT_DOWN_READS, "-CLUSTERDOWN The cluster is down and only accepts read commands"},
        {SLOT_ASK, "-ASK 11 10.0.0.4:7004"},
        {SLOT_MOVED, "-MOVED 11 10.0.0.4:7004"},
    };
    panicSetMainThread();
    fixtureSlots(false);
    for (size_t i = 0; i < array_len(texts); i++) {
        sds text = slotErrorText((slotAnswer){texts[i].verdict, THIRD}, FOREIGN, (slotAsker){false, false});
        CHECK_EQ_STR(text, texts[i].text);
        sdsFree(text);
    }
    engine_settings.cluster_preferred_endpoint_type = ENDPOINT_HOSTNAME;
    sds text = slotErrorText((slotAnswer){SLOT_MOVED, THIRD}, FOREIGN, (slotAsker){false, false});
    CHECK_EQ_STR(text, "-MOVED 11 ?:7004");
    sdsFree(text);
    slotTableClear();
    fixtureSlots(false);
    slotTableClear();
}
