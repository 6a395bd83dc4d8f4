/* io_threads.c -- starts, runs and stops the threads that own connections; carries messages.
 *
 * A loop iteration of an I/O thread: handle the sockets (read and parse, post requests to main; write to those that are
 * writable), publish the messages, make sure that main executes (see below), take messages from main; then wait.
 *
 * Which thread executes. A thread that has published commands reads the state of the main role. Free: it acquires the
 * role, runs an iteration of main itself (takes the messages of all threads, executes, hands out replies; those of its
 * own connections by plain calls), and releases the role. Another thread has it: that thread checks for messages after
 * it has released the role, so nothing is to be done. Kept by main's own thread, which waits: it is woken.
 *
 * No wakeup is lost. A thread that publishes to main sets its bit in `posted` (a locked instruction) and then reads the
 * role; a thread that releases the role does so by a locked instruction and then reads `posted`. One of the two sees
 * the other's store. Towards an I/O thread it is the same with `sleeping`: the thread stores that, makes a full fence
 * and checks its ring once more; main publishes, makes a full fence and reads `sleeping`.
 *
 * One thread only makes TLS handshakes (IO_THREAD_HANDSHAKER): it owns connections until their handshake ends. It has a
 * lower priority than the others. So it never acquires the main role: main would stop whenever this thread loses its
 * processor.
 *
 * Dead objects are not urgent. They go back in batches that are full, large, or a few milliseconds old: a few objects
 * are worth neither a message nor a wakeup. ioThreadsFlush() checks the age of a batch in each iteration; the server's
 * tick causes one even without load.
 *
 * Threads share arenas of the allocator. An arena of its own would be left with holes when others overwrite what a
 * thread has allocated, as an idle thread allocates nothing to fill them (docs/design/data_path.md, "Freeing"). The
 * allocator's cache of each thread, and the return of dead objects to their thread, keep threads from contending. The
 * cache of an idle thread is wasted memory: the thread gives it back.
 *
 * Not here    what a message does (sessions.c, client_io.c), which thread owns which connection (rebalance.c), the main
 *             role (main_role.c), when to wake or wait for a thread (main_policy.c).
 * Owns        the threads, their channels and loops.
 * Threads     functions run on main or on the thread itself, as the header says.
 * Invariants  1. A thread delivers messages to itself directly only while it has the main role and both its channels
 *                are empty: order is kept.
 *             2. A bit of `posted` is set whenever a thread's channel to main holds messages that no thread is about to
 *                take.
 *             3. Dead objects wait here for at most DEAD_WAIT_MS and one iteration, and not for a retiring thread.
 * Tests       tests/unit/net/thread/io_threads_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "io_threads.h"

#include "clock.h"
#include "log.h"
#include "main_policy.h"
#include "main_role.h"
#include "message_channel.h"
#include "net_settings.h"
#include "panic.h"
#include "thread.h"
#include "zmalloc.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#define OVERFLOW_RETRY_MS 1
#define LOOP_FDS_AT_START 1024 /* attach() in client_io.c resizes the loop for larger descriptors */
#define POSTED_WORDS ((IO_THREADS_ALL + 63) / 64)
#define DEAD_WAIT_MS 4               /* age at which a batch of dead objects is sent even if it is not full */
#define DEAD_BATCH_BYTES (64 * 1024) /* size at which it is sent at once: no thread can use that memory meanwhile */
#define IDLE_MS 1000                 /* a thread is idle after this time without a read */
#define THREADS_PER_ARENA 16         /* including main's own */
#define HANDSHAKER_NICE 10           /* if processors are short, it gets a tenth of another thread's share */

struct ioThread {
    /* The thread's own fields. */
    ioOwner owner; /* first, so that an ioOwner's address is its thread's address */
    monotime busy_since;
    mainWatch watch; /* main's activity as this thread last saw it */

    messageChannel to_main, from_main;
    aeWakeup wakeup; /* ends the thread's wait */
    /* Stored by the thread before it sleeps, seq_cst; read by main after a full fence. */
    alignas(CACHE_LINE) _Atomic int sleeping;
    _Atomic int stop;
    _Atomic int begun; /* the allocator has set the thread up */

