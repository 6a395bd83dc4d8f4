/* snapshot_test.c -- repeatedly failing snapshots and how often they are logged; save points that are held. Other
 * behavior of snapshots is tested from outside (tests/persist/snapshot.tcl).
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "snapshot.h"

#include "call.h"
#include "child.h"
#include "clock.h"
#include "disk_gate.h"
#include "failing_calls.h"
#include "given_clock.h"
#include "log.h"
#include "persist_settings.h"
#include "quiet_moment.h"
#include "rdb_test_file.h"
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BEGIN_S 1800000000
#define FOLDER "folder" /* a folder in place of the file, which no rename can replace */
#define LOG ".log"

static char blocked[] = FOLDER;
static savePoint each_second = {.seconds = 1, .changes = 0};

static void settle(childPurpose purpose) { unused(purpose); }

static void setUp(void) {
    static aeEventLoop *loop;
    rdbTestReset();
    enterEmptyFolder();
    if (!loop) {
        childInit(loop = aeCreateEventLoop(64), settle);
        quietInit(loop, snapshotTick);
        gateSet(GATE_DISK, diskGate);
    }
    logSetFile(LOG);
    logSetLevel(LL_WARNING);
    givenClockSet(BEGIN_S);
    snapshotInit();
    persist_settings.dbfilename = blocked;
    persist_settings.save_points = &each_second;
    CHECK(mkdir(FOLDER, 0700) == 0);
}

static void tearDown(void) {
    givenClockSet(0);
    persist_settings.dbfilename = NULL;
    persist_settings.save_points = NULL;
    logSetFile("");
    logSetLevel(LL_NOTHING);
    unlink(LOG);
}

/* Runs a tick at this second after the begin. */
static void tickAt(int64_t s) {
    givenClockSet(BEGIN_S + s);
    snapshotTick();
}

/* Runs a tick that begins a snapshot, which fails. */
static void failAt(int64_t s) {
    unitLimit limit = unitLimitStart(20000);
    persist_settings.save_point_count = 1;
    tickAt(s);
    CHECK_EQ_INT(childRunning(), CHILD_RDB);
    persist_settings.save_point_count = 0;
    while (childRunning() != CHILD_NONE && CHECK(!unitLimitOver(&limit))) {
        snapshotTick();
        usleep(1000);
    }
    CHECK(!snapshotFiguresNow().last_ok);
}

/* Returns all log lines about it: "SECONDS since the last, SECONDS since the last attempt;" */
static const char *loggedReminders(void) {
    static char text[1 << 14], out[512];
    int fd = open(LOG, O_RDONLY);
    ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
    close(fd);
    text[n > 0 ? n : 0] = out[0] = '\0';
    for (const char *at = text; (at = strstr(at, "No snapshot has been saved for ")); at++) {
        long long since = 0, tried = 0;
        const char *attempt = strstr(at, "last attempt, ");
        CHECK(sscanf(at, "No snapshot has been saved for %lld seconds", &since) == 1);
        CHECK(attempt && sscanf(attempt, "last attempt, %lld seconds ago", &tried) == 1);
        snprintf(out + strlen(out), sizeof(out) - strlen(out), "%lld, %lld; ", since, tried);
    }
    return out;
}

TEST(failing_snapshots_are_logged_every_ten_minutes) {
    setUp();
    tickAt(1);
    failAt(10);
    tickAt(11);
    tickAt(609);
    CHECK_EQ_STR(loggedReminders(), "");
    tickAt(610);
    CHECK_EQ_STR(loggedReminders(), "610, 600; ");
    tickAt(611);
    failAt(1000);
    tickAt(1209);
    CHECK_EQ_STR(loggedReminders(), "610, 600; ");
    tickAt(1210);
    CHECK_EQ_STR(loggedReminders(), "610, 600; 1210, 210; ");
    tearDown();
}

TEST(a_snapshot_that_is_made_ends_the_reminders) {
    setUp();
    failAt(10);
    CHECK(rmdir(FOLDER) == 0);
    givenClockSet(BEGIN_S + 20);
    CHECK(snapshotWriteNow());
    CHECK(snapshotFiguresNow().last_ok);
    tickAt(5000);
    CHECK_EQ_STR(loggedReminders(), "");
    CHECK(unlink(FOLDER) == 0 && mkdir(FOLDER, 0700) == 0);
    failAt(6000);
    tickAt(6599);
    CHECK_EQ_STR(loggedReminders(), "");
    tickAt(6600);
    CHECK_EQ_STR(loggedReminders(), "6580, 600; ");
    CHECK(rmdir(FOLDER) == 0 && snapshotWriteNow());
    tearDown();
}

