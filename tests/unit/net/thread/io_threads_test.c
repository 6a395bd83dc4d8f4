/* io_threads_test.c -- messages between main and threads: order, overflow, sleep and wakeup, values to free, start and
 * stop.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "main_role.h"
#include "net_fixture.h"

#include "panic.h"
#include "rebalance.h"
#include "unit.h"
#include "zmalloc.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static void setThreads(int n, bool always) {
    const char *err = NULL;
    net_settings.io_threads = n;
    net_settings.io_threads_always_active = always;
    CHECK(netApplyThreads(&err));
    fixtureTurn();
    CHECK_EQ_INT(ioThreadsCount(), n);
}

static void backToOne(void) {
    setThreads(1, false);
    CHECK(fixtureUntil(fixtureOnlyMain, NULL, 10000));
}

/* --- messages -------------------------------------------------------------------------------------- */

/* Connections are joined to a thread and closed at once: the reply IO_MSG_CLOSED of each comes back, in the order of
 * posting, also with more messages than a ring holds, in both directions. */
#define STREAMS 200
#define LAPS 40
static size_t gone, out_of_order;
static clientIo *expected[STREAMS];

static void closedDeliver(const ioMessage *m) {
    switch (m->type) {
    case IO_MSG_LEFT:
        out_of_order += m->io != expected[gone % STREAMS];
        gone++;
        break;
    case IO_MSG_CLOSED:
        gone++;
        clientIoFree(m->io);
        break;
    default: CHECK(false);
    }
}

static int io_peers[STREAMS];

static void openIos(void) {
    gone = out_of_order = 0;
    for (int i = 0; i < STREAMS; i++) {
        int fds[2];
        fixturePair(fds, false);
        io_peers[i] = fds[1];
        expected[i] = clientIoCreate(connCreateAcceptedUnix(fds[0], NULL), true);
    }
}

static void joinAndLeaveAll(void) {
    for (int i = 0; i < STREAMS; i++) {
        ioMessage join = {.type = IO_MSG_JOIN, .io = expected[i]}, leave = {.type = IO_MSG_LEAVE, .io = expected[i]};
        ioThreadPost(ioThreadGet(1), &join);
        ioThreadPost(ioThreadGet(1), &leave);
    }
}

static bool pollUntil(size_t want) {
    unitLimit limit = unitLimitStart(20000);
    while (gone < want && !unitLimitOver(&limit)) {
        ioThreadsFlush();
        if (ioThreadsPoll(100) == 0) poll(NULL, 0, 1);
    }
    return gone == want;
}

static void closeIos(void) {
    for (int i = 0; i < STREAMS; i++) {
        ioMessage join = {.type = IO_MSG_JOIN, .io = expected[i]}, close_it = {.type = IO_MSG_CLOSE, .io = expected[i]};
        ioThreadPost(ioThreadGet(1), &join);
        ioThreadPost(ioThreadGet(1), &close_it);
    }
    gone = 0;
    CHECK(pollUntil(STREAMS));
    for (int i = 0; i < STREAMS; i++) close(io_peers[i]);
}

TEST(threads_keep_messages_in_order_through_a_full_ring) {
    netFixtureInit();
    setThreads(2, false);
    fixture_deliver = closedDeliver;
    openIos();
    for (int lap = 0; lap < LAPS; lap++) {
        joinAndLeaveAll(); /* no message is taken meanwhile: 16,000 messages one way, 8,000 the other */
        if (lap % 3 == 0) ioThreadsFlush();
    }
    CHECK(pollUntil(STREAMS * LAPS));
    CHECK_EQ_INT(out_of_order, 0);
    closeIos();
    fixture_deliver = NULL;
    backToOne();
}

/* --- sleep and wake ----------------------------------------------------------------------------------- */

static long long onTimeout(aeEventLoop *loop, long long id, void *arg) {
    unused(loop), unused(id);
    *(bool *)arg = true;
    return AE_NOMORE;
}

/* Main waits as its loop does. Returns false if only the timeout has ended the wait. */
static bool mainWaits(bool offer) {
    bool timed_out = false;
    if (!ioThreadsMainSleeps(offer)) return true;
    long long id = aeCreateTimeEvent(fixture_loop, 20000, onTimeout, &timed_out);
    aeProcessEvents(fixture_loop, AE_ALL_EVENTS);
    if (!timed_out) aeDeleteTimeEvent(fixture_loop, id);
    ioThreadsMainAwake();
    return !timed_out;
}

/* Messages that overflowed a ring to main are moved into it later, while main sleeps: it is woken each time. */
TEST(threads_wake_main_for_what_had_overflowed) {
    netFixtureInit();
    setThreads(2, false);
    fixtureSuspend(true);
    fixture_deliver = closedDeliver;
    openIos();
    for (int lap = 0; lap < LAPS; lap++) joinAndLeaveAll();
    ioThreadsFlush();
    bool woken = true;
    while (woken && gone < STREAMS * LAPS) {
        ioThreadsFlush();
        if (ioThreadsPoll(100) == 0) woken = mainWaits(false);
    }
    CHECK(woken);
    CHECK_EQ_INT(out_of_order, 0);
    closeIos();
    fixture_deliver = NULL;
    fixtureSuspend(false);
    backToOne();
}

static _Atomic bool answered;

static void answerDeliver(const ioMessage *m) {
    CHECK_EQ_INT(m->type, IO_MSG_LEFT);
    atomic_store(&answered, true);
}

