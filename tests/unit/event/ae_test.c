/* ae_test.c -- file events, timers, stale events, wakeups; every test with each backend.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ae.h"
#include "clock.h"
#include "unit.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define SETSIZE 128
#define ITERATE_NOW (AE_ALL_EVENTS | AE_DONT_WAIT)

typedef void loopTest(aeEventLoop *loop);

static void withEachBackend(loopTest *test) {
    static const char *const names[] = {
#ifdef __linux__
        "epoll",
#endif
        "poll",
    };
    clockInit();
    for (size_t i = 0; i < array_len(names); i++) {
        setenv("AE_BACKEND", names[i], 1);
        aeEventLoop *loop = aeCreateEventLoop(SETSIZE);
        unsetenv("AE_BACKEND");
        if (!CHECK(loop != NULL)) return;
        CHECK_EQ_STR(aeApiName(loop), names[i]);
        test(loop);
        aeDeleteEventLoop(loop);
    }
}

static void openPair(int fds[2]) {
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) == 0);
}

static void closePair(const int fds[2]) {
    close(fds[0]);
    close(fds[1]);
}

/* ------------------------------------------------------------------------------------------- files */

static char trace[64];

static void note(char c) {
    size_t len = strlen(trace);
    if (len + 1 < sizeof(trace)) {
        trace[len] = c;
        trace[len + 1] = '\0';
    }
}

static void noteRead(aeEventLoop *loop, int fd, void *arg, int mask) {
    unused(loop), unused(fd), unused(arg), unused(mask);
    note('r');
}

static void noteWrite(aeEventLoop *loop, int fd, void *arg, int mask) {
    unused(loop), unused(fd), unused(arg), unused(mask);
    note('w');
}

static void noteMask(aeEventLoop *loop, int fd, void *arg, int mask) {
    unused(loop), unused(fd), unused(arg);
    note((char)('0' + mask));
}

static const char *iteration(aeEventLoop *loop) {
    trace[0] = '\0';
    aeProcessEvents(loop, ITERATE_NOW);
    return trace;
}

static void testDirections(aeEventLoop *loop) {
    int fds[2];
    openPair(fds);
    CHECK(aeCreateFileEvent(loop, fds[0], AE_READABLE, noteRead, NULL) == C_OK);
    CHECK_EQ_STR(iteration(loop), "");
    CHECK(write(fds[1], "x", 1) == 1);
    CHECK_EQ_STR(iteration(loop), "r");
    CHECK_EQ_STR(iteration(loop), "r"); /* level-triggered */

    CHECK(aeCreateFileEvent(loop, fds[0], AE_WRITABLE, noteWrite, NULL) == C_OK);
    CHECK_EQ_INT(aeGetFileEvents(loop, fds[0]), AE_READABLE | AE_WRITABLE);
    CHECK_EQ_STR(iteration(loop), "rw");

    aeDeleteFileEvent(loop, fds[0], AE_WRITABLE);
    CHECK_EQ_INT(aeGetFileEvents(loop, fds[0]), AE_READABLE);
    CHECK_EQ_STR(iteration(loop), "r");
    aeDeleteFileEvent(loop, fds[0], AE_READABLE);
    CHECK_EQ_STR(iteration(loop), "");
    aeDeleteFileEvent(loop, fds[0], AE_READABLE);

    CHECK(aeCreateFileEvent(loop, fds[0], AE_READABLE | AE_WRITABLE, noteMask, NULL) == C_OK);
    CHECK_EQ_STR(iteration(loop), "3"); /* a handler for both directions runs once */
    aeDeleteFileEvent(loop, fds[0], AE_READABLE | AE_WRITABLE);
    closePair(fds);
}
TEST(ae_directions) { withEachBackend(testDirections); }

static void testHangUp(aeEventLoop *loop) {
    int fds[2];
    openPair(fds);
    CHECK(aeCreateFileEvent(loop, fds[0], AE_READABLE, noteRead, NULL) == C_OK);
    close(fds[1]);
    CHECK_EQ_STR(iteration(loop), "r");
    aeDeleteFileEvent(loop, fds[0], AE_READABLE);
    CHECK(aeCreateFileEvent(loop, fds[0], AE_WRITABLE, noteWrite, NULL) == C_OK);
    CHECK_EQ_STR(iteration(loop), "w");
    aeDeleteFileEvent(loop, fds[0], AE_WRITABLE);
    close(fds[0]);
}
TEST(ae_hang_up_reaches_whoever_is_registered) { withEachBackend(testHangUp); }