    /* Fields of main. */
    alignas(CACHE_LINE) deadBatch *dead; /* owns: to be sent by IO_MSG_FREE; NULL if there is none */
    monotime dead_since;                 /* when its first object was added */
    uint64_t dead_bytes;                 /* of all objects ever added; stats.freed_bytes follows it */
    uint64_t dead_bytes_sent;            /* of the objects that were sent */
    monotime idle_since;                 /* the thread has read nothing since then, as ioThreadsTick() has seen */
    uint64_t reads_seen;
    bool idle;      /* for IDLE_MS: it has returned the allocator's cached blocks */
    bool retiring;  /* gets no new connection, and ends when it owns none */
    bool published; /* ioThreadsFlush() has published messages and has yet to check whether the thread sleeps */
    unsigned long pthread_id;
};

static struct {
    /* Fields of main. */
    ioThread *threads[IO_THREADS_ALL]; /* [0] is main's own, the last one makes handshakes */
    int count;
    ioThread *acting; /* has the main role */
    ioThread *direct; /* messages to it are plain calls: `acting`, except at the start of a delegated iteration */
    bool overflow;    /* some messages did not fit into a ring: ioThreadsFlush() must be called again */
    uint64_t dead_batches, wakes; /* batches of dead objects sent; threads woken */
    ioThreadHooks hooks;
    aeWakeup main_wakeup;
    ioTotals ended; /* counts of threads that have ended */
    /* A bit for each thread that has published messages which main has not begun to take. seq_cst. */
    alignas(CACHE_LINE) _Atomic uint64_t posted[POSTED_WORDS];
} io;

/* Orders the stores before it with the loads after it: between publishing to a thread and reading its `sleeping`. */
static void fullFence(void) {
#ifdef BUILT_WITH_TSAN
    static _Atomic int any;
    atomic_exchange(&any, 1);
#else
    atomic_thread_fence(memory_order_seq_cst);
#endif
}

static void wakeIfSleeping(ioThread *t) {
    if (!atomic_load_explicit(&t->sleeping, memory_order_relaxed)) return;
    atomic_store_explicit(&t->sleeping, 0, memory_order_relaxed);
    aeWakeupSend(&t->wakeup);
    io.wakes++;
}

/* --- which threads have posted --------------------------------------------------------------------- */

static void setPosted(unsigned id) { atomic_fetch_or(&io.posted[id / 64], 1ull << (id % 64)); }

static bool anyPosted(void) {
    for (int i = 0; i < POSTED_WORDS; i++)
        if (atomic_load(&io.posted[i])) return true;
    return false;
}

/* --- an I/O thread: messages ------------------------------------------------------------------------- */

/* The size of a dead object, counted the same when it is queued and when it is freed. */
static uint64_t deadBytes(const robj *o) { return sizeof(*o) + o->key_len + o->value_len; }

static void freeDead(ioThread *t, deadBatch *batch) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < batch->n; i++) {
        if (i + 4 < batch->n) prefetchRead(batch->objects[i + 4]);
        debugAssert(batch->objects[i]->owner == t->owner.id);
        bytes += deadBytes(batch->objects[i]);
        objectFree(batch->objects[i]);
    }
    netCounterAdd(&t->owner.stats.freed_bytes, bytes);
    netCounterAdd(&t->owner.stats.freed, batch->n);
    zfree(batch);
}

static void deliverToThread(ioThread *t, const ioMessage *m) {
    if (likely(m->type != IO_MSG_FREE)) {
        io.hooks.to_io(&t->owner, m);
        return;
    }
    if (m->dead) freeDead(t, m->dead);
    if (m->number == IO_FREE_HOT_KEYS) hotKeysTidy(&t->owner.pool.hot);
    if (m->number != IO_FREE_CACHE) return;
    zmallocDropCache();
    netCounterAdd(&t->owner.stats.caches, 1);
}

static bool takeMessages(ioThread *t) {
    bool any = false;
    ioMessage *m;
    while ((m = spscTake(&t->from_main.ring)) != NULL) {
        ioMessage *ahead = spscPeek(&t->from_main.ring, 1);
        if (ahead) {
            prefetchWrite(ahead->io);
            if (ahead->type == IO_MSG_OUTPUT && ahead->reply) prefetchRead(ahead->reply);
        }
        deliverToThread(t, m);
        any = true;
    }
    if (any) {
        io.hooks.delivered(&t->owner);
        spscRelease(&t->from_main.ring);
    }
    return any;
}

static void ioThreadsPublish(ioThread *t) {
    if (messageChannelCommit(&t->to_main)) setPosted(t->owner.id);
}

