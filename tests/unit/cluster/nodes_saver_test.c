/* nodes_saver_test.c -- nodes.conf on disk: whole whatever fails or ends, never older than before, and nothing waits.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "nodes_saver.h"

#include "cluster_fixture.h"
#include "durable_file.h"
#include "forked.h"
#include "latency_internal.h"
#include "log.h"
#include "panic.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- A disk that fails, waits or stops ------------------------------------------------------------- */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* under the lock */
    bool hold_syncs;         /* a sync waits until this is false */
    int syncs_held;          /* syncs that wait */
    int calls;               /* since the last diskBegin() */
    int fail_at, fail_error; /* the call that fails; -1: none */
    int cut_at;              /* from this call on nothing has an effect, as after the end of the process; -1: never */
} disk = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

typedef enum { CALL_WORKS, CALL_FAILS, CALL_IS_CUT } callFate;

static callFate nextCall(void) {
    pthread_mutex_lock(&disk.lock);
    int call = disk.calls++;
    callFate fate = CALL_WORKS;
    if (disk.cut_at >= 0 && call >= disk.cut_at) fate = call == disk.cut_at ? CALL_IS_CUT : CALL_FAILS;
    errno = EIO;
    if (call == disk.fail_at) {
        fate = CALL_FAILS;
        errno = disk.fail_error;
    }
    pthread_mutex_unlock(&disk.lock);
    return fate;
}

static int diskOpen(const char *path, int flags, mode_t mode) {
    return nextCall() == CALL_WORKS ? open(path, flags | O_CLOEXEC, mode) : -1;
}

/* At the cut half of the bytes are written. */
static ssize_t diskWrite(int fd, const void *bytes, size_t len) {
    callFate fate = nextCall();
    if (fate == CALL_IS_CUT && write(fd, bytes, len / 2) < 0) return -1;
    errno = fate == CALL_IS_CUT ? EIO : errno;
    return fate == CALL_WORKS ? write(fd, bytes, len) : -1;
}

static int diskSync(int fd) {
    callFate fate = nextCall();
    int error = errno;
    pthread_mutex_lock(&disk.lock);
    disk.syncs_held++;
    pthread_cond_broadcast(&disk.changed);
    while (disk.hold_syncs) pthread_cond_wait(&disk.changed, &disk.lock);
    disk.syncs_held--;
    pthread_mutex_unlock(&disk.lock);
    errno = error;
    return fate == CALL_WORKS ? fsync(fd) : -1;
}

/* A descriptor is always closed: the tests have a limited number of them. */
static int diskClose(int fd) {
    callFate fate = nextCall();
    int error = errno, closed = close(fd);
    errno = error;
    return fate == CALL_WORKS ? closed : -1;
}

static int diskRename(const char *from, const char *to) { return nextCall() == CALL_WORKS ? rename(from, to) : -1; }
static int diskUnlink(const char *path) { return nextCall() == CALL_WORKS ? unlink(path) : -1; }

static const durableSystem test_disk = {.open = diskOpen,
                                        .write = diskWrite,
                                        .sync = diskSync,
                                        .close = diskClose,
                                        .rename = diskRename,
                                        .unlink = diskUnlink};

/* Makes one call fail with `error`, or cuts all from `cut_at` on; -1: neither. */
static void diskPlan(int fail_at, int error, int cut_at) {
    pthread_mutex_lock(&disk.lock);
    disk.calls = 0;
    disk.fail_at = fail_at;
    disk.fail_error = error;
    disk.cut_at = cut_at;
    pthread_mutex_unlock(&disk.lock);
}

static void diskHoldSyncs(bool hold) {
    pthread_mutex_lock(&disk.lock);
    disk.hold_syncs = hold;
    pthread_cond_broadcast(&disk.changed);
    pthread_mutex_unlock(&disk.lock);
}

static void diskAwaitHeldSync(void) {
    pthread_mutex_lock(&disk.lock);
    while (!disk.syncs_held) pthread_cond_wait(&disk.changed, &disk.lock);
    pthread_mutex_unlock(&disk.lock);
}

