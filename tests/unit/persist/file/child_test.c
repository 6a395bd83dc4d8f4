/* child_test.c -- the life of a forked child: its state, its reports, every way in which it ends.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "child.h"

#include "clock.h"
#include "log.h"
#include "panic.h"
#include "shared_pages.h"
#include "unit.h"
#include "zmalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static aeEventLoop *loop;
static childEnd last;
static int ends;
static int settled; /* in a child: its purpose */

static void settle(childPurpose purpose) { settled = (int)purpose; }

static void ended(void *arg, const childEnd *how) {
    CHECK(arg == &last);
    CHECK_EQ_INT(childRunning(), CHILD_NONE);
    CHECK_EQ_INT(childPid(), 0);
    last = *how;
    ends++;
}

static void setUp(void) {
    if (!loop) {
        panicSetMainThread();
        logSetLevel(LL_NOTHING);
        clockInit();
        loop = aeCreateEventLoop(128);
        childInit(loop, settle);
    }
    last = (childEnd){0};
    ends = 0;
}

static bool start(bool (*work)(void *)) {
    childJob job = {.purpose = CHILD_RDB, .work = work, .ended = ended, .arg = &last};
    bool started = childStart(&job);
    if (started) CHECK(sharedPages() && childRunning() == CHILD_RDB && childPid() > 0);
    return started;
}

/* Runs loop iterations until the child has ended, or `until` holds. */
static void iterateUntil(bool (*until)(void)) {
    unitLimit limit = unitLimitStart(20000);
    while (!ends && !(until && until()) && CHECK(!unitLimitOver(&limit))) {
        aeProcessEvents(loop, AE_ALL_EVENTS | AE_DONT_WAIT);
        usleep(1000);
    }
}

static void checkGone(void) {
    iterateUntil(NULL);
    CHECK_EQ_INT(ends, 1);
    CHECK(!sharedPages());
    CHECK_EQ_INT(childFiguresNow().keys_total, 0);
    CHECK_EQ_INT(childFiguresNow().keys_done, 0);
}

static bool succeed(void *arg) { return arg == &last && settled == CHILD_RDB; }

static bool fail(void *arg) {
    unused(arg);
    return false;
}

TEST(child_ends_as_its_work_says) {
    setUp();
    long long forks = childForks();
    CHECK(start(succeed));
    checkGone();
    CHECK(last.ok && !last.on_purpose && last.signal == 0 && last.exit_code == 0 && last.pid > 0);
    setUp();
    CHECK(start(fail));
    checkGone();
    CHECK(!last.ok && !last.on_purpose && last.signal == 0 && last.exit_code == 1);
    CHECK_EQ_INT(childForks(), forks + 2);
    CHECK(childLastForkUs() > 0);
    childResetStats();
    CHECK_EQ_INT(childForks(), 0);
}

static bool goOn(void *arg) {
    unused(arg);
    for (size_t keys = 1; keys > 0; keys++) {
        childProgress(NULL, keys);
        usleep(10000);
    }
    return false;
}

static bool hasTold(void) { return childFiguresNow().keys_done > 0; }

TEST(child_is_killed) {
    setUp();
    CHECK(start(goOn));
    iterateUntil(hasTold);
    CHECK(childFiguresNow().cow_peak_bytes > 0);
    childKill();
    checkGone();
    CHECK(!last.ok && last.on_purpose && last.signal == SIGUSR1);
    setUp();
    CHECK(start(goOn));
    kill(childPid(), SIGKILL);
    checkGone();
    CHECK(!last.ok && !last.on_purpose && last.signal == SIGKILL);
    setUp();
    CHECK(start(goOn));
    childKillAndWait();
    CHECK_EQ_INT(ends, 1);
    CHECK(last.on_purpose && !sharedPages());
    childKillAndWait(); /* no child: does nothing */
    CHECK_EQ_INT(ends, 1);
}

TEST(child_that_tells_nothing_is_found_at_the_tick) {
    setUp();
    CHECK(start(succeed));
    unitLimit limit = unitLimitStart(20000);
    while (!ends && CHECK(!unitLimitOver(&limit))) {
        childTick();
        usleep(1000);
    }
    CHECK(last.ok);
}

#define WRITTEN ((size_t)8 << 20)
static char *written;

static bool hasSeenWrites(void) { return childFiguresNow().cow_bytes >= WRITTEN; }

TEST(child_tells_of_pages_that_its_parent_has_written) {
    setUp();
    written = zmalloc(WRITTEN);
    memset(written, 1, WRITTEN);
    CHECK(start(goOn));
    memset(written, 2, WRITTEN);
    iterateUntil(hasSeenWrites);
    CHECK(hasSeenWrites());
    CHECK(childFiguresNow().cow_age_s <= 10);
    childKillAndWait();
    CHECK(last.cow_bytes >= WRITTEN);
    zfree(written);
}

static int parents_fd;

/* Checks that only the standard streams and the pipe are open, that no signal is blocked, and that SIGTERM and SIGUSR1
 * end the process. */
static bool isClean(void *arg) {
    sigset_t blocked;
    struct sigaction term, usr1;
    unused(arg);
    sigprocmask(SIG_SETMASK, NULL, &blocked);
    sigaction(SIGTERM, NULL, &term);
    sigaction(SIGUSR1, NULL, &usr1);
    bool closed = fcntl(parents_fd, F_GETFD) == -1 && errno == EBADF;
    for (int fd = 4; fd < 128; fd++) closed &= fcntl(fd, F_GETFD) == -1;
    return closed && !sigismember(&blocked, SIGUSR1) && !sigismember(&blocked, SIGTERM) && term.sa_handler == SIG_DFL &&
           usr1.sa_handler == SIG_DFL && fcntl(3, F_GETFD) != -1;
}

static void onTerm(int signo) { unused(signo); }

TEST(child_begins_clean) {
    setUp();
    parents_fd = open("/dev/null", O_RDONLY);
    void (*before)(int) = signal(SIGTERM, onTerm);
    CHECK(start(isClean));
    checkGone();
    CHECK(last.ok);
    signal(SIGTERM, before);
    close(parents_fd);
}

TEST(child_that_cannot_be_leaves_all_as_it_was) {
    struct rlimit before, none;
    setUp();
    getrlimit(RLIMIT_NOFILE, &before);
    none = before;
    none.rlim_cur = 3;
    setrlimit(RLIMIT_NOFILE, &none);
    errno = 0;
    CHECK(!start(succeed));
    CHECK_EQ_INT(errno, EMFILE);
    setrlimit(RLIMIT_NOFILE, &before);
    CHECK(!sharedPages());
    CHECK_EQ_INT(childRunning(), CHILD_NONE);
    CHECK(start(succeed));
    checkGone();
}

/* A parent that exits at once and leaves a child. */
static void beShortLived(void *arg) {
    unused(arg);
    CHECK(start(goOn));
    printf("%d\n", (int)childPid());
    fflush(stdout);
    _exit(0);
}

TEST(child_ends_with_its_parent) {
    char output[32];
    setUp();
    unitInChild(beShortLived, NULL, output, sizeof(output));
    pid_t pid = (pid_t)atoi(output);
    CHECK(pid > 0);
    unitLimit limit = unitLimitStart(20000);
    while (kill(pid, 0) == 0 && CHECK(!unitLimitOver(&limit))) usleep(10000);
}