/* --- an I/O thread: an iteration of main --------------------------------------------------------------- */

static size_t pollThread(ioThread *t, size_t max) {
    size_t n = 0;
    ioMessage *m;
    while (n < max && (m = spscTake(&t->to_main.ring)) != NULL) {
        ioMessage *ahead = spscPeek(&t->to_main.ring, 2);
        if (ahead) {
            prefetchWrite(ahead->io);
            if (ahead->type == IO_MSG_REQUESTS) prefetchWrite(ahead->block);
        }
        io.hooks.to_session(m);
        n++;
    }
    if (n) spscRelease(&t->to_main.ring);
    return n;
}

/* Delivers all messages in transit between the thread and main, in both directions, so that plain calls after this keep
 * the order. While it runs, replies to these messages still go through the rings, in both directions. */
static void emptyChannels(ioThread *t) {
    bool any;
    do {
        any = messageChannelCommit(&t->to_main);
        any |= pollThread(t, SIZE_MAX) > 0;
        any |= messageChannelCommit(&t->from_main);
        any |= takeMessages(t);
    } while (any || messageChannelHasOverflow(&t->to_main) || messageChannelHasOverflow(&t->from_main));
}

/* Runs an iteration of main on this thread if the role is free. */
static bool actAsMain(ioThread *t) {
    if (!mainRoleAcquire(t->owner.id)) return false;
    io.acting = t;
    io.direct = NULL;
    emptyChannels(t);
    io.direct = t;
    t->owner.direct = true;
    iterationEnd end = io.hooks.iteration();
    t->owner.direct = false;
    io.acting = io.direct = io.threads[0];
    /* Messages that did not fit into a ring must be offered again, even if this thread has nothing for main. */
    if (end == ITERATION_LEFT_WORK || io.overflow) setPosted(t->owner.id);
    if (end == ITERATION_FOR_MAIN) mainRoleHandOff();
    else mainRoleRelease();
    return true;
}

/* Makes sure that published commands are executed. Returns true if this thread has done so. */
static bool ensureMainRuns(ioThread *t) {
    if (!anyPosted()) return false;
    mainRoleState state = mainRolePeek();
    if (state == ROLE_FREE && !t->owner.only_handshakes && !mainPolicyWakes(&t->owner)) return actAsMain(t);
    mainWatchAdd(&t->watch, &t->owner);
    if (state == ROLE_FREE || state == ROLE_ASLEEP) mainRoleWake();
    return false;
}

/* After each socket, long before the loop iteration ends: publish and execute, or let main and this thread work at the
 * same time. A thread that runs all iterations of main itself executes each batch while its bytes are in the cache. */
static void threadAfterEvent(aeEventLoop *loop, void *arg) {
    unused(loop);
    ioThread *t = arg;
    if (unlikely(t->owner.direct)) return;
    if (!t->owner.only_handshakes && !mainWatchIsDue(&t->watch, &t->owner)) return;
    ioThreadsPublish(t);
    if (!ensureMainRuns(t)) takeMessages(t);
}

/* --- an I/O thread: its loop ------------------------------------------------------------------------------ */

static long long onRetry(aeEventLoop *loop, long long id, void *arg) {
    unused(loop), unused(id), unused(arg);
    return AE_NOMORE; /* it only ends the wait */
}

/* Returns whether no thread is awake that will take what was published. Reports after an iteration of main are
 * published without waking a thread: the role may have passed to main's own thread, which may sleep by now. */
static bool mainIsNotified(void) {
    mainRoleState state = mainRolePeek();
    return state == ROLE_FREE || state == ROLE_ASLEEP;
}

/* Call when no work seems to be left: announces that the thread sleeps and checks once more. Returns false if there is
 * work after all. */
static bool tryToSleep(ioThread *t) {
    if (t->owner.unreported) return false; /* written while it had the role: a client may wait for the report */
    atomic_store_explicit(&t->sleeping, 1, memory_order_seq_cst);
    fullFence();
    bool work = !spscIsEmpty(&t->from_main.ring) || (anyPosted() && mainIsNotified());
    if (work) atomic_store_explicit(&t->sleeping, 0, memory_order_relaxed);
    return !work;
}