/* ---- Help ------------------------------------------------------------------------------------------ */

static void begin(void) {
    enterEmptyFolder();
    diskPlan(-1, 0, -1);
    logSetLevel(LL_NOTHING);
    durableSystemSet(&test_disk);
    CHECK(nodesSaverStart("nodes.conf", NULL));
}

static void end(void) {
    nodesSaverStop();
    durableSystemSet(NULL);
}

/* Checks that the next result is this one. */
static bool nextIs(uint64_t version, int error) {
    nodesSaved saved;
    if (!CHECK(nodesSaverNext(&saved))) return false;
    CHECK_EQ_INT(saved.error, error);
    return CHECK_EQ_INT(saved.version, version);
}

static bool noneIsNext(void) {
    nodesSaved saved;
    return CHECK(!nodesSaverNext(&saved));
}

/* ---- Saving ---------------------------------------------------------------------------------------- */

TEST(nodes_saver_replaces_the_file) {
    struct stat st;
    begin();
    CHECK(noneIsNext());
    CHECK_EQ_INT(nodesSaverSaveNow(1, sdsNew("one")), 0);
    CHECK_EQ_STR(fileText("nodes.conf"), "one");
    nextIs(1, 0);
    CHECK_EQ_INT(nodesSaverSaveNow(2, sdsNew("two")), 0);
    CHECK_EQ_INT(nodesSaverSaveNow(2, sdsNew("two again")), 0);
    CHECK_EQ_STR(fileText("nodes.conf"), "two again");
    nextIs(2, 0);
    nextIs(2, 0);
    CHECK(noneIsNext());
    CHECK(stat("nodes.conf", &st) == 0 && (st.st_mode & 0777 & ~0644) == 0);
    CHECK_EQ_INT(filesInFolder(), 1);
    end();
}

TEST(nodes_saver_never_waits_for_the_disk) {
    begin();
    diskHoldSyncs(true);
    nodesSaverSave(1, sdsNew("one"));
    diskAwaitHeldSync();
    CHECK_EQ_STR(fileText("nodes.conf"), "(none)");
    /* The thread waits for the sync; these calls return, and of the versions only the newest is written. */
    for (int v = 2; v < 1000; v++) nodesSaverSave((uint64_t)v, sdsCatPrintf(sdsEmpty(), "text %d", v));
    CHECK(noneIsNext());
    diskHoldSyncs(false);
    CHECK_EQ_INT(nodesSaverSaveNow(1000, sdsNew("last")), 0);
    CHECK_EQ_STR(fileText("nodes.conf"), "last");
    nextIs(1, 0);
    nodesSaved saved;
    CHECK(nodesSaverNext(&saved));
    CHECK(saved.error == 0 && (saved.version == 999 || saved.version == 1000));
    if (saved.version == 999) nextIs(1000, 0);
    CHECK(noneIsNext());
    end();
}

/* Each slow step is an event of LATENCY, when main reports it. */
TEST(nodes_saver_reports_slow_steps) {
    begin();
    panicSetMainThread();
    clockInit();
    engine_settings.latency_monitor_threshold_ms = 20;
    diskHoldSyncs(true);
    nodesSaverSave(1, sdsNew("slow"));
    diskAwaitHeldSync();
    usleep(30000);
    diskHoldSyncs(false);
    CHECK_EQ_INT(nodesSaverSaveNow(2, sdsNew("next")), 0);
    CHECK(!latencySeriesFind(sliceStr("cluster-config-fsync")));
    nodesSaverReportLatency();
    const latencySeries *series = latencySeriesFind(sliceStr("cluster-config-fsync"));
    if (CHECK(series != NULL)) CHECK(series->added == 1 && series->worst_ms >= 30);
    engine_settings.latency_monitor_threshold_ms = 0;
    end();
}