/* The other thread has the main role: it takes messages, and wakes main's own thread for half of them. */
static iterationEnd answerTurn(void) {
    static int iterations;
    CHECK(panicHoldsMainRole() && !panicOnMainThread());
    ioThreadsPoll(100);
    return ++iterations % 2 ? ITERATION_DONE : ITERATION_FOR_MAIN;
}

/* One message there, one back; both sides sleep in between for random times. A lost wakeup shows as a wait that times
 * out, or as a reply that is not taken. */
static void askAndAnswer(bool offer, int rounds) {
    netFixtureInit();
    setThreads(2, false);
    fixtureSuspend(true);
    fixture_deliver = answerDeliver;
    fixture_iterate = answerTurn;
    uint64_t seed = unitRandomSeed();
    ioThread *t = ioThreadGet(1);
    int fds[2], lost = 0;
    fixturePair(fds, false);
    clientIo *s = clientIoCreate(connCreateAcceptedUnix(fds[0], NULL), true);
    for (int i = 0; i < rounds && lost == 0; i++) {
        ioMessage join = {.type = IO_MSG_JOIN, .io = s}, leave = {.type = IO_MSG_LEAVE, .io = s};
        atomic_store(&answered, false);
        ioThreadPost(t, &join);
        ioThreadPost(t, &leave);
        for (unsigned spin = (unsigned)(unitRandom(&seed) % 400); spin; spin--)
            atomic_signal_fence(memory_order_seq_cst);
        if (unitRandom(&seed) % 200 == 0) usleep((useconds_t)(unitRandom(&seed) % 300));
        ioThreadsFlush();
        if (!offer) {
            while (!atomic_load(&answered) && lost == 0)
                if (ioThreadsPoll(100) == 0) lost += !mainWaits(false);
            continue;
        }
        /* Main's own thread needs no wakeup for the reply: it finds it when it acquires the role again. */
        bool slept = ioThreadsMainSleeps(true);
        unitLimit limit = unitLimitStart(20000);
        while (slept && !atomic_load(&answered) && !unitLimitOver(&limit))
            if (unitRandom(&seed) % 64 == 0) {
                ioThreadsMainAwake();
                slept = ioThreadsMainSleeps(true);
            }
        ioThreadsMainAwake();
        while (!atomic_load(&answered) && !unitLimitOver(&limit)) ioThreadsPoll(100);
        lost += !atomic_load(&answered);
    }
    CHECK_EQ_INT(lost, 0);
    fixture_iterate = NULL;
    fixture_deliver = closedDeliver;
    gone = 0;
    ioMessage join = {.type = IO_MSG_JOIN, .io = s}, close_it = {.type = IO_MSG_CLOSE, .io = s};
    ioThreadPost(t, &join);
    ioThreadPost(t, &close_it);
    CHECK(pollUntil(1));
    close(fds[1]);
    fixture_deliver = NULL;
    fixtureSuspend(false);
    backToOne();
}

#ifdef BUILT_WITH_TSAN
#define ROUNDS 10000
#else
#define ROUNDS 100000
#endif

TEST(threads_lose_no_wake_up) { askAndAnswer(false, ROUNDS); }

TEST(threads_lose_no_answer_while_the_role_moves) { askAndAnswer(true, ROUNDS); }

/* --- step by step --------------------------------------------------------------------------------------- */

/* Thread 1 stops at points that the test chooses, until the test releases it: before its second look at the messages
 * (after the last look of an iteration), and before the waits that follow when it has nothing left to do, of which the
 * first is that of the first iteration without messages of the test up to a connection's IO_MSG_JOIN. */
typedef enum { STEP_FREELY, STEP_BEFORE_LOOK, STEP_BEFORE_WAIT } stepPlace;

static struct {
    _Atomic stepPlace stop_at, stands_at;
    clientIo *moved;  /* moved back and forth by the messages of the test */
    clientIo *marker; /* its IO_MSG_JOIN is the last of these messages */
    int iterations;   /* used by the thread: iterations since the marker came */
    bool watched;     /* used by the thread: whether its waits stop */
    int peers[2];
} step;

static void stand(stepPlace place) {
    if (atomic_load(&step.stop_at) != place) return;
    atomic_store(&step.stands_at, place);
    while (atomic_load(&step.stop_at) == place) poll(NULL, 0, 1);
    atomic_store(&step.stands_at, STEP_FREELY);
}

static void stepWait(aeEventLoop *loop, void *arg) {
    unused(loop);
    const ioOwner *h = arg;
    if (atomic_load(&step.stop_at) != STEP_BEFORE_WAIT || step.marker->owner != h) return;
    if (++step.iterations >= 2) stand(STEP_BEFORE_WAIT);
}

static void stepReport(const ioOwner *h) {
    if (h->id != 1) return;
    if (!step.watched) aeSetBeforeWait(h->loop, stepWait, (void *)(uintptr_t)h);
    step.watched = true;
    stand(STEP_BEFORE_LOOK);
}

static bool standsAt(stepPlace place) {
    unitLimit limit = unitLimitStart(20000);
    while (atomic_load(&step.stands_at) != place && !unitLimitOver(&limit)) poll(NULL, 0, 1);
    return CHECK_EQ_INT(atomic_load(&step.stands_at), place);
}

/* Releases the thread until the next point. */
static void letGo(stepPlace next) {
    stepPlace place = atomic_load(&step.stop_at);
    atomic_store(&step.stop_at, next);
    while (place != next && atomic_load(&step.stands_at) == place) poll(NULL, 0, 1);
}