/* Runs before the loop waits: finishes the loop iteration and decides whether to wait. */
static void threadBeforeSleep(aeEventLoop *loop, void *arg) {
    ioThread *t = arg;
    if (unlikely(t->owner.direct)) return; /* a running command serves others: the iteration continues after it */
    /* Read before the ring is emptied, so that messages which main posted before the stop are taken. */
    bool stop = atomic_load_explicit(&t->stop, memory_order_acquire);
    ioThreadsPublish(t); /* what was parsed, before the writes that the messages cause */
    bool got_messages = takeMessages(t);
    bool acted = !stop && ensureMainRuns(t);
    bool again = !stop && !acted && mainWatchPollsAgain(&t->watch, &t->owner, got_messages);
    if (!again || mainWatchReports(&t->watch)) io.hooks.report(&t->owner);
    ioThreadsPublish(t);
    if (!stop && !again && !acted) acted = ensureMainRuns(t);
    mainWatchReset(&t->watch, &t->owner);
    zmallocKeepReserve(); /* in each loop iteration, as a busy thread never sleeps */
    netCounterAdd(&t->owner.stats.active_ns, clockTicksToNs(clockTicks() - t->busy_since));
    if (stop) {
        aeStop(loop); /* everything was reported, and no more events follow */
    } else if (again || (!acted && mainWatchSpins(&t->watch))) {
        aeDontWait(loop);
    } else if (messageChannelHasOverflow(&t->to_main)) { /* main is far behind: try again soon */
        aeCreateTimeEvent(loop, OVERFLOW_RETRY_MS, onRetry, NULL);
    } else if (!tryToSleep(t)) {
        aeDontWait(loop);
    }
}

static void threadAfterSleep(aeEventLoop *loop, void *arg) {
    unused(loop);
    ioThread *t = arg;
    if (unlikely(t->owner.direct)) return;
    atomic_store_explicit(&t->sleeping, 0, memory_order_relaxed);
    t->busy_since = clockTicks();
    netCounterAdd(&t->owner.stats.polls, 1);
}

static void threadMain(void *arg) {
    ioThread *t = arg;
    zmallocUseArena(t->owner.id / THREADS_PER_ARENA);
    atomic_store_explicit(&t->begun, 1, memory_order_release);
    t->busy_since = clockTicks();
    aeMain(t->owner.loop);
    serverAssert(!t->owner.unreported);
    serverAssert(!t->owner.direct);
    requestPoolEmpty(&t->owner.pool);
    zfree(t->owner.args);
    t->owner.args = NULL;
}

static ioThread *threadCreate(unsigned id) {
    ioThread *t = zmallocAligned(CACHE_LINE, sizeof(*t));
    memset(t, 0, sizeof(*t));
    t->owner.id = t->owner.pool.thread_id = id;
    t->owner.only_handshakes = id == IO_THREAD_HANDSHAKER;
    t->busy_since = clockTicks();
    return t;
}

static void ioThreadBegin(unsigned id) {
    assertMainThread();
    serverAssert(id > 0 && id < IO_THREADS_ALL);
    serverAssert(!io.threads[id]);
    ioThread *t = threadCreate(id);
    aeEventLoop *loop = t->owner.loop = aeCreateEventLoop(LOOP_FDS_AT_START);
    messageChannelInit(&t->to_main);
    messageChannelInit(&t->from_main);
    if (!loop || aeWakeupOpen(loop, &t->wakeup, NULL) == C_ERR)
        serverPanic("Fatal: cannot create the event loop of an I/O thread: %s", strerror(errno));
    aeSetBeforeSleep(loop, threadBeforeSleep, t);
    aeSetAfterSleep(loop, threadAfterSleep, t);
    aeSetAfterEvent(loop, threadAfterEvent, t);
    io.threads[id] = t;
    char name[THREAD_NAME_SIZE];
    snprintf(name, sizeof(name), "io_thd_%u", id);
    threadPlan plan = {.name = name, .cpulist = net_settings.cpulist};
    if (t->owner.only_handshakes) plan.name = "tls_greet", plan.nice = HANDSHAKER_NICE;
    pthread_t p;
    int err = threadStart(&p, &plan, threadMain, t);
    if (err) serverPanic("Fatal: cannot start an I/O thread: %s", strerror(err));
    t->pthread_id = (unsigned long)p;
}

/* jemalloc fails fatally if it has no memory for a new thread, so wait until it has set the thread up, before clients
 * are served. */