/* A handler that does not read is called when the peer has closed its half, and not before. */
static void testHangUpWithoutReading(aeEventLoop *loop) {
    int fds[2];
    openPair(fds);
    CHECK(aeCreateFileEvent(loop, fds[0], AE_READABLE, noteRead, NULL) == C_OK);
    CHECK(write(fds[1], "x", 1) == 1);
    CHECK_EQ_STR(iteration(loop), "r");
    CHECK(aeCreateFileEvent(loop, fds[0], AE_HANGUP, noteMask, NULL) == C_OK);
    CHECK_EQ_INT(aeGetFileEvents(loop, fds[0]), AE_HANGUP);
    CHECK_EQ_STR(iteration(loop), "");
    CHECK(aeCreateFileEvent(loop, fds[0], AE_WRITABLE, noteWrite, NULL) == C_OK);
    CHECK_EQ_STR(iteration(loop), "w");
    shutdown(fds[1], SHUT_WR);
    CHECK_EQ_STR(iteration(loop), "6w"); /* both of them, for the first handler */
    aeDeleteFileEvent(loop, fds[0], AE_WRITABLE);
    CHECK_EQ_STR(iteration(loop), "4");
    CHECK(aeCreateFileEvent(loop, fds[0], AE_READABLE, noteRead, NULL) == C_OK);
    CHECK_EQ_INT(aeGetFileEvents(loop, fds[0]), AE_READABLE);
    CHECK_EQ_STR(iteration(loop), "r");
    CHECK(aeCreateFileEvent(loop, fds[0], AE_HANGUP, noteMask, NULL) == C_OK);
    aeDeleteFileEvent(loop, fds[0], AE_HANGUP);
    CHECK_EQ_STR(iteration(loop), "");
    CHECK(aeCreateFileEvent(loop, fds[0], AE_HANGUP, noteMask, NULL) == C_OK);
    close(fds[1]);
    CHECK_EQ_STR(iteration(loop), "4");
    aeDeleteFileEvent(loop, fds[0], AE_HANGUP);
    close(fds[0]);
}
TEST(ae_hang_up_reaches_who_does_not_read) { withEachBackend(testHangUpWithoutReading); }

static void testErrors(aeEventLoop *loop) {
    int fds[2];
    openPair(fds);
    close(fds[1]);
    CHECK(aeCreateFileEvent(loop, SETSIZE, AE_READABLE, noteRead, NULL) == C_ERR && errno == ERANGE);
    CHECK(aeCreateFileEvent(loop, -1, AE_READABLE, noteRead, NULL) == C_ERR && errno == ERANGE);
    CHECK(aeCreateFileEvent(loop, fds[1], AE_READABLE, noteRead, NULL) == C_ERR && errno == EBADF);
    CHECK_EQ_INT(aeGetFileEvents(loop, fds[1]), AE_NONE);

    CHECK(aeCreateFileEvent(loop, fds[0], AE_READABLE, noteRead, NULL) == C_OK);
    CHECK(aeResizeSetSize(loop, fds[0]) == C_ERR);
    CHECK(aeResizeSetSize(loop, fds[0] + 1) == C_OK);
    CHECK_EQ_INT(aeGetSetSize(loop), fds[0] + 1);
    CHECK_EQ_STR(iteration(loop), "r");
    CHECK(aeResizeSetSize(loop, SETSIZE * 2) == C_OK);
    CHECK_EQ_STR(iteration(loop), "r");
    /* The descriptor is closed before its event is deleted: the kernel refuses, and the loop forgets it. */
    close(fds[0]);
    aeDeleteFileEvent(loop, fds[0], AE_READABLE);
    CHECK_EQ_INT(aeGetFileEvents(loop, fds[0]), AE_NONE);
    CHECK_EQ_STR(iteration(loop), "");
}
TEST(ae_errors_and_resize) { withEachBackend(testErrors); }