static void stepOpen(void (*deliver)(const ioMessage *m)) {
    netFixtureInit();
    backToOne(); /* ends threads that another test has left asleep */
    step.iterations = 0;
    step.watched = false;
    gone = out_of_order = 0;
    clientIo **made[] = {&step.moved, &step.marker};
    for (int i = 0; i < 2; i++) {
        int fds[2];
        fixturePair(fds, false);
        step.peers[i] = fds[1];
        *made[i] = clientIoCreate(connCreateAcceptedUnix(fds[0], NULL), true);
    }
    for (int i = 0; i < STREAMS; i++) expected[i] = step.moved;
    atomic_store(&step.stands_at, STEP_FREELY);
    atomic_store(&step.stop_at, STEP_BEFORE_LOOK);
    fixture_before_report = stepReport;
    setThreads(2, false);
    fixtureSuspend(true);
    fixture_deliver = deliver;
    standsAt(STEP_BEFORE_LOOK); /* in its first iteration */
}

static void stepPost(messageType type, clientIo *s) {
    ioMessage m = {.type = (uint16_t)type, .io = s};
    ioThreadPost(ioThreadGet(1), &m);
}

/* Posts a message that is replied to by an IO_MSG_LEFT. */
static void stepAsk(void) {
    stepPost(IO_MSG_JOIN, step.moved);
    stepPost(IO_MSG_LEAVE, step.moved);
}

/* Main polls repeatedly, and wakes no thread. */
static bool comes(size_t want) {
    unitLimit limit = unitLimitStart(5000);
    while (gone < want && !unitLimitOver(&limit))
        if (ioThreadsPoll(100) == 0) poll(NULL, 0, 1);
    return CHECK_EQ_INT(gone, want);
}

/* Main does not wait, as there are messages. */
static void staysAwake(bool offer) {
    bool sleeps = ioThreadsMainSleeps(offer);
    CHECK(!sleeps);
    if (sleeps) ioThreadsMainAwake();
    CHECK(panicHoldsMainRole());
    CHECK_EQ_INT(mainRolePeek(), ROLE_KEPT);
}

/* Closes both; the marker has an owner thread if `joined`. */
static void stepClose(bool joined) {
    letGo(STEP_FREELY);
    fixture_deliver = closedDeliver;
    stepPost(IO_MSG_JOIN, step.moved);
    stepPost(IO_MSG_CLOSE, step.moved);
    if (!joined) stepPost(IO_MSG_JOIN, step.marker);
    stepPost(IO_MSG_CLOSE, step.marker);
    gone = 0;
    CHECK(pollUntil(2));
    for (int i = 0; i < 2; i++) close(step.peers[i]);
    fixture_deliver = NULL;
    fixtureSuspend(false);
    backToOne();
    fixture_before_report = NULL;
}

/* Main posts after the thread's look at its ring, and sees that the thread does not sleep yet. */
TEST(threads_look_once_more_before_they_sleep) {
    stepOpen(closedDeliver);
    stepAsk();
    ioThreadsFlush();
    letGo(STEP_FREELY);
    comes(1);
    stepClose(false);
}

/* A thread has published after main's last look, and has seen that main is awake: main does not release the role for
 * good, delegated or kept. */
TEST(threads_main_looks_once_more_before_it_waits) {
    for (int offer = 0; offer < 2; offer++) {
        stepOpen(closedDeliver);
        stepAsk();
        stepPost(IO_MSG_JOIN, step.marker);
        ioThreadsFlush();
        letGo(STEP_BEFORE_WAIT);
        standsAt(STEP_BEFORE_WAIT);
        staysAwake(offer);
        comes(1);
        bool sleeps = ioThreadsMainSleeps(offer); /* no messages are left */
        CHECK(sleeps);
        if (sleeps) ioThreadsMainAwake();
        stepClose(true);
    }
}

/* With more replies than the ring to main holds, the thread offers the rest when main has made space, although nothing
 * wakes the thread. */
TEST(threads_offer_main_again_what_has_overflowed) {
    enum { ANSWERS = 9000 };
    stepOpen(closedDeliver);
    for (int i = 0; i < ANSWERS; i++) stepAsk();
    stepPost(IO_MSG_JOIN, step.marker);
    ioThreadsFlush();
    staysAwake(true); /* the thread has more, and must be able to offer it */
    letGo(STEP_BEFORE_WAIT);
    unitLimit limit = unitLimitStart(20000);
    while (atomic_load(&step.stands_at) != STEP_BEFORE_WAIT && !unitLimitOver(&limit)) ioThreadsFlush();
    standsAt(STEP_BEFORE_WAIT);
    CHECK(ioThreadsPoll(SIZE_MAX) > 0);
    CHECK(gone < ANSWERS);
    letGo(STEP_FREELY);
    comes(ANSWERS);
    CHECK_EQ_INT(out_of_order, 0);
    stepClose(true);
}

/* --- the end of a thread ------------------------------------------------------------------------------- */

static bool holdsNone(const ioThread *t) {
    unused(t);
    return true;
}

static void noThreadBut(int n) {
    ioThreadsReap(holdsNone);
    for (unsigned i = 1; i < IO_THREADS_ALL; i++) CHECK_EQ_INT(ioThreadGet(i) != NULL, (int)i < n);
}

#define DEAD_BYTES 500 /* DEAD_BATCH of them are a batch by number, and not by bytes */