TEST(a_save_point_that_is_held_is_not_due_until_a_command_has_saved) {
    setUp();
    CHECK(rmdir(FOLDER) == 0);
    persist_settings.save_point_count = 1;
    CHECK(snapshotAtShutdown());
    snapshotHold(true);
    tickAt(10);
    CHECK_EQ_INT(childRunning(), CHILD_NONE);
    CHECK(!snapshotAtShutdown());
    CHECK(snapshotWriteNow());
    CHECK(snapshotAtShutdown());
    snapshotHold(true);
    snapshotHold(false);
    CHECK(unlink(FOLDER) == 0 && mkdir(FOLDER, 0700) == 0);
    failAt(100);
    CHECK(rmdir(FOLDER) == 0);
    tearDown();
}

TEST(a_child_that_has_begun_before_does_not_end_the_hold) {
    setUp();
    CHECK(rmdir(FOLDER) == 0);
    for (int held_before = 0; held_before < 2; held_before++) {
        unitLimit limit = unitLimitStart(20000);
        snapshotHold(false);
        if (held_before) snapshotHold(true);
        CHECK(snapshotStart());
        if (!held_before) snapshotHold(true);
        while (childRunning() != CHILD_NONE && CHECK(!unitLimitOver(&limit))) {
            snapshotTick();
            usleep(1000);
        }
        CHECK(snapshotFiguresNow().last_ok);
        persist_settings.save_point_count = 1;
        CHECK_EQ_INT(snapshotAtShutdown(), held_before);
        persist_settings.save_point_count = 0;
    }
    snapshotHold(false);
    tearDown();
}

static void waitForChild(void) {
    unitLimit limit = unitLimitStart(20000);
    while (childRunning() != CHILD_NONE && CHECK(!unitLimitOver(&limit))) {
        childTick();
        usleep(1000);
    }
}

/* A save point of one second waits at most a tenth of that, although save-when-quiet allows more. */
TEST(a_save_point_waits_for_a_quiet_moment_within_its_bound) {
    setUp();
    CHECK(rmdir(FOLDER) == 0);
    persist_settings.save_when_quiet_s = 3600;
    persist_settings.save_point_count = 1;
    long long saves = snapshotFiguresNow().saves;
    uint64_t begin_us = clockMonotonicUs();
    tickAt(10);
    CHECK_EQ_INT(childRunning(), CHILD_NONE);
    CHECK(quietFiguresNow().waiting && !snapshotFiguresNow().in_progress);
    CHECK(snapshotWriteNow()); /* nothing is due any more */
    tickAt(10);
    CHECK_EQ_INT(childRunning(), CHILD_NONE);
    while (childRunning() == CHILD_NONE && CHECK(clockMonotonicUs() - begin_us < 20000000)) {
        engine_stats.commands_processed += 100000;
        tickAt(20);
        usleep(1000);
    }
    CHECK(clockMonotonicUs() - begin_us >= 100000);
    CHECK(!quietFiguresNow().waiting);
    CHECK_EQ_INT(snapshotFiguresNow().saves, saves + 1);
    persist_settings.save_when_quiet_s = persist_settings.save_point_count = 0;
    waitForChild();
    /* A snapshot for replicas does not wait. */
    persist_settings.save_when_quiet_s = 3600;
    CHECK(snapshotStart());
    waitForChild();
    persist_settings.save_when_quiet_s = 0;
    tearDown();
}

static bool sleepForLong(void *arg) {
    unused(arg);
    return usleep(60000000) == 0;
}

static void otherEnded(void *arg, const childEnd *how) { unused(arg), unused(how); }

/* A child that writes for replicas never renames its file over the one that FLUSHALL has written, so no further
 * snapshot is needed after it. */
TEST(a_flush_beside_a_child_for_replicas_schedules_nothing) {
    setUp();
    CHECK(rmdir(FOLDER) == 0);
    const childJob other = {.purpose = CHILD_RDB, .work = sleepForLong, .ended = otherEnded};
    CHECK(childStart(&other));
    persist_settings.save_point_count = 1;
    snapshotAllFlushed();
    persist_settings.save_point_count = 0;
    waitForChild();
    long long saves = snapshotFiguresNow().saves;
    CHECK(snapshotStart());
    waitForChild();
    tickAt(10);
    CHECK_EQ_INT(snapshotFiguresNow().saves, saves + 1);
    waitForChild();
    tearDown();
}