/* The first of two ready descriptors removes the other. */
typedef struct rivals {
    int fds[2][2];
    int ran;
    bool reopen;
    int reopened[2];
} rivals;

static void staleRan(aeEventLoop *loop, int fd, void *arg, int mask) {
    unused(loop), unused(fd), unused(arg), unused(mask);
    note('!');
}

static void removeRival(aeEventLoop *loop, int fd, void *arg, int mask) {
    rivals *r = arg;
    int other = fd == r->fds[0][0] ? 1 : 0;
    unused(mask);
    r->ran++;
    aeDeleteFileEvent(loop, r->fds[other][0], AE_READABLE);
    if (!r->reopen) return;
    /* The number is reused at once for a descriptor without input. */
    int number = r->fds[other][0];
    close(number);
    int fresh[2];
    openPair(fresh);
    int keep = fresh[0] == number ? fresh[1] : fresh[0];
    CHECK(fresh[0] == number || fresh[1] == number);
    r->fds[other][0] = number;
    r->reopened[0] = number;
    r->reopened[1] = keep;
    CHECK(aeCreateFileEvent(loop, number, AE_READABLE, staleRan, NULL) == C_OK);
}

static void testStale(aeEventLoop *loop, bool reopen) {
    rivals r = {.reopen = reopen};
    for (int i = 0; i < 2; i++) {
        openPair(r.fds[i]);
        CHECK(write(r.fds[i][1], "x", 1) == 1);
        CHECK(aeCreateFileEvent(loop, r.fds[i][0], AE_READABLE, removeRival, &r) == C_OK);
    }
    CHECK_EQ_STR(iteration(loop), "");
    CHECK_EQ_INT(r.ran, 1);
    for (int i = 0; i < 2; i++) {
        aeDeleteFileEvent(loop, r.fds[i][0], AE_READABLE);
        closePair(r.fds[i]);
    }
    if (reopen) close(r.reopened[1]);
}
static void testDeleted(aeEventLoop *loop) { testStale(loop, false); }
static void testReopened(aeEventLoop *loop) { testStale(loop, true); }
TEST(ae_deleted_event_does_not_run) { withEachBackend(testDeleted); }
TEST(ae_event_of_a_former_owner_does_not_run) { withEachBackend(testReopened); }

static void deleteOwnWrite(aeEventLoop *loop, int fd, void *arg, int mask) {
    unused(arg), unused(mask);
    aeDeleteFileEvent(loop, fd, AE_WRITABLE);
    note('d');
}
static void testPartDeleted(aeEventLoop *loop) {
    int fds[2];
    openPair(fds);
    CHECK(write(fds[1], "x", 1) == 1);
    CHECK(aeCreateFileEvent(loop, fds[0], AE_READABLE, deleteOwnWrite, NULL) == C_OK);
    CHECK(aeCreateFileEvent(loop, fds[0], AE_WRITABLE, noteWrite, NULL) == C_OK);
    CHECK_EQ_STR(iteration(loop), "d");
    CHECK_EQ_INT(aeGetFileEvents(loop, fds[0]), AE_READABLE);
    aeDeleteFileEvent(loop, fds[0], AE_READABLE);
    closePair(fds);
}
TEST(ae_handler_deletes_the_other_direction) { withEachBackend(testPartDeleted); }

static void iterateInside(aeEventLoop *loop, int fd, void *arg, int mask) {
    int *depth = arg;
    char byte;
    unused(mask);
    CHECK(read(fd, &byte, 1) == 1);
    note('i');
    if (++*depth == 1) aeProcessEvents(loop, AE_FILE_EVENTS | AE_DONT_WAIT);
}
static void testNested(aeEventLoop *loop) {
    int fds[3][2], depth = 0;
    for (int i = 0; i < 3; i++) {
        openPair(fds[i]);
        CHECK(write(fds[i][1], "x", 1) == 1);
        CHECK(aeCreateFileEvent(loop, fds[i][0], AE_READABLE | AE_REENTRANT, noteRead, NULL) == C_OK);
    }
    aeDeleteFileEvent(loop, fds[0][0], AE_READABLE);
    CHECK_EQ_STR(iteration(loop), "rr");
    CHECK(aeCreateFileEvent(loop, fds[0][0], AE_READABLE, iterateInside, &depth) == C_OK);
    iteration(loop);
    CHECK_EQ_INT(strlen(trace), 5); /* two in the outer iteration, two in the nested one, itself once */
    for (int i = 0; i < 3; i++) {
        aeDeleteFileEvent(loop, fds[i][0], AE_READABLE);
        closePair(fds[i]);
    }
}
TEST(ae_iteration_inside_a_handler) { withEachBackend(testNested); }