/* `dead` values to free are on their way to thread 2, most of them still at main, when the thread is to end. */
static void endWithTheDead(size_t dead) {
    static char bytes[DEAD_BYTES];
    setThreads(3, false);
    size_t used = zmallocUsed();
    for (size_t i = 0; i < dead; i++) {
        robj *o = objectCreateRawString(sliceStr("key"), sliceOf(bytes, sizeof(bytes)), 2);
        CHECK(ioThreadsFreeElsewhere(o));
    }
    ioThreadsSetCount(2);
    robj *o = objectCreateRawString(sliceStr("key"), sliceStr("value"), 2);
    CHECK(!ioThreadsFreeElsewhere(o)); /* nothing is sent to a thread that is to end */
    objectFree(o);
    ioThreadsReap(holdsNone);
    CHECK_EQ_INT(ioThreadGet(2) != NULL, dead % DEAD_BATCH != 0); /* main has some values for it */
    ioThreadsFlush();
    noThreadBut(2);
    CHECK(zmallocUsed() < used + 20 * DEAD_BYTES);
    backToOne();
}

TEST(threads_end_when_they_have_freed_what_is_theirs) {
    netFixtureInit();
    static const size_t counts[] = {1, DEAD_BATCH - 1, DEAD_BATCH, DEAD_BATCH + 1, 3 * DEAD_BATCH};
    for (size_t i = 0; i < array_len(counts); i++) endWithTheDead(counts[i]);
}

static void greetedDeliver(const ioMessage *m) {
    if (m->type != IO_MSG_HANDSHAKEN) closedDeliver(m);
}

/* A thread that is to end takes more messages than its ring holds before it ends. */
static void endWithOverflow(bool handshaker) {
    unsigned id = handshaker ? IO_THREAD_HANDSHAKER : 2;
    clientIo *s;
    int fds[2];
    setThreads(3, false);
    if (handshaker) ioThreadsSetHandshaker(true);
    fixture_deliver = greetedDeliver;
    fixturePair(fds, false);
    s = clientIoCreate(connCreateAcceptedUnix(fds[0], NULL), true);
    ioMessage join = {.type = IO_MSG_JOIN, .io = s}, nothing = {.type = IO_MSG_OUTPUT, .io = s},
              close_it = {.type = IO_MSG_CLOSE, .io = s};
    ioThreadPost(ioThreadGet(id), &join);
    for (int i = 0; i < 6000; i++) ioThreadPost(ioThreadGet(id), &nothing);
    ioThreadPost(ioThreadGet(id), &close_it);
    if (handshaker) ioThreadsSetHandshaker(false);
    else ioThreadsSetCount(2);
    ioThreadsReap(holdsNone);
    CHECK(ioThreadGet(id) != NULL);
    gone = 0;
    CHECK(pollUntil(1));
    noThreadBut(handshaker ? 3 : 2);
    close(fds[1]);
    fixture_deliver = NULL;
    backToOne();
}

TEST(threads_end_when_they_have_taken_what_overflowed) {
    netFixtureInit();
    endWithOverflow(false);
    endWithOverflow(true);
}

/* A thread that is to end may be needed again before it has ended, and a thread with connections does not end. */
static bool holdsSome(const ioThread *t) {
    unused(t);
    return false;
}

TEST(threads_that_own_clients_do_not_end) {
    netFixtureInit();
    setThreads(3, false);
    const ioThread *t = ioThreadGet(2);
    ioThreadsSetCount(2);
    CHECK(ioThreadIsRetiring(t));
    ioThreadsReap(holdsSome);
    CHECK(ioThreadGet(2) == t);
    ioThreadsSetCount(3);
    CHECK(!ioThreadIsRetiring(t));
    ioThreadsReap(holdsNone);
    CHECK(ioThreadGet(2) == t);
    backToOne();
}

/* --- more than a ring holds, posted by an iteration on a thread ------------------------------------------ */

#define CROWD 6000

static struct {
    clientIo *io, *caller; /* of thread 1, and of thread 2, which is to run an iteration */
    _Atomic bool answered, called;
    _Atomic bool turned; /* an iteration that took the call has ended */
    _Atomic bool posted; /* it was on thread 2, as intended */
} crowd;

static void crowdDeliver(const ioMessage *m) {
    if (m->type == IO_MSG_CLOSED) closedDeliver(m);
    else if (m->io == crowd.io) atomic_store(&crowd.answered, true);
    else atomic_store(&crowd.called, true);
}

/* Posts messages without replies, and one with a reply. */
static iterationEnd crowdTurn(void) {
    ioThreadsPoll(100);
    bool called = atomic_load(&crowd.called);
    if (called && ioThreadId(ioThreadActing()) == 2 && !atomic_load(&crowd.posted)) {
        atomic_store(&crowd.posted, true);
        ioMessage nothing = {.type = IO_MSG_OUTPUT, .io = crowd.io}, leave = {.type = IO_MSG_LEAVE, .io = crowd.io};
        for (int i = 0; i < CROWD; i++) ioThreadPost(ioThreadGet(1), &nothing);
        ioThreadPost(ioThreadGet(1), &leave);
    }
    ioThreadsFlush();
    if (called) atomic_store(&crowd.turned, true);
    return ITERATION_DONE;
}

static void postTo(unsigned id, messageType type, clientIo *s) {
    ioMessage m = {.type = (uint16_t)type, .io = s};
    ioThreadPost(ioThreadGet(id), &m);
}

/* Main's own thread begins to wait, and thread 2 has a message. Returns true if thread 2 has run the iteration
 * itself. */
static bool letThread2Iterate(void) {
    atomic_store(&crowd.turned, false);
    for (bool slept = false; !slept;) {
        atomic_store(&crowd.called, false);
        postTo(2, IO_MSG_JOIN, crowd.caller);
        postTo(2, IO_MSG_LEAVE, crowd.caller);
        ioThreadsFlush();
        slept = ioThreadsMainSleeps(true);
        /* The thread was faster: its message has come, and the role was kept. Repeat. */
        while (!slept && !atomic_load(&crowd.called)) ioThreadsPoll(100);
    }
    while (!atomic_load(&crowd.turned)) poll(NULL, 0, 1);
    return atomic_load(&crowd.posted);
}

