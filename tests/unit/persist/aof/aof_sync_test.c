/* aof_sync_test.c -- a sync in the background: the bytes that it covers, its error, and that it needs no memory.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "aof_sync.h"

#include "rdb_test_file.h"
#include "unit.h"
#include "zmalloc.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

static _Atomic int ends;

static void ended(void *arg) {
    CHECK(arg == &ends);
    atomic_fetch_add(&ends, 1);
}

static void waitForEnd(const aofSync *s) {
    for (unitLimit limit = unitLimitStart(20000); !aofSyncHasEnded(s) && CHECK(!unitLimitOver(&limit));) usleep(100);
}

TEST(aof_sync_tells_what_it_covers_and_its_error) {
    aofSync s;
    uint64_t covers = 0;
    int error = -1;
    rdbTestReset(); /* starts the background threads */
    FILE *file = tmpfile();
    if (!CHECK(file != NULL)) return;
    atomic_store(&ends, 0);
    aofSyncInit(&s, ended, &ends);
    aofSyncWait(&s);
    CHECK(!aofSyncIsUnderWay(&s) && !aofSyncTake(&s, &covers, &error));
    aofSyncBegin(&s, fileno(file), 77);
    CHECK(aofSyncIsUnderWay(&s));
    aofSyncWait(&s);
    CHECK_EQ_INT(atomic_load(&ends), 1);
    CHECK(aofSyncIsUnderWay(&s) && aofSyncTake(&s, &covers, &error));
    CHECK(covers == 77 && error == 0 && !aofSyncIsUnderWay(&s));
    aofSyncBegin(&s, -1, 78);
    aofSyncWait(&s);
    CHECK(aofSyncTake(&s, &covers, &error) && covers == 78);
    CHECK_EQ_INT(error, EBADF);
    CHECK_EQ_INT(atomic_load(&ends), 2);
    fclose(file);
}

/* Memory allocated here and freed by the syncing thread would be noticed as well. */
TEST(aof_sync_needs_no_memory) {
    aofSync s;
    uint64_t covers;
    int error;
    rdbTestReset();
    FILE *file = tmpfile();
    if (!CHECK(file != NULL)) return;
    aofSyncInit(&s, ended, &ends);
    int64_t held = zmallocThreadHeld();
    for (uint64_t i = 1; i <= 100; i++) {
        aofSyncBegin(&s, fileno(file), i);
        waitForEnd(&s);
        CHECK(aofSyncTake(&s, &covers, &error) && covers == i && error == 0);
    }
    CHECK_EQ_INT(zmallocThreadHeld(), held);
    aofSyncWait(&s);
    fclose(file);
}