static void awaitBegun(const ioThread *t) {
    while (!atomic_load_explicit(&t->begun, memory_order_acquire)) sched_yield();
}

static void sendDead(ioThread *t) {
    ioMessage m = {.type = IO_MSG_FREE, .dead = t->dead, .number = t->idle ? IO_FREE_CACHE : 0};
    t->dead = NULL;
    t->dead_bytes_sent = t->dead_bytes;
    io.dead_batches++;
    ioThreadPost(t, &m);
}

static void threadJoin(ioThread *t) {
    assertMainThread();
    assertMainRole(); /* else the thread might be running an iteration of main */
    messageChannelCommit(&t->from_main);
    atomic_store_explicit(&t->stop, 1, memory_order_release);
    aeWakeupSend(&t->wakeup);
    pthread_join((pthread_t)t->pthread_id, NULL);
}

/* Adds the counters of an I/O thread. */
static void addCounted(ioTotals *out, const ioThread *t) {
    out->net_input += netCounterGet(&t->owner.stats.net_input);
    out->net_output += netCounterGet(&t->owner.stats.net_output);
    out->reads += netCounterGet(&t->owner.stats.reads);
    out->writes += netCounterGet(&t->owner.stats.writes);
    out->freed += netCounterGet(&t->owner.stats.freed);
    out->polls += netCounterGet(&t->owner.stats.polls);
    out->caches += netCounterGet(&t->owner.stats.caches);
}

/* Ends a thread that owns no connection and to which no message is in transit. */
static void threadEnd(ioThread *t) {
    serverAssert(t->retiring);
    serverAssert(t != io.acting && !t->dead);
    threadJoin(t);
    aeDeleteEventLoop(t->owner.loop);
    aeWakeupClose(&t->wakeup);
    messageChannelDestroy(&t->to_main);
    messageChannelDestroy(&t->from_main);
    /* Memory that it counted as taken may be counted as released by another thread, so the sums must survive it. */
    requestPool *ours = &io.threads[0]->owner.pool;
    ours->memory_in += t->owner.pool.memory_in;
    ours->large_in += t->owner.pool.large_in;
    ours->large_out += t->owner.pool.large_out;
    ours->memory_out += t->owner.pool.memory_out;
    hotKeysRetire(&t->owner.pool.hot);
    if (t->owner.id != IO_THREAD_HANDSHAKER) addCounted(&io.ended, t);
    io.threads[t->owner.id] = NULL;
    zfree(t);
}

/* --- main: threads --------------------------------------------------------------------------------- */

void ioThreadsInit(aeEventLoop *main_loop, const ioThreadHooks *hooks) {
    assertMainThread();
    serverAssert(!io.threads[0]);
    serverAssert(hooks->to_session && hooks->to_io && hooks->delivered && hooks->report && hooks->iteration);
    io.hooks = *hooks;
    io.threads[0] = io.acting = io.direct = threadCreate(0);
    io.threads[0]->owner.loop = main_loop;
    io.threads[0]->owner.direct = true;
    io.count = 1;
    if (aeWakeupOpen(main_loop, &io.main_wakeup, NULL) == C_ERR)
        serverPanic("Fatal: cannot create the wakeup of the main thread: %s", strerror(errno));
    mainRoleInit(&io.main_wakeup);
}

int ioThreadsCount(void) { return io.count; }

ioThread *ioThreadGet(unsigned id) { return id < IO_THREADS_ALL ? io.threads[id] : NULL; }

ioThread *ioThreadMain(void) { return io.threads[0]; }

ioThread *ioThreadActing(void) {
    assertMainRole();
    return io.acting;
}

unsigned ioThreadId(const ioThread *t) { return t->owner.id; }

ioOwner *ioThreadOwner(ioThread *t) { return &t->owner; }

bool ioThreadIsRetiring(const ioThread *t) { return t->retiring; }

void ioThreadsSetCount(int n) {
    assertMainThread();
    assertMainRole();
    serverAssert(n <= IO_THREADS_MAX);
    for (int i = 1; i < n; i++) {
        if (!io.threads[i]) ioThreadBegin((unsigned)i);
        io.threads[i]->retiring = false;
    }
    for (int i = 1; i < n; i++) awaitBegun(io.threads[i]);
    for (int i = n < 1 ? 1 : n; i < IO_THREADS_MAX; i++)
        if (io.threads[i]) io.threads[i]->retiring = true;
    io.count = n < 1 ? 1 : n;
}