/* Main's own thread waits for long. Messages that an iteration on thread 2 could not put into the ring of thread 1
 * arrive there nevertheless, although thread 1 has no message for main. */
TEST(threads_offer_again_what_an_iteration_left_over) {
    netFixtureInit();
    setThreads(3, false);
    fixtureSuspend(true);
    fixture_deliver = crowdDeliver;
    fixture_iterate = crowdTurn;
    int fds[2], other[2];
    fixturePair(fds, false);
    fixturePair(other, false);
    crowd.io = clientIoCreate(connCreateAcceptedUnix(fds[0], NULL), true);
    crowd.caller = clientIoCreate(connCreateAcceptedUnix(other[0], NULL), true);
    atomic_store(&crowd.posted, false);
    atomic_store(&crowd.answered, false);
    postTo(1, IO_MSG_JOIN, crowd.io);
    while (!letThread2Iterate()) {
        ioThreadsMainAwake(); /* thread 1 was faster, and took the call of thread 2 as well */
    }
    uint64_t end = clockMonotonicMs() + 20000;
    while (!atomic_load(&crowd.answered) && clockMonotonicMs() < end) poll(NULL, 0, 1);
    CHECK(atomic_load(&crowd.answered));
    ioThreadsMainAwake();
    while (!atomic_load(&crowd.answered)) {
        ioThreadsFlush();
        ioThreadsPoll(100);
    }
    gone = 0;
    for (unsigned id = 1; id <= 2; id++) {
        postTo(id, IO_MSG_JOIN, id == 1 ? crowd.io : crowd.caller);
        postTo(id, IO_MSG_CLOSE, id == 1 ? crowd.io : crowd.caller);
    }
    CHECK(pollUntil(2));
    close(fds[1]);
    close(other[1]);
    fixture_iterate = NULL;
    fixture_deliver = NULL;
    fixtureSuspend(false);
    backToOne();
}

/* --- reports of bytes that an iteration of main has written -------------------------------------------- */

static struct {
    clientIo *io;
    mainRoleState until;             /* the report waits until the role is in this state */
    _Atomic bool hold;               /* the next report waits */
    _Atomic int iterations, written; /* run on the thread; IO_MSG_WRITTEN that have come */
} late;

static void lateReport(const ioOwner *h) {
    if (h->id == 0 || !h->unreported || !atomic_load(&late.hold)) return;
    unitLimit limit = unitLimitStart(20000);
    while (mainRolePeek() != late.until && !unitLimitOver(&limit)) poll(NULL, 0, 1);
    atomic_store(&late.hold, false);
}

static void lateDeliver(const ioMessage *m) {
    if (m->type == IO_MSG_CLOSED) closedDeliver(m);
    if (m->type != IO_MSG_WRITTEN) return;
    replyBlockReleaseChain(m->reply);
    atomic_fetch_add(&late.written, 1);
}

static void sendOk(void) {
    replyBlock *b = replyBlockGet(5, true);
    memcpy(b->data, "+OK\r\n", 5);
    b->used = b->total = 5;
    ioMessage m = {.type = IO_MSG_OUTPUT, .io = late.io, .reply = b, .number = CLIENT_IO_AUTHENTICATED};
    ioThreadPost(ioThreadGet(1), &m);
}

/* The iteration in which the thread writes ends because main's own thread wants to continue. */
static iterationEnd lateTurn(void) {
    ioThreadsPoll(100);
    if (atomic_fetch_add(&late.iterations, 1) > 0) return ITERATION_DONE;
    sendOk();
    return ITERATION_FOR_MAIN;
}

/* A thread that ran an iteration of main has written bytes in it. Main's own thread, which took the role over, finds
 * nothing and waits, keeping the role; a client may wait for the report. `before`: replies that the thread writes
 * before the iteration, so that the iteration is its last action before it would sleep. */
static void reportBehindTurn(int before, mainRoleState until) {
    netFixtureInit();
    fixture_before_report = lateReport;
    setThreads(2, false);
    fixtureSuspend(true);
    fixture_deliver = lateDeliver;
    fixture_iterate = lateTurn;
    atomic_store(&late.iterations, 0);
    atomic_store(&late.written, 0);
    late.until = until;
    int fds[2], other[2];
    fixturePair(fds, false);
    fixturePair(other, false);
    late.io = clientIoCreate(connCreateAcceptedUnix(fds[0], NULL), true);
    clientIo *caller = clientIoCreate(connCreateAcceptedUnix(other[0], NULL), true);
    ioMessage join = {.type = IO_MSG_JOIN, .io = late.io}, join_caller = {.type = IO_MSG_JOIN, .io = caller};
    ioMessage leave = {.type = IO_MSG_LEAVE, .io = caller}; /* needs a reply, so that the thread runs an iteration */
    ioThreadPost(ioThreadGet(1), &join);
    ioThreadPost(ioThreadGet(1), &join_caller);
    ioThreadsFlush();
    poll(NULL, 0, 20);
    atomic_store(&late.hold, true);
    if (before) sendOk();
    else ioThreadPost(ioThreadGet(1), &leave);
    bool released = false;
    ioThreadsFlush();
    while (atomic_load(&late.iterations) == 0) { /* delegated until the thread has run its iteration */
        released = ioThreadsMainSleeps(true);
        if (released) aeProcessEvents(fixture_loop, AE_FILE_EVENTS);
        ioThreadsMainAwake();
        if (released) continue;
        ioThreadsPoll(100); /* the thread was faster, and found the role kept: repeat */
        ioThreadPost(ioThreadGet(1), &join_caller);
        ioThreadPost(ioThreadGet(1), &leave);
        ioThreadsFlush();
    }
    CHECK(released);
    bool woken = true;
    while (woken && atomic_load(&late.written) <= before)
        if (ioThreadsPoll(100) == 0) woken = mainWaits(false);
    CHECK(woken);
    CHECK_EQ_INT(atomic_load(&late.iterations), 1);
    gone = 0;
    ioMessage close_it = {.type = IO_MSG_CLOSE, .io = late.io}, close_caller = {.type = IO_MSG_CLOSE, .io = caller};
    ioThreadPost(ioThreadGet(1), &close_it);
    if (!before) ioThreadPost(ioThreadGet(1), &join_caller);
    ioThreadPost(ioThreadGet(1), &close_caller);
    CHECK(pollUntil(2));
    close(fds[1]);
    close(other[1]);
    fixture_iterate = NULL;
    fixture_deliver = NULL;
    fixtureSuspend(false);
    backToOne();
    fixture_before_report = NULL;
}