TEST(nodes_saver_never_goes_back) {
    begin();
    CHECK_EQ_INT(nodesSaverSaveNow(5, sdsNew("five")), 0);
    nodesSaverSave(4, sdsNew("four"));
    CHECK_EQ_INT(nodesSaverSaveNow(3, sdsNew("three")), 0);
    CHECK_EQ_STR(fileText("nodes.conf"), "five");
    diskHoldSyncs(true);
    nodesSaverSave(6, sdsNew("six"));
    diskAwaitHeldSync();
    nodesSaverSave(8, sdsNew("eight"));
    nodesSaverSave(7, sdsNew("seven"));
    diskHoldSyncs(false);
    CHECK_EQ_INT(nodesSaverSaveNow(7, sdsNew("seven")), 0);
    CHECK_EQ_STR(fileText("nodes.conf"), "eight");
    nextIs(5, 0);
    nextIs(6, 0);
    nextIs(8, 0);
    CHECK(noneIsNext());
    end();
}

TEST(nodes_saver_writes_what_waits_before_it_stops) {
    begin();
    diskHoldSyncs(true);
    nodesSaverSave(1, sdsNew("one"));
    diskAwaitHeldSync();
    nodesSaverSave(2, sdsNew("two"));
    diskHoldSyncs(false);
    end();
    CHECK_EQ_STR(fileText("nodes.conf"), "two");
    /* Another start begins with other versions. */
    CHECK(nodesSaverStart("nodes.conf", NULL));
    CHECK(noneIsNext());
    CHECK_EQ_INT(nodesSaverSaveNow(1, sdsNew("one")), 0);
    CHECK_EQ_STR(fileText("nodes.conf"), "one");
    nodesSaverStop();
}

static int woken;
static void countWakeup(void) { woken++; }

TEST(nodes_saver_wakes_the_loop) {
    aeEventLoop *loop = aeCreateEventLoop(16);
    aeWakeup wakeup;
    enterEmptyFolder();
    CHECK_EQ_INT(aeWakeupOpen(loop, &wakeup, countWakeup), C_OK);
    CHECK(nodesSaverStart("nodes.conf", &wakeup));
    nodesSaverSave(1, sdsNew("one"));
    unitLimit limit = unitLimitStart(60000);
    while (!woken && !unitLimitOver(&limit)) aeProcessEvents(loop, AE_ALL_EVENTS);
    CHECK_EQ_INT(woken, 1);
    nextIs(1, 0);
    nodesSaverStop();
    aeWakeupClose(&wakeup);
    aeDeleteEventLoop(loop);
}

static void *saveMany(void *first) {
    for (int i = 0; i < 300; i++) {
        uint64_t version = (uint64_t)(intptr_t)first + (uint64_t)i * 4;
        sds text = sdsCatPrintf(sdsEmpty(), "%llu", (unsigned long long)version);
        if (i % 50) nodesSaverSave(version, text);
        else CHECK_EQ_INT(nodesSaverSaveNow(version, text), 0);
    }
    return NULL;
}

TEST(nodes_saver_is_used_by_several_threads) {
    pthread_t threads[4];
    nodesSaved saved = {0};
    uint64_t last = 0;
    begin();
    for (int i = 0; i < 4; i++) CHECK(pthread_create(&threads[i], NULL, saveMany, (void *)(intptr_t)(i + 1)) == 0);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    CHECK_EQ_INT(nodesSaverSaveNow(2000, sdsNew("2000")), 0);
    while (nodesSaverNext(&saved)) {
        CHECK(saved.error == 0 && saved.version >= last);
        last = saved.version;
    }
    CHECK_EQ_INT(last, 2000);
    CHECK_EQ_STR(fileText("nodes.conf"), "2000");
    end();
}

/* ---- Names ----------------------------------------------------------------------------------------- */