void ioThreadsSetHandshaker(bool on) {
    assertMainThread();
    assertMainRole();
    ioThread **handshaker = &io.threads[IO_THREAD_HANDSHAKER];
    if (on && !*handshaker) ioThreadBegin(IO_THREAD_HANDSHAKER);
    if (*handshaker) (*handshaker)->retiring = !on;
    if (on) awaitBegun(*handshaker);
}

/* Ends the highest numbers first, so that the remaining ones have no gap: loops over all threads end at the first
 * missing number. */
void ioThreadsReap(bool (*idle)(const ioThread *t)) {
    assertMainThread();
    ioThread *handshaker = io.threads[IO_THREAD_HANDSHAKER];
    if (handshaker && handshaker->retiring && idle(handshaker) && !messageChannelHasOverflow(&handshaker->from_main))
        threadEnd(handshaker);
    for (unsigned i = IO_THREADS_MAX - 1; i >= (unsigned)io.count; i--) {
        ioThread *t = io.threads[i];
        if (!t) continue;
        if (!idle(t) || t->dead || messageChannelHasOverflow(&t->from_main)) return;
        threadEnd(t);
    }
}

void ioThreadsShutdown(void) {
    assertMainThread();
    for (unsigned i = 1; i < IO_THREADS_ALL; i++)
        if (io.threads[i]) threadJoin(io.threads[i]);
}

/* Returns the thread after number `i` (0: the first I/O thread), NULL at the end. Retiring threads come after the
 * others, the handshake thread last. */
static ioThread *nextThread(unsigned i) {
    while (++i < IO_THREADS_MAX) {
        if (io.threads[i]) return io.threads[i];
        if (i >= (unsigned)io.count) break;
    }
    return i <= IO_THREAD_HANDSHAKER ? io.threads[IO_THREAD_HANDSHAKER] : NULL;
}

/* --- main: messages --------------------------------------------------------------------------------- */

void ioThreadPost(ioThread *t, const ioMessage *m) {
    assertMainRole();
    if (t == io.direct) {
        deliverToThread(t, m);
        return;
    }
    serverAssert(t->owner.id != 0); /* nothing is posted to main's own thread while an I/O thread has the role */
    messageChannelPost(&t->from_main, m);
}

void ioThreadPostToMain(ioOwner *h, const ioMessage *m) {
    ioThread *t = (ioThread *)h;
    if (t->owner.direct) io.hooks.to_session(m);
    else messageChannelPost(&t->to_main, m);
}

bool ioThreadsFreeElsewhere(robj *o) {
    assertMainRole();
    ioThread *t = io.threads[o->owner];
    if (!t || t == io.acting || o->owner == 0 || t->retiring) return false;
    if (!t->dead) {
        t->dead = zmalloc(sizeof(deadBatch));
        t->dead->n = 0;
        t->dead_since = clockTicks();
    }
    debugAssert(t->dead->n < DEAD_BATCH);
    t->dead_bytes += deadBytes(o);
    t->dead->objects[t->dead->n++] = o;
    if (t->dead->n == DEAD_BATCH || t->dead_bytes - t->dead_bytes_sent >= DEAD_BATCH_BYTES) sendDead(t);
    return true;
}

void ioThreadsFlush(void) {
    assertMainRole();
    bool published = false;
    io.overflow = false;
    for (ioThread *t = nextThread(0); t; t = nextThread(t->owner.id)) {
        bool waited = t->dead && clockTicksToNs(clockTicks() - t->dead_since) >= DEAD_WAIT_MS * 1000000ull;
        if (waited || (t->dead && t->retiring)) sendDead(t);
        if (messageChannelCommit(&t->from_main)) t->published = published = true;
        io.overflow |= messageChannelHasOverflow(&t->from_main);
    }
    if (!published) return;
    fullFence();
    for (ioThread *t = nextThread(0); t; t = nextThread(t->owner.id)) {
        if (!t->published) continue;
        t->published = false;
        wakeIfSleeping(t);
    }
}

