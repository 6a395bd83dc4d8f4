/* aof_test.c -- the results of two cuts: each is reported to the rewrite that has asked for that cut. Other behavior of
 * the log on main is tested from outside (tests/persist/aof.tcl, tests/persist/rewrite.tcl).
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "aof.h"

#include "aof_system.h"
#include "failing_calls.h"
#include "log.h"
#include "persist_settings.h"
#include "rdb_test_file.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static aofSystem calls;
static int cuts_made, cut_to_fail; /* the AOF thread's: number of cuts, and of the one that fails */

/* Opens a file. A cut is what opens an increment that it also empties. */
static int openUnlessToFail(const char *path, int flags, mode_t mode) {
    if (strstr(path, ".incr.aof") && flags & O_TRUNC && ++cuts_made == cut_to_fail) {
        errno = ENOSPC;
        return -1;
    }
    return open(path, flags | O_CLOEXEC, mode);
}

typedef struct cutResult {
    int reports;
    bool ok;
    int error;
} cutResult;
static cutResult older, newer;

static void onOlder(bool ok, int error) { older = (cutResult){older.reports + 1, ok, error}; }

static void onNewer(bool ok, int error) { newer = (cutResult){newer.reports + 1, ok, error}; }

static void setUp(int fails) {
    static char stem[] = "a", folder[] = "log";
    static bool started;
    rdbTestReset();
    enterEmptyFolder();
    logSetLevel(LL_NOTHING);
    if (!started) aofInit();
    started = true;
    cuts_made = 0;
    cut_to_fail = fails;
    older = newer = (cutResult){0};
    calls = *aofSystemNow();
    calls.open = openUnlessToFail;
    aofSystemSet(&calls);
    persist_settings.appendonly = true;
    persist_settings.appendfsync = FSYNC_NO;
    persist_settings.appendfilename = stem;
    persist_settings.appenddirname = folder;
    CHECK(aofStart(false));
}

static void tearDown(void) {
    aofStop();
    aofSystemSet(NULL);
    persist_settings.appendonly = false;
    persist_settings.appendfilename = persist_settings.appenddirname = NULL;
    CHECK(system("rm -r log") == 0);
}

/* Asks for a cut as a rewrite does whose child fails, and for another one before the result of the first is there. */
static void cutTwice(void) {
    aofCut(onOlder);
    aofCut(onNewer);
    for (unitLimit limit = unitLimitStart(20000); !newer.reports && CHECK(!unitLimitOver(&limit)); usleep(1000))
        aofTick();
}

TEST(a_failed_cut_does_not_fail_the_rewrite_after_its_own) {
    setUp(1);
    cutTwice();
    CHECK_EQ_INT(older.reports, 0);
    CHECK_EQ_INT(newer.reports, 1);
    CHECK(newer.ok);
    tearDown();
}

TEST(a_good_cut_does_not_hide_that_the_one_of_the_next_rewrite_has_failed) {
    setUp(2);
    cutTwice();
    CHECK_EQ_INT(older.reports, 0);
    CHECK_EQ_INT(newer.reports, 1);
    CHECK(!newer.ok);
    CHECK_EQ_INT(newer.error, ENOSPC);
    tearDown();
}