TEST(nodes_saver_removes_temporary_files_of_its_name_only) {
    enterEmptyFolder();
    static const char *const kept[] = {"nodes.conf.tmp-1-",   "nodes.conf.tmp--2",   "nodes.conf.tmp-1-2x",
                                       "nodes.conf.tmp-1",    "other.conf.tmp-1-2",  "nodes.conf.tmp-1-2-3",
                                       "nodes.conf.lock",     "nodes.confx.tmp-1-2", "nodes.conf.tmp-x-2",
                                       "anodes.conf.tmp-1-2", "nodes.conf"};
    for (size_t i = 0; i < array_len(kept); i++) putFile(kept[i], "kept");
    putFile("nodes.conf.tmp-1-2", "");
    putFile("nodes.conf.tmp-4000000000-1795761507000", "");
    CHECK(symlink("nodes.conf", "nodes.conf.tmp-7-7") == 0);
    CHECK(mkdir("nodes.conf.tmp-8-8", 0755) == 0);
    CHECK(nodesSaverStart("nodes.conf", NULL));
    nodesSaverStop();
    CHECK_EQ_INT(filesInFolder(), array_len(kept) + 2);
    for (size_t i = 0; i < array_len(kept); i++) CHECK_EQ_STR(fileText(kept[i]), "kept");
}

TEST(nodes_saver_replaces_a_symbolic_link) {
    struct stat st;
    enterEmptyFolder();
    putFile("target", "old");
    CHECK(symlink("target", "nodes.conf") == 0);
    CHECK(nodesSaverStart("nodes.conf", NULL));
    CHECK_EQ_INT(nodesSaverSaveNow(1, sdsNew("one")), 0);
    CHECK(lstat("nodes.conf", &st) == 0 && S_ISREG(st.st_mode));
    CHECK_EQ_STR(fileText("target"), "old");
    nodesSaverStop();
}

TEST(nodes_saver_stays_in_the_folder_of_its_start) {
    enterEmptyFolder();
    CHECK(nodesSaverStart("nodes.conf", NULL));
    CHECK(chdir("/") == 0);
    CHECK_EQ_INT(nodesSaverSaveNow(1, sdsNew("one")), 0);
    nodesSaverStop();
    CHECK_EQ_INT(filesInFolder(), 1);
    char path[300];
    enterEmptyFolder();
    CHECK(getcwd(path, sizeof(path) - 20) != NULL);
    strcat(path, "/nodes.conf");
    CHECK(chdir("/") == 0);
    CHECK(nodesSaverStart(path, NULL));
    CHECK_EQ_INT(nodesSaverSaveNow(1, sdsNew("two")), 0);
    nodesSaverStop();
    CHECK_EQ_STR(fileText(path), "two");
}

/* ---- Faults ---------------------------------------------------------------------------------------- */

/* The calls of a save, in order. */
enum { OPEN, WRITE, SYNC, CLOSE, RENAME, OPEN_FOLDER, SYNC_FOLDER, CLOSE_FOLDER, CALLS };

TEST(nodes_saver_reports_each_failing_step) {
    begin();
    CHECK_EQ_INT(nodesSaverSaveNow(1, sdsNew("old")), 0);
    CHECK_EQ_INT(disk.calls, CALLS);
    nextIs(1, 0);
    uint64_t version = 1;
    for (int step = OPEN; step < CALLS; step++) {
        int error = step == WRITE ? ENOSPC : step == OPEN ? EROFS : EIO;
        int want = step == CLOSE_FOLDER ? 0 : error;
        diskPlan(step, error, -1);
        version++;
        CHECK_EQ_INT(nodesSaverSaveNow(version, sdsNew("new")), want);
        nextIs(version, want);
        /* Only the name of the new file may be lost by a loss of power after the rename. */
        CHECK_EQ_STR(fileText("nodes.conf"), step <= RENAME ? "old" : "new");
        CHECK_EQ_INT(filesInFolder(), 1);
        diskPlan(-1, 0, -1);
        version++;
        CHECK_EQ_INT(nodesSaverSaveNow(version, sdsNew("old")), 0);
        nextIs(version, 0);
        CHECK_EQ_STR(fileText("nodes.conf"), "old");
    }
    end();
}