static size_t pollWord(int word, size_t max) {
    if (atomic_load_explicit(&io.posted[word], memory_order_relaxed) == 0) return 0;
    uint64_t bits = atomic_exchange(&io.posted[word], 0);
    size_t n = 0;
    for (; bits; bits &= bits - 1) {
        unsigned id = (unsigned)word * 64 + (unsigned)__builtin_ctzll(bits);
        if (id == 0 || !io.threads[id]) continue;
        size_t count = pollThread(io.threads[id], max);
        if (count == max) setPosted(id); /* there may be more messages */
        n += count;
    }
    return n;
}

size_t ioThreadsPoll(size_t max) {
    assertMainRole();
    size_t n = 0;
    for (int word = 0; word < POSTED_WORDS; word++) n += pollWord(word, max);
    return n;
}

/* The thread that has the role sees the bit of thread 0 when it checks `posted`; if main's own thread has it and waits,
 * the wakeup ends the wait. */
void ioThreadsWakeMain(void) {
    setPosted(0);
    aeWakeupSend(&io.main_wakeup);
}

bool ioThreadsMainSleeps(bool offer) {
    assertMainThread();
    if (!nextThread(0)) return true;
    if (io.overflow) return false; /* a ring was full: the remaining messages must be offered again */
    mainRoleSuspend(offer);
    return !anyPosted() || !mainRoleReacquire();
}

void ioThreadsMainAwake(void) {
    assertMainThread();
    if (!panicHoldsMainRole()) mainRoleResume();
}

size_t ioThreadsTransientMemory(void) {
    assertMainRole();
    uint64_t in = 0, out = 0;
    for (int i = 0; i < IO_THREADS_MAX; i++) {
        const ioThread *t = io.threads[i];
        if (!t) continue;
        in += netCounterGet(&t->owner.pool.memory_in) + t->dead_bytes;
        out += netCounterGet(&t->owner.pool.memory_out) + netCounterGet(&t->owner.stats.freed_bytes);
    }
    return in > out ? in - out : 0; /* the counters are not read at the same moment */
}

size_t ioThreadsLargeRequests(void) {
    assertMainRole();
    uint64_t in = 0, out = 0;
    for (int i = 0; i < IO_THREADS_MAX; i++) {
        const ioThread *t = io.threads[i];
        if (!t) continue;
        in += netCounterGet(&t->owner.pool.large_in);
        out += netCounterGet(&t->owner.pool.large_out);
    }
    return in > out ? in - out : 0;
}

/* --- main: idle threads ------------------------------------------------------------------------- */

void ioThreadsTidyHotKeys(void) {
    assertMainRole();
    for (ioThread *t = nextThread(0); t; t = nextThread(t->owner.id)) {
        ioMessage m = {.type = IO_MSG_FREE, .number = IO_FREE_HOT_KEYS};
        ioThreadPost(t, &m);
    }
}

void ioThreadsTick(monotime now) {
    assertMainThread();
    assertMainRole();
    hotKeysTidy(&io.threads[0]->owner.pool.hot);
    for (ioThread *t = nextThread(0); t; t = nextThread(t->owner.id)) {
        uint64_t reads = netCounterGet(&t->owner.stats.reads);
        if (reads != t->reads_seen || !t->idle_since) {
            t->reads_seen = reads;
            t->idle_since = now;
            t->idle = false;
        } else if (!t->idle && clockTicksToNs(now - t->idle_since) >= IDLE_MS * 1000000ull) {
            t->idle = true;
            ioMessage m = {.type = IO_MSG_FREE, .number = IO_FREE_CACHE};
            ioThreadPost(t, &m);
        }
    }
}

/* --- what INFO shows ---------------------------------------------------------------------------- */

void ioThreadsTotals(ioTotals *out) {
    assertMainRole();
    const ioThread *mains = io.threads[0];
    *out = io.ended;
    out->dead_batches = io.dead_batches;
    out->wakes = io.wakes;
    for (int i = 1; i < IO_THREADS_MAX; i++)
        if (io.threads[i]) addCounted(out, io.threads[i]);
    if (!mains) return;
    out->net_input += netCounterGet(&mains->owner.stats.net_input);
    out->net_output += netCounterGet(&mains->owner.stats.net_output);
    out->main_reads = netCounterGet(&mains->owner.stats.reads);
    out->main_writes = netCounterGet(&mains->owner.stats.writes);
}

uint64_t ioThreadActiveNs(const ioThread *t) { return netCounterGet(&t->owner.stats.active_ns); }

uint64_t ioThreadActingNs(const ioThread *t) { return netCounterGet(&t->owner.stats.acting_ns); }
