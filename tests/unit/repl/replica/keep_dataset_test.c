/* keep_dataset_test.c -- when a replica keeps its dataset from an empty one, and when no longer.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "keep_dataset.h"

#include "clock.h"
#include "db.h"
#include "keyspace_events.h"
#include "log.h"
#include "panic.h"
#include "repl_settings.h"
#include "repl_stream.h"
#include "unit.h"

#include <unistd.h>

#define FIRST "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define SECOND "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define FOREIGN "cccccccccccccccccccccccccccccccccccccccc"
#define OTHER "dddddddddddddddddddddddddddddddddddddddd"

static void setUp(void) {
    panicSetMainThread();
    logSetLevel(LL_NOTHING);
    clockInit();
    if (!dbCount()) dbInit(16); /* other tests of the program may have done that */
    repl_settings.keep_from_empty_s = 60;
    repl_settings.backlog_size = 16384;
    replSettingsSetPrimary("127.0.0.1", 6379);
    replStreamTakeWrites(false);
    replStreamFollow(SECOND, 10);
    replStreamContinueAs(FIRST);
    keepDatasetForget();
    dbEmpty(-1, false);
    slice key = sliceStr("key");
    dbAddTake(dbGet(9), objectCreateString(key, key, false, 0), hashedKeyOf(key));
}

/* Leaves nothing behind for other tests. */
static void tearDown(void) {
    dbEmpty(-1, false);
    keepDatasetForget();
    replSettingsSetPrimary(NULL, 0);
    replStreamDrop();
}

TEST(a_dataset_is_kept_from_a_new_identity_only) {
    setUp();
    CHECK(keepDatasetMatters());
    CHECK(!keepDatasetFrom(FIRST) && !keepDatasetFrom(SECOND) && !keepDatasetFrom(""));
    CHECK(!keepDatasetFrom("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"));
    CHECK(!keepDatasetFigures().keeps);
    CHECK_EQ_INT(keepDatasetFigures().since_s, -1);
    CHECK(keepDatasetFrom(FOREIGN) && keepDatasetFigures().keeps);
    CHECK_EQ_INT(keepDatasetFigures().since_s, 0);
    keepDatasetYields();
    CHECK(!keepDatasetFigures().keeps);
    dbEmpty(-1, false);
    CHECK(!keepDatasetMatters() && !keepDatasetFrom(FOREIGN));
    tearDown();
}

TEST(consent_holds_until_the_link_is_up) {
    setUp();
    CHECK(keepDatasetFrom(FOREIGN));
    keepDatasetConsent();
    CHECK(!keepDatasetFigures().keeps && !keepDatasetMatters());
    CHECK(!keepDatasetFrom(FOREIGN) && !keepDatasetFrom(OTHER));
    keepDatasetForget();
    CHECK(keepDatasetMatters() && keepDatasetFrom(FOREIGN));
    repl_settings.keep_from_empty_s = 0;
    CHECK(!keepDatasetMatters() && !keepDatasetFrom(FOREIGN));
    tearDown();
}

TEST(the_time_is_counted_for_each_identity) {
    setUp();
    repl_settings.keep_from_empty_s = 1;
    uint64_t begin_ms = clockMonotonicMs();
    CHECK(keepDatasetFrom(FOREIGN));
    uint64_t until_ms = keepDatasetFigures().until_ms;
    CHECK(until_ms >= begin_ms + 1000 && until_ms <= clockMonotonicMs() + 1000);
    usleep(300000);
    CHECK(keepDatasetFrom(FOREIGN));
    CHECK(keepDatasetFigures().until_ms == until_ms);
    while (clockMonotonicMs() < until_ms) usleep(10000);
    CHECK(keepDatasetFrom(OTHER));
    CHECK(keepDatasetFigures().until_ms > until_ms);
    until_ms = keepDatasetFigures().until_ms;
    while (clockMonotonicMs() < until_ms) usleep(10000);
    CHECK(!keepDatasetFrom(OTHER) && !keepDatasetFigures().keeps);
    tearDown();
}