TEST(nodes_saver_leaves_a_whole_file_whenever_the_process_ends) {
    for (int cut = OPEN; cut <= CALLS; cut++) {
        begin();
        CHECK_EQ_INT(nodesSaverSaveNow(1, sdsNew("old text")), 0);
        diskPlan(-1, 0, cut);
        CHECK_EQ_INT(nodesSaverSaveNow(2, sdsNew("new text")), cut < CLOSE_FOLDER ? EIO : 0);
        CHECK_EQ_STR(fileText("nodes.conf"), cut <= RENAME ? "old text" : "new text");
        CHECK_EQ_INT(filesInFolder(), cut == OPEN || cut > RENAME ? 1 : 2);
        end();
        CHECK(nodesSaverStart("nodes.conf", NULL));
        nodesSaverStop();
        CHECK_EQ_INT(filesInFolder(), 1);
    }
}

static void failOften(void *arg) {
    unused(arg);
    begin();
    logSetLevel(LL_NOTICE);
    for (uint64_t version = 1; version <= 5; version++) {
        diskPlan(WRITE, ENOSPC, -1);
        CHECK_EQ_INT(nodesSaverSaveNow(version, sdsNew("x")), ENOSPC);
    }
    for (uint64_t version = 6; version <= 10; version++) {
        diskPlan(version % 2 ? WRITE : -1, ENOSPC, -1);
        CHECK_EQ_INT(nodesSaverSaveNow(version, sdsNew("x")), version % 2 ? ENOSPC : 0);
    }
    end();
}

TEST(nodes_saver_logs_one_failure_of_many) {
    char log[2000];
    int lines = 0;
    CHECK_EQ_INT(unitInChild(failOften, NULL, log, sizeof(log)), 0);
    for (const char *p = log; (p = strchr(p, '\n')) != NULL; p++) lines++;
    CHECK_EQ_INT(lines, 2);
    CHECK(strstr(log, " # Can't write the cluster configuration file /") != NULL);
    CHECK(strstr(log, "/nodes.conf (write): No space left on device\n") != NULL);
    CHECK(strstr(log, "/nodes.conf is written again\n") != NULL);
}

static void saveInCopy(void *arg) {
    unused(arg);
    forkedBecomeCopy();
    nodesSaverSave(1, sdsNew("x"));
    printf("%s", strerror(nodesSaverSaveNow(2, sdsNew("x"))));
}

TEST(nodes_saver_does_nothing_in_a_copy_of_the_process) {
    char output[100];
    begin();
    CHECK_EQ_INT(unitInChild(saveInCopy, NULL, output, sizeof(output)), 0);
    CHECK_EQ_STR(output, "Operation not permitted");
    CHECK_EQ_INT(filesInFolder(), 0);
    end();
}

enum { KILLED_SIZE = 20000 };

/* Returns a text of equal characters, others for each version. */
static sds uniformText(uint64_t version) {
    sds text = sdsNewLen(NULL, KILLED_SIZE);
    memset(text, 'a' + (int)(version % 26), KILLED_SIZE);
    return text;
}

static void saveUntilKilled(void) {
    if (!nodesSaverStart("nodes.conf", NULL)) _exit(1);
    for (uint64_t version = 1;; version++)
        if (nodesSaverSaveNow(version, uniformText(version))) _exit(2);
}

TEST(nodes_saver_survives_kills) {
    uint64_t state = unitRandomSeed();
    enterEmptyFolder();
    CHECK(nodesSaverStart("nodes.conf", NULL));
    CHECK_EQ_INT(nodesSaverSaveNow(1, uniformText(1)), 0);
    nodesSaverStop();
    for (int i = 0; i < 40; i++) {
        pid_t pid = fork();
        if (pid == 0) saveUntilKilled();
        usleep((useconds_t)(5000 + unitRandom(&state) % 20000));
        kill(pid, SIGKILL);
        int status;
        CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
        const char *text = fileText("nodes.conf");
        struct stat st;
        CHECK(stat("nodes.conf", &st) == 0 && st.st_size == KILLED_SIZE);
        CHECK(strspn(text, (char[]){text[0], '\0'}) == strlen(text));
        CHECK(nodesSaverStart("nodes.conf", NULL));
        nodesSaverStop();
        CHECK_EQ_INT(filesInFolder(), 1);
    }
}