/* A handler that is not registered as reentrant never runs nested in another one: its event stays pending. */
static void testNotReentrant(aeEventLoop *loop) {
    int fds[3][2], depth = 0;
    for (int i = 0; i < 3; i++) {
        openPair(fds[i]);
        CHECK(write(fds[i][1], "x", 1) == 1);
    }
    CHECK(aeCreateFileEvent(loop, fds[1][0], AE_READABLE | AE_REENTRANT, noteRead, NULL) == C_OK);
    CHECK(aeCreateFileEvent(loop, fds[2][0], AE_WRITABLE, noteWrite, NULL) == C_OK);
    CHECK(aeCreateFileEvent(loop, fds[0][0], AE_READABLE, iterateInside, &depth) == C_OK);
    const char *seen = iteration(loop);
    const char *inside = strchr(seen, 'i');
    size_t writes = 0;
    for (const char *p = seen; *p; p++) writes += *p == 'w';
    CHECK(inside && inside[1] == 'r');
    CHECK_EQ_INT(writes, 1); /* of the outer iteration */
    /* In an iteration that runs nested, a handler that is not reentrant waits. */
    aeDeleteFileEvent(loop, fds[1][0], AE_READABLE);
    CHECK(write(fds[0][1], "x", 1) == 1);
    aeDeleteFileEvent(loop, fds[2][0], AE_WRITABLE);
    CHECK(aeCreateFileEvent(loop, fds[2][0], AE_READABLE, noteRead, NULL) == C_OK);
    depth = 0;
    seen = iteration(loop);
    CHECK_EQ_INT(strlen(seen), 2); /* "i" and, after the nested iteration, "r" once */
    /* The nested iteration does not lose a raised event either. */
    aeRaiseReadable(loop, fds[2][0], true);
    CHECK(write(fds[0][1], "x", 1) == 1);
    depth = 0;
    seen = iteration(loop);
    CHECK_EQ_INT(strlen(seen), 3); /* "i", and "r" twice in the outer iteration */
    for (int i = 0; i < 3; i++) {
        aeDeleteFileEvent(loop, fds[i][0], AE_READABLE | AE_WRITABLE);
        closePair(fds[i]);
    }
}
TEST(ae_only_reentrant_handlers_run_in_a_nested_iteration) { withEachBackend(testNotReentrant); }

static void testRandomMasks(aeEventLoop *loop) {
    enum { PAIRS = 12 };
    int fds[PAIRS][2], want[PAIRS] = {0};
    uint64_t rng = unitRandomSeed();
    for (int i = 0; i < PAIRS; i++) openPair(fds[i]);
    for (int i = 0; i < PAIRS; i++) CHECK(write(fds[i][1], "x", 1) == 1);
    for (int round = 0; round < 2000; round++) {
        int i = (int)(unitRandom(&rng) % PAIRS), mask = 1 + (int)(unitRandom(&rng) % 3);
        if (unitRandom(&rng) % 2) {
            if (mask & AE_READABLE) CHECK(aeCreateFileEvent(loop, fds[i][0], AE_READABLE, noteRead, NULL) == C_OK);
            if (mask & AE_WRITABLE) CHECK(aeCreateFileEvent(loop, fds[i][0], AE_WRITABLE, noteWrite, NULL) == C_OK);
            want[i] |= mask;
        } else {
            aeDeleteFileEvent(loop, fds[i][0], mask);
            want[i] &= ~mask;
        }
        size_t count = 0;
        for (int k = 0; k < PAIRS; k++) count += (size_t)((want[k] & 1) + (want[k] >> 1));
        CHECK_EQ_INT(aeGetFileEvents(loop, fds[i][0]), want[i]);
        CHECK_EQ_INT(strlen(iteration(loop)), count);
    }
    for (int i = 0; i < PAIRS; i++) {
        aeDeleteFileEvent(loop, fds[i][0], AE_READABLE | AE_WRITABLE);
        closePair(fds[i]);
    }
}
TEST(ae_random_masks_against_a_table) { withEachBackend(testRandomMasks); }

