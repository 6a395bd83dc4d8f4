/* keyspace_events_test.c -- classes of events as text.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "store_support.h"

/* Pairs of what CONFIG SET takes and CONFIG GET shows, from the reference server. */
TEST(notify_classes_print_in_the_field_order) {
    static const char *const pairs[][2] = {{"KEA", "AKE"},
                                           {"A", "A"},
                                           {"KE", "KE"},
                                           {"g", "g"},
                                           {"AKEmn", "AKEm"},
                                           {"g$lshzxetd", "A"},
                                           {"", ""},
                                           {"g$lshzxetdKEmn", "AKEm"},
                                           {"nmEKtdexzhsl$g", "AKEm"},
                                           {"mK", "Km"},
                                           {"KEg$n", "g$nKE"},
                                           {"An", "A"},
                                           {"ndtexg", "gxetdn"},
                                           {"mnd", "dnm"},
                                           {"xx", "x"}};
    for (size_t i = 0; i < array_len(pairs); i++) {
        int classes;
        char text[NOTIFY_TEXT_SIZE];
        CHECK(notifyParseClasses(sliceStr(pairs[i][0]), &classes));
        CHECK_EQ_INT(notifyPrintClasses(text, classes), strlen(pairs[i][1]));
        CHECK_EQ_STR(text, pairs[i][1]);
    }
    int classes = 77;
    CHECK(!notifyParseClasses(sliceStr("KQ"), &classes));
    CHECK_EQ_INT(classes, 77);
}

TEST(notify_passes_only_classes_that_are_on) {
    storeReset();
    store_settings.notify_events = NOTIFY_EXPIRED;
    notifyKeyspaceEvent(NOTIFY_NEW, "new", sliceStr("k"), 0);
    CHECK_EQ_INT(ears.new, 0);
    notifyKeyspaceEvent(NOTIFY_EXPIRED, "expired", sliceStr("k"), 0);
    CHECK_EQ_INT(ears.expired, 1);
}