TEST(threads_report_what_their_last_iteration_wrote) { reportBehindTurn(1, ROLE_FREE); }

TEST(threads_wake_main_for_a_report_after_an_iteration) { reportBehindTurn(0, ROLE_ASLEEP); }

/* --- many connections, one command -------------------------------------------------------------------- */

/* Connections that always have input, but never a command, must not delay the command of another one: it is executed by
 * main's own thread if that keeps the role, otherwise by the thread itself. */
#define LOUD 16
typedef struct babbler {
    int fds[LOUD];
    _Atomic int stop;
} babbler;

static void *babble(void *arg) {
    babbler *b = arg;
    char lines[4096];
    for (size_t i = 0; i < sizeof(lines); i++) lines[i] = "\r\n"[i % 2];
    for (int i = 0; !atomic_load(&b->stop); i = (i + 1) % LOUD)
        while (send(b->fds[i], lines, sizeof(lines), MSG_NOSIGNAL | MSG_DONTWAIT) > 0) continue;
    return NULL;
}

static _Atomic bool command_came;
static requestBlock *command_block;

static void babbleDeliver(const ioMessage *m) {
    if (m->type == IO_MSG_CLOSED) closedDeliver(m);
    if (m->type != IO_MSG_REQUESTS) return;
    command_block = m->block;
    atomic_store(&command_came, true);
}

static iterationEnd babbleTurn(void) {
    ioThreadsPoll(100);
    return ITERATION_DONE;
}

static void commandBesideBabble(bool offer) {
    netFixtureInit();
    setThreads(2, false);
    fixtureSuspend(true);
    fixture_deliver = babbleDeliver;
    fixture_iterate = babbleTurn;
    ioThread *t = ioThreadGet(1);
    babbler b = {.stop = 0};
    clientIo *ios[LOUD + 1];
    int pair[2];
    for (int i = 0; i <= LOUD; i++) {
        fixturePair(pair, false);
        if (i < LOUD) b.fds[i] = pair[1];
        ios[i] = clientIoCreate(connCreateAcceptedUnix(pair[0], NULL), true);
        ioMessage join = {.type = IO_MSG_JOIN, .io = ios[i]};
        ioThreadPost(t, &join);
    }
    int quiet = pair[1];
    ioThreadsFlush();
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, babble, &b) == 0);
    poll(NULL, 0, 20); /* it keeps sending */
    command_block = NULL;
    atomic_store(&command_came, false);
    CHECK(send(quiet, "PING\r\n", 6, MSG_NOSIGNAL) == 6);
    if (offer) {
        bool sleeps = false;
        while (!atomic_load(&command_came) && !(sleeps = ioThreadsMainSleeps(true)))
            ioThreadsPoll(100); /* came before */
        for (int i = 0; i < 20000 && !atomic_load(&command_came); i++) poll(NULL, 0, 1);
        if (sleeps) ioThreadsMainAwake();
    } else {
        bool woken = true;
        while (woken && !atomic_load(&command_came))
            if (ioThreadsPoll(100) == 0) woken = mainWaits(false);
    }
    CHECK(atomic_load(&command_came));
    atomic_store(&b.stop, 1);
    pthread_join(thread, NULL);
    gone = 0;
    for (int i = 0; i <= LOUD; i++) {
        ioMessage close_it = {.type = IO_MSG_CLOSE, .io = ios[i]};
        ioThreadPost(t, &close_it);
    }
    CHECK(pollUntil(LOUD + 1));
    if (command_block) requestBlockPut(&ioThreadOwner(ioThreadMain())->pool, command_block);
    for (int i = 0; i < LOUD; i++) close(b.fds[i]);
    close(quiet);
    fixture_iterate = NULL;
    fixture_deliver = NULL;
    fixtureSuspend(false);
    backToOne();
}

TEST(threads_wake_main_while_other_clients_babble) { commandBesideBabble(false); }

TEST(threads_execute_while_other_clients_babble) { commandBesideBabble(true); }

/* --- values to free ------------------------------------------------------------------------------------- */