/* ------------------------------------------------------------------------------------------ timers */

static long long noteTimer(aeEventLoop *loop, long long id, void *arg) {
    unused(loop), unused(id);
    note(*(const char *)arg);
    return AE_NOMORE;
}

static void sleepMs(long ms) {
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

static void testTimerOrder(aeEventLoop *loop) {
    static const char names[] = "abcdef";
    static const int after_ms[] = {5, 1, 3, 1, 0, 4};
    long long first = 0;
    for (bool at_once = false; !at_once; first += 6) { /* due times count from their creation */
        for (long long id = first - 6; first && id < first; id++) aeDeleteTimeEvent(loop, id);
        uint64_t begin_us = clockMonotonicUs();
        for (int i = 0; i < 6; i++)
            CHECK_EQ_INT(aeCreateTimeEvent(loop, after_ms[i], noteTimer, (void *)(uintptr_t)&names[i]), first + i);
        at_once = clockMonotonicUs() - begin_us < 500;
    }
    CHECK(aeDeleteTimeEvent(loop, first - 4) == C_OK);
    CHECK(aeDeleteTimeEvent(loop, first - 4) == C_ERR);
    sleepMs(10);
    CHECK_EQ_STR(iteration(loop), "ebdfa");
    CHECK_EQ_STR(iteration(loop), "");
}
TEST(ae_timers_run_in_order) { withEachBackend(testTimerOrder); }

static void testWaitForTimer(aeEventLoop *loop) {
    uint64_t start = clockMonotonicUs();
    trace[0] = '\0';
    aeCreateTimeEvent(loop, 20, noteTimer, (void *)(uintptr_t) "t");
    CHECK_EQ_INT(aeProcessEvents(loop, AE_ALL_EVENTS), 1);
    CHECK_EQ_STR(trace, "t");
    CHECK(clockMonotonicUs() - start >= 20000);
    aeCreateTimeEvent(loop, 5, noteTimer, (void *)(uintptr_t) "u");
    CHECK_EQ_INT(aeProcessEvents(loop, AE_TIME_EVENTS), 1);
    CHECK_EQ_INT(aeProcessEvents(loop, AE_TIME_EVENTS), 0);
}
TEST(ae_wait_ends_when_the_timer_is_due) { withEachBackend(testWaitForTimer); }

static long long repeatThrice(aeEventLoop *loop, long long id, void *arg) {
    int *runs = arg;
    unused(loop), unused(id);
    return ++*runs == 3 ? AE_NOMORE : 0;
}
static void testRepeat(aeEventLoop *loop) {
    int runs = 0;
    long long id = aeCreateTimeEvent(loop, 0, repeatThrice, &runs);
    for (int i = 1; i <= 3; i++) {
        sleepMs(1);
        CHECK_EQ_INT(aeProcessEvents(loop, ITERATE_NOW), 1);
        CHECK_EQ_INT(runs, i);
    }
    CHECK(aeDeleteTimeEvent(loop, id) == C_ERR);
}
TEST(ae_timer_runs_once_an_iteration) { withEachBackend(testRepeat); }

typedef struct meddler {
    long long other;
    int runs, self_result, other_result;
} meddler;

static long long deleteBoth(aeEventLoop *loop, long long id, void *arg) {
    meddler *m = arg;
    m->runs++;
    m->other_result = aeDeleteTimeEvent(loop, m->other);
    m->self_result = aeDeleteTimeEvent(loop, id);
    CHECK(aeDeleteTimeEvent(loop, id) == C_ERR);
    aeCreateTimeEvent(loop, 0, noteTimer, (void *)(uintptr_t) "n");
    return 0; /* asks to run again, but is deleted */
}
static void testMeddle(aeEventLoop *loop) {
    meddler m = {0};
    aeCreateTimeEvent(loop, 0, deleteBoth, &m);
    m.other = aeCreateTimeEvent(loop, 0, noteTimer, (void *)(uintptr_t) "x");
    sleepMs(2);
    CHECK_EQ_STR(iteration(loop), ""); /* the new timer waits for the next iteration */
    CHECK_EQ_INT(m.self_result, C_OK);
    CHECK_EQ_INT(m.other_result, C_OK);
    sleepMs(1);
    CHECK_EQ_STR(iteration(loop), "n");
    CHECK_EQ_INT(m.runs, 1);
}
TEST(ae_timer_deletes_itself_and_others) { withEachBackend(testMeddle); }

static long long last_step;
static bool order_counts;
static long long checkOrder(aeEventLoop *loop, long long id, void *arg) {
    long long step = (long long)(intptr_t)arg;
    unused(loop), unused(id);
    if (order_counts) CHECK(step >= last_step);
    last_step = step;
    return AE_NOMORE;
}
static void testManyTimers(aeEventLoop *loop) {
    enum { COUNT = 400, STEP_MS = 10, STEPS = 4, NEVER_MS = 1000000 };
    long long ids[COUNT];
    uint64_t rng = unitRandomSeed(), start = clockMonotonicUs();
    int deleted = 0, left = 0;
    for (int i = 0; i < COUNT; i++) {
        long long step = (long long)(unitRandom(&rng) % (STEPS * 2));
        ids[i] = aeCreateTimeEvent(loop, step < STEPS ? step * STEP_MS : NEVER_MS, checkOrder, (void *)(intptr_t)step);
    }
    /* The times of creation differ by less than a step, unless the machine stalled: then the order is not checked. */
    order_counts = clockMonotonicUs() - start < STEP_MS * 1000;
    for (int i = 0; i < COUNT; i += 3, deleted++) CHECK(aeDeleteTimeEvent(loop, ids[i]) == C_OK);
    sleepMs(STEP_MS * STEPS);
    last_step = 0;
    int ran = aeProcessEvents(loop, ITERATE_NOW);
    for (int i = 0; i < COUNT; i++) left += aeDeleteTimeEvent(loop, ids[i]) == C_OK;
    CHECK_EQ_INT(ran + left + deleted, COUNT);
    CHECK(ran > 0 && last_step < STEPS);
}
TEST(ae_many_timers) { withEachBackend(testManyTimers); }

/* --------------------------------------------------------------------------------- hooks and waits */

static void noteHook(aeEventLoop *loop, void *arg) {
    note(*(const char *)arg);
    if (*(const char *)arg == 'b') aeDontWait(loop);
}
static long long stopLoop(aeEventLoop *loop, long long id, void *arg) {
    unused(id), unused(arg);
    aeStop(loop);
    return AE_NOMORE;
}
static void testHooks(aeEventLoop *loop) {
    int fds[2];
    openPair(fds);
    aeSetBeforeSleep(loop, noteHook, (void *)(uintptr_t) "s");
    aeSetBeforeWait(loop, noteHook, (void *)(uintptr_t) "b");
    aeSetAfterSleep(loop, noteHook, (void *)(uintptr_t) "a");
    aeSetAfterEvent(loop, noteHook, (void *)(uintptr_t) "e");
    aeSetAfterAll(loop, noteHook, (void *)(uintptr_t) "l");
    trace[0] = '\0';
    CHECK_EQ_INT(aeProcessEvents(loop, AE_ALL_EVENTS), 0); /* would wait without end but for aeDontWait() */
    CHECK_EQ_STR(trace, "sbal");
    CHECK_EQ_INT(aeProcessEvents(loop, AE_DONT_WAIT), 0);
    CHECK(write(fds[1], "x", 1) == 1);
    for (int i = 0; i < 2; i++)
        CHECK(aeCreateFileEvent(loop, fds[i], AE_READABLE | AE_WRITABLE, noteRead, NULL) == C_OK);
    CHECK(aeCreateFileEvent(loop, fds[0], AE_WRITABLE, noteWrite, NULL) == C_OK);
    trace[0] = '\0';
    CHECK_EQ_INT(aeProcessEvents(loop, AE_ALL_EVENTS), 2);
    CHECK(!strcmp(trace, "sbarwerel") || !strcmp(trace, "sbarerwel")); /* once after each descriptor, and after all */
    for (int i = 0; i < 2; i++) aeDeleteFileEvent(loop, fds[i], AE_READABLE | AE_WRITABLE);
    closePair(fds);
    aeSetBeforeSleep(loop, NULL, NULL);
    aeSetBeforeWait(loop, NULL, NULL);
    aeSetAfterSleep(loop, NULL, NULL);
    aeSetAfterEvent(loop, NULL, NULL);
    aeSetAfterAll(loop, NULL, NULL);
    aeCreateTimeEvent(loop, 1, stopLoop, NULL);
    aeMain(loop);
}
static void stopAtOnce(aeEventLoop *loop, void *arg) {
    unused(arg);
    aeStop(loop);
}

static void countEvent(aeEventLoop *loop, int fd, void *arg, int mask) {
    unused(loop), unused(fd), unused(mask);
    ++*(int *)arg;
}

/* A loop that is stopped before its wait handles no more events: one that came then would be left half done. */
TEST(ae_stopped_before_the_wait_sees_no_event) {
    int fds[2], events = 0;
    CHECK_EQ_INT(pipe(fds), 0);
    CHECK_EQ_INT(write(fds[1], "x", 1), 1);
    aeEventLoop *loop = aeCreateEventLoop(16);
    CHECK_EQ_INT(aeCreateFileEvent(loop, fds[0], AE_READABLE, countEvent, &events), C_OK);
    aeSetBeforeSleep(loop, stopAtOnce, NULL);
    aeMain(loop);
    CHECK_EQ_INT(events, 0);
    aeDeleteEventLoop(loop);
    close(fds[0]);
    close(fds[1]);
}

TEST(ae_hooks_and_stop) { withEachBackend(testHooks); }

TEST(ae_wait_for_one_descriptor) {
    int fds[2];
    openPair(fds);
    CHECK_EQ_INT(aeWait(fds[0], AE_READABLE, 1), 0);
    CHECK_EQ_INT(aeWait(fds[0], AE_READABLE | AE_WRITABLE, 100), AE_WRITABLE);
    CHECK(write(fds[1], "x", 1) == 1);
    CHECK_EQ_INT(aeWait(fds[0], AE_READABLE, -1), AE_READABLE);
    close(fds[1]);
    CHECK_EQ_INT(aeWait(fds[0], AE_READABLE, 0), AE_READABLE);
    close(fds[0]);
}

static int wakes; /* main */

static void countWake(void) { wakes++; }
static void *ringLater(void *arg) {
    sleepMs(5);
    for (int i = 0; i < 3; i++) aeWakeupSend(arg);
    return NULL;
}
static void testWakeup(aeEventLoop *loop) {
    aeWakeup wakeup;
    pthread_t thread;
    wakes = 0;
    if (!CHECK(aeWakeupOpen(loop, &wakeup, countWake) == C_OK)) return;
    CHECK(pthread_create(&thread, NULL, ringLater, &wakeup) == 0);
    aeProcessEvents(loop, AE_ALL_EVENTS);
    CHECK_EQ_INT(wakes, 1);
    pthread_join(thread, NULL);
    aeProcessEvents(loop, ITERATE_NOW);
    int before = wakes;
    aeProcessEvents(loop, ITERATE_NOW);
    CHECK_EQ_INT(wakes, before); /* all wakeups so far are cleared at once */
    aeDeleteFileEvent(loop, wakeup.read_fd, AE_READABLE);
    aeWakeupClose(&wakeup);
}
/* The function is not called in an iteration that is nested in a handler, but after it. */
static void ringInside(aeEventLoop *loop, int fd, void *arg, int mask) {
    unused(mask);
    aeDeleteFileEvent(loop, fd, AE_WRITABLE);
    aeWakeupSend(arg);
    aeProcessEvents(loop, ITERATE_NOW);
    CHECK_EQ_INT(wakes, 0);
}
static void testDoorbellNested(aeEventLoop *loop) {
    aeWakeup wakeup;
    int fds[2];
    wakes = 0;
    if (!CHECK(pipe(fds) == 0) || !CHECK(aeWakeupOpen(loop, &wakeup, countWake) == C_OK)) return;
    CHECK(aeCreateFileEvent(loop, fds[1], AE_WRITABLE, ringInside, &wakeup) == C_OK);
    for (int i = 0; i < 3; i++) aeProcessEvents(loop, ITERATE_NOW);
    CHECK_EQ_INT(wakes, 1);
    aeDeleteFileEvent(loop, wakeup.read_fd, AE_READABLE);
    aeWakeupClose(&wakeup);
    close(fds[0]);
    close(fds[1]);
}
TEST(ae_doorbell_calls_nothing_in_nested_turns) { withEachBackend(testDoorbellNested); }
/* A wakeup without a function ends one wait for each send. */
static void testDoorbellAlone(aeEventLoop *loop) {
    aeWakeup wakeup;
    pthread_t thread;
    if (!CHECK(aeWakeupOpen(loop, &wakeup, NULL) == C_OK)) return;
    for (int round = 0; round < 3; round++) {
        CHECK(pthread_create(&thread, NULL, ringLater, &wakeup) == 0);
        CHECK_EQ_INT(aeProcessEvents(loop, AE_ALL_EVENTS), 1); /* would wait without end */
        pthread_join(thread, NULL);
        aeProcessEvents(loop, ITERATE_NOW);
        CHECK_EQ_INT(aeProcessEvents(loop, ITERATE_NOW), 0);
    }
    aeDeleteFileEvent(loop, wakeup.read_fd, AE_READABLE);
    aeWakeupSend(&wakeup);
    CHECK_EQ_INT(aeProcessEvents(loop, ITERATE_NOW), 0);
    aeWakeupClose(&wakeup);
}
TEST(ae_doorbell_without_a_function) { withEachBackend(testDoorbellAlone); }

/* A timer of a waiting loop, created by another thread that holds the lock which the loop releases while it waits. */
typedef struct delegatedLoop {
    aeEventLoop *loop;
    pthread_mutex_t lock;
    bool waits;
} delegatedLoop;
static void delegateLoop(aeEventLoop *loop, void *arg) {
    unused(loop);
    delegatedLoop *l = arg;
    l->waits = true;
    pthread_mutex_unlock(&l->lock);
}
static void takeLoopBack(aeEventLoop *loop, void *arg) {
    unused(loop);
    delegatedLoop *l = arg;
    pthread_mutex_lock(&l->lock);
    l->waits = false;
}
static void *setTimerFromOutside(void *arg) {
    delegatedLoop *l = arg;
    for (bool done = false; !done;) {
        pthread_mutex_lock(&l->lock);
        if (l->waits) {
            aeCreateTimeEvent(l->loop, 1, stopLoop, NULL);
            done = true;
        }
        pthread_mutex_unlock(&l->lock);
    }
    return NULL;
}
static void testTimerFromOutside(aeEventLoop *loop) {
    delegatedLoop l = {.loop = loop};
    aeWakeup wakeup;
    pthread_t thread;
    if (!CHECK(aeWakeupOpen(loop, &wakeup, NULL) == C_OK)) return;
    pthread_mutex_init(&l.lock, NULL);
    pthread_mutex_lock(&l.lock);
    aeSetBeforeWait(loop, delegateLoop, &l);
    aeSetAfterSleep(loop, takeLoopBack, &l);
    aeCreateTimeEvent(loop, 3600 * 1000, stopLoop, NULL); /* would be awaited */
    CHECK(pthread_create(&thread, NULL, setTimerFromOutside, &l) == 0);
    aeMain(loop);
    pthread_mutex_unlock(&l.lock);
    pthread_join(thread, NULL);
    aeSetBeforeWait(loop, NULL, NULL);
    aeSetAfterSleep(loop, NULL, NULL);
    aeDeleteFileEvent(loop, wakeup.read_fd, AE_READABLE);
    aeWakeupClose(&wakeup);
    pthread_mutex_destroy(&l.lock);
}
TEST(ae_timer_from_outside_ends_the_wait) { withEachBackend(testTimerFromOutside); }

TEST(ae_wakeup_from_another_thread) { withEachBackend(testWakeup); }