TEST(threads_free_what_is_theirs) {
    netFixtureInit();
    setThreads(3, false);
    ioTotals before, now;
    ioThreadsTotals(&before);
    for (unsigned i = 0; i < 1000; i++) {
        robj *o = objectCreateString(sliceStr("key"), sliceStr("value"), false, i % 5);
        bool elsewhere = ioThreadsFreeElsewhere(o);
        CHECK_EQ_INT(elsewhere, i % 5 == 1 || i % 5 == 2); /* not main's, nor those of threads that do not run */
        if (!elsewhere) objectFree(o);
    }
    for (int i = 0; i < 2000; i++) {
        fixtureTurn();
        ioThreadsTotals(&now);
        if (now.freed - before.freed == 400) break;
        poll(NULL, 0, 1);
    }
    CHECK_EQ_INT(now.freed - before.freed, 400);
    /* Values posted right before the end are freed too (LeakSanitizer checks). */
    for (unsigned i = 0; i < 500; i++) {
        robj *o = objectCreateString(sliceStr("key"), sliceStr("value"), false, 2);
        if (!ioThreadsFreeElsewhere(o)) objectFree(o);
    }
    ioThreadsFlush();
    backToOne();
}

static robj *deadOf(unsigned id, size_t bytes) {
    static char text[100000];
    return objectCreateString(sliceStr("key"), sliceOf(text, bytes), false, id);
}

static ioTotals totals(void) {
    ioTotals now;
    ioThreadsTotals(&now);
    return now;
}

static bool areFreed(void *want) { return totals().freed == *(uint64_t *)want; }

/* A single value to free per iteration is no reason for a message, nor to wake a thread: there are as many messages as
 * a few milliseconds pass. Waiting values count as pending, and iterations of an idle server send them. */
TEST(threads_get_the_dead_in_batches) {
    netFixtureInit();
    setThreads(3, false);
    CHECK(fixtureUntil(areFreed, &(uint64_t){totals().freed}, 10000));
    ioTotals before = totals();
    size_t transient = ioThreadsTransientMemory();
    uint64_t begin = clockMonotonicMs();
    for (unsigned i = 0; i < 2000; i++) {
        CHECK(ioThreadsFreeElsewhere(deadOf(1 + i % 2, 10)));
        ioThreadsFlush();
    }
    uint64_t most = 2 * (2 + (clockMonotonicMs() - begin) / 4) + 2 * 1000 / DEAD_BATCH;
    CHECK(totals().dead_batches - before.dead_batches <= most);
    CHECK(totals().wakes - before.wakes <= most);
    CHECK(totals().dead_batches - before.dead_batches >= 2 * (1000 / DEAD_BATCH));
    CHECK(fixtureUntil(areFreed, &(uint64_t){before.freed + 2000}, 10000));
    CHECK_EQ_INT(ioThreadsTransientMemory(), transient);
    backToOne();
}

/* Batches that are full by number or bytes are sent with the next flush; others wait for the iteration that finds them
 * old, and count meanwhile. */
TEST(threads_get_full_batches_of_the_dead_at_once) {
    netFixtureInit();
    setThreads(2, false);
    ioTotals before = totals();
    size_t transient = ioThreadsTransientMemory();
    for (int i = 0; i < DEAD_BATCH; i++) CHECK(ioThreadsFreeElsewhere(deadOf(1, 10)));
    CHECK_EQ_INT(totals().dead_batches - before.dead_batches, 1);
    CHECK(ioThreadsFreeElsewhere(deadOf(1, 65536)));
    CHECK_EQ_INT(totals().dead_batches - before.dead_batches, 2);
    CHECK(ioThreadsTransientMemory() >= transient + 65536);
    CHECK(ioThreadsFreeElsewhere(deadOf(1, 1000)));
    CHECK_EQ_INT(totals().dead_batches - before.dead_batches, 2);
    CHECK(ioThreadsTransientMemory() >= transient + 1000);
    CHECK(fixtureUntil(areFreed, &(uint64_t){before.freed + DEAD_BATCH + 2}, 10000));
    CHECK_EQ_INT(ioThreadsTransientMemory(), transient);
    backToOne();
}

/* No value waits for a retiring thread, and a thread that is to end has got all. */
TEST(threads_that_retire_get_their_dead) {
    netFixtureInit();
    setThreads(3, false);
    ioTotals before = totals();
    for (int i = 0; i < 10; i++) CHECK(ioThreadsFreeElsewhere(deadOf(2, 1000)));
    ioThreadsSetCount(2);
    ioThreadsFlush();
    CHECK_EQ_INT(totals().dead_batches - before.dead_batches, 1);
    robj *late = deadOf(2, 10);
    CHECK(!ioThreadsFreeElsewhere(late));
    objectFree(late);
    backToOne();
}

static bool areGivenBack(void *want) { return totals().caches >= *(uint64_t *)want; }

/* A thread that has read nothing for a second returns the allocator's cache, once, and again after it has freed
 * values. */
TEST(threads_that_are_idle_keep_no_cache) {
    netFixtureInit();
    setThreads(3, false);
    monotime now = clockTicks();
    uint64_t second = 1;
    while (clockTicksToNs(second) < 1000000000ull) second *= 2;
    uint64_t before = totals().caches;
    ioThreadsTick(now);
    ioThreadsTick(now + second / 4);
    ioThreadsFlush();
    CHECK(ioThreadsFreeElsewhere(deadOf(1, 70000)));
    ioThreadsTick(now + second);
    ioThreadsTick(now + 2 * second);
    CHECK(fixtureUntil(areGivenBack, &(uint64_t){before + 2}, 10000));
    CHECK_EQ_INT(totals().caches, before + 2); /* each once, and not for values freed while it was not idle */
    CHECK(ioThreadsFreeElsewhere(deadOf(2, 70000)));
    CHECK(fixtureUntil(areGivenBack, &(uint64_t){before + 3}, 10000));
    CHECK_EQ_INT(totals().caches, before + 3);
    backToOne();
}

/* --- start and stop under traffic ------------------------------------------------------------------------- */

#define PEERS 12
typedef struct traffic {
    int fd;
    uint64_t seed;
    _Atomic int *stop;
    long pipelines;
    bool right;
} traffic;

static bool sendAllBlocking(int fd, const char *p, size_t len) {
    while (len) {
        ssize_t n = send(fd, p, len, MSG_NOSIGNAL);
        if (n > 0) p += n, len -= (size_t)n;
        else if (aeWait(fd, AE_WRITABLE, 20000) <= 0) return false;
    }
    return true;
}

static void *trafficMain(void *arg) {
    traffic *t = arg;
    t->right = true;
    while (t->right && !atomic_load(t->stop)) {
        int n = 1 + (int)(unitRandom(&t->seed) % 40);
        sds wire = sdsEmpty(), want = sdsEmpty();
        for (int i = 0; i < n; i++) {
            char words[700];
            int width = 1 + (int)(unitRandom(&t->seed) % (i % 10 ? 20 : 600));
            snprintf(words, sizeof(words), "ECHO %0*d", width, i);
            wire = catWords(wire, words);
            want = sdsCatPrintf(want, "$%zu\r\n%s\r\n", strlen(words + 5), words + 5);
        }
        t->right = sendAllBlocking(t->fd, wire, sdsLen(wire));
        size_t at = 0;
        while (t->right && at < sdsLen(want)) {
            char buf[4096];
            if (aeWait(t->fd, AE_READABLE, 20000) <= 0) {
                t->right = false;
                break;
            }
            ssize_t got = read(t->fd, buf, sizeof(buf));
            if (got <= 0 || at + (size_t)got > sdsLen(want) || memcmp(want + at, buf, (size_t)got)) t->right = false;
            else at += (size_t)got;
        }
        t->pipelines++;
        sdsFree(wire);
        sdsFree(want);
    }
    return NULL;
}

static long long onTick(aeEventLoop *loop, long long id, void *arg) {
    unused(loop), unused(id), unused(arg);
    return 5;
}

TEST(threads_come_and_go_under_traffic) {
    netFixtureInit();
    uint64_t seed = unitRandomSeed();
    traffic peers[PEERS];
    pthread_t threads[PEERS];
    _Atomic int stop = 0;
    for (int i = 0; i < PEERS; i++) {
        peers[i] = (traffic){.seed = unitRandom(&seed), .stop = &stop};
        fixtureConnect(&peers[i].fd, i % 2);
        pthread_create(&threads[i], NULL, trafficMain, &peers[i]);
    }
    /* Main may wait as long as threads execute by themselves; this timer ends it like a server's tick. */
    long long tick = aeCreateTimeEvent(fixture_loop, 5, onTick, NULL);
    for (int change = 0; change < 60; change++) {
        setThreads(1 + (int)(unitRandom(&seed) % 6), unitRandom(&seed) % 4 != 0);
        uint64_t end = clockMonotonicMs() + unitRandom(&seed) % 40;
        while (clockMonotonicMs() < end) aeProcessEvents(fixture_loop, AE_ALL_EVENTS | (change % 2 ? AE_DONT_WAIT : 0));
        ioThreadsReap(rebalanceIsIdle);
    }
    aeDeleteTimeEvent(fixture_loop, tick);
    atomic_store(&stop, 1);
    for (int i = 0; i < 500; i++) fixtureTurn(), poll(NULL, 0, 1);
    for (int i = 0; i < PEERS; i++) {
        pthread_join(threads[i], NULL);
        CHECK(peers[i].right);
        CHECK(peers[i].pipelines > 0);
        close(peers[i].fd);
    }
    CHECK(fixtureUntil(fixtureNoClients, NULL, 10000));
    backToOne();
}

/* --- where connections are ------------------------------------------------------------------------------------ */

static size_t heldBy(unsigned id) {
    size_t n = 0;
    listIter it = listBegin(client_state.clients, false);
    for (listNode *node; (node = listNext(&it)) != NULL;) {
        const client *c = listNodeValue(node);
        n += c->io->home == ioThreadGet(id);
    }
    return n;
}

/* Checks that only the first `n` threads have connections, thread 0 none, and none more than its share. */
static bool isSpread(void *n) {
    int threads = *(int *)n;
    size_t all = listLength(client_state.clients), share = (all + (size_t)threads - 2) / (size_t)(threads - 1), sum = 0;
    for (int i = 1; i < threads; i++) {
        if (heldBy((unsigned)i) > share) return false;
        sum += heldBy((unsigned)i);
    }
    return sum == all;
}

TEST(rebalance_spreads_evenly) {
    netFixtureInit();
    int peers[60];
    for (size_t i = 0; i < array_len(peers); i++) fixtureConnect(&peers[i], false);
    CHECK_EQ_INT(heldBy(0), array_len(peers));
    for (int n = 2; n <= 6; n++) {
        setThreads(n, true);
        CHECK_EQ_INT(rebalanceActiveThreads(), n);
        CHECK(fixtureUntil(isSpread, &n, 10000));
        CHECK_EQ_INT(heldBy(0), 0);
    }
    for (size_t i = 0; i < array_len(peers); i++) close(peers[i]);
    CHECK(fixtureUntil(fixtureNoClients, NULL, 10000));
    backToOne();
    CHECK_EQ_INT(heldBy(0), 0);
    CHECK_EQ_INT(rebalanceActiveThreads(), 1);
}
