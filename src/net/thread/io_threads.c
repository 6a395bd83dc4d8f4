/* io_threads.c -- start, run and stop the threads that hold streams; carry messages.
 *
 * A thread's turn: look at its sockets (they are read and parsed, requests are posted to main; writable ones are
 * written), publish, see to it that main executes (below), take messages from main; then wait.
 *
 * Who executes. A thread that has published commands looks at main's role. Free: it takes the role, makes main's turn
 * itself (take the messages of all threads, execute, hand out replies; those of its own streams by plain calls), and
 * gives the role back. Taken: whoever has it looks for messages after laying it down, so nothing has to be done. Kept
 * by main's own thread, which waits: it is rung for.
 *
 * No wake-up is lost. Who publishes to main sets its bit in `posted` (a locked instruction) and then looks at the role;
 * who lays the role down does that by a locked instruction and then looks at `posted`. One of the two sees the other's
 * store. Towards a thread the same with `sleeping`: it stores that, makes a full fence and looks at its ring once more,
 * and main publishes, makes a full fence and looks at `sleeping`.
 *
 * One thread greets (IO_THREAD_GREETER): it holds streams as long as their handshake lasts. The system is told to run
 * the others first. So it never takes the role: main would stand still whenever the processor is taken from it.
 *
 * Dead objects are in no hurry. They go back in batches that are full, large, or a few milliseconds old: a handful of
 * them is not worth a message, and still less the end of a thread's sleep. A batch that nobody adds to is looked at in
 * each turn, and the server's tick makes one.
 *
 * Threads share arenas of the allocator. One of its own would be left with holes when others overwrite what a thread
 * has made: whoever is idle allocates nothing to fill them (docs/design/data_path.md, "Freeing"). What keeps them out
 * of each other's way is the allocator's cache of each thread, and that what is dead comes back to it. An idle thread's
 * cache is of no use to anybody: it gives that back.
 *
 * Not here    what a message does (sessions.c, client_io.c), which thread holds which stream (rebalance.c),
 *             who has the role (main_role.c), when it pays to wake or to wait for whom (main_policy.c).
 * Owns        the threads, their channels and loops.
 * Threads     functions are main's, or the thread's own, as the header says.
 * Invariants  1. A thread delivers messages to itself directly only while it has the role and both its channels are
 *                empty: order is kept.
 *             2. A bit of `posted` is set whenever a thread's channel to main holds something that nobody is about to
 *                take.
 *             3. Dead objects wait here for no longer than DEAD_WAIT_MS and a turn, and not for a thread that retires.
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
#include "zmalloc_cache.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#define OVERFLOW_RETRY_MS 1
#define LOOP_FDS_AT_START 1024 /* attach() in client_io.c makes room for larger ones */
#define POSTED_WORDS ((IO_THREADS_ALL + 63) / 64)
#define DEAD_WAIT_MS 4               /* then a batch of dead objects that is not full goes, too */
#define DEAD_BATCH_BYTES (64 * 1024) /* and with so many at once: they are memory that nobody can use meanwhile */
#define IDLE_MS 1000                 /* without having read anything */
#define THREADS_PER_ARENA 16         /* with main's own */
#define GREETER_NICE 10              /* its share, where processors are short, is a tenth of another thread's */

struct ioThread {
    /* The thread's own. */
    ioOwner owner; /* first: the holder's address is the thread's */
    monotime busy_since;
    mainWatch watch; /* what it has seen of main, for main_policy.c */

    messageChannel to_main, from_main;
    aeWakeup wakeup; /* ends the thread's wait */
    /* Stored by the sleeper, seq_cst; read by the producer after a full fence. */
    alignas(CACHE_LINE) _Atomic int sleeping;
    _Atomic int stop;
    _Atomic int begun; /* it has what the allocator needs for a thread */

    /* Main. */
    alignas(CACHE_LINE) deadBatch *dead; /* owns: to be sent by IO_MSG_FREE; NULL when there is none */
    monotime dead_since;                 /* when the first of them came */
    uint64_t dead_bytes;                 /* of all objects ever put there; stats.freed_bytes follows */
    uint64_t dead_bytes_sent;            /* of those that were sent */
    monotime idle_since;                 /* it has read nothing since, as far as ioThreadsTick() has seen */
    uint64_t reads_seen;
    bool idle;      /* for IDLE_MS: has given back what the allocator keeps for it */
    bool retiring;  /* holds no new stream; ends when it holds none */
    bool published; /* ioThreadsFlush() has made messages visible and has yet to look whether it sleeps */
    unsigned long pthread_id;
};

static struct {
    /* Main. */
    ioThread *threads[IO_THREADS_ALL]; /* [0] is main's own, the last one greets */
    int count;
    ioThread *acting; /* has the role */
    ioThread *direct; /* messages to it are plain calls: `acting`, but for the start of a borrowed turn */
    bool overflow;    /* ioThreadsFlush() has left messages that a ring had no room for: it must be called again */
    uint64_t dead_batches, wakes; /* sent, so far; threads that were woken */
    ioThreadHooks hooks;
    aeWakeup main_wakeup;
    ioTotals ended; /* what threads have counted that are no more */
    /* A bit for each thread that has published something main has not begun to take. seq_cst. */
    alignas(CACHE_LINE) _Atomic uint64_t posted[POSTED_WORDS];
} io;

/* Order the stores before this with the loads behind it: the barrier between publishing to a thread and the look at
 * `sleeping`. */
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

/* --- who has posted -------------------------------------------------------------------------------- */

static void setPosted(unsigned id) {
    atomic_fetch_or(&io.posted[id / 64], 1ull << (id % 64));
}

static bool anyPosted(void) {
    for (int i = 0; i < POSTED_WORDS; i++)
        if (atomic_load(&io.posted[i])) return true;
    return false;
}

/* --- an I/O thread: messages ------------------------------------------------------------------------- */

/* What a dead object is counted with on both sides of its way. */
static uint64_t deadBytes(const robj *o) {
    return sizeof(*o) + o->key_len + o->value_len;
}

static void freeDead(ioThread *t, deadBatch *batch) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < batch->n; i++) {
        if (i + 4 < batch->n) prefetchRead(batch->objects[i + 4]);
        debugAssert(batch->objects[i]->owner == t->owner.id);
        bytes += deadBytes(batch->objects[i]);
        objectFree(batch->objects[i]);
    }
    ioOwnerStatAdd(&t->owner.stats.freed_bytes, bytes);
    ioOwnerStatAdd(&t->owner.stats.freed, batch->n);
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
    zmallocGiveBackCache();
    ioOwnerStatAdd(&t->owner.stats.caches, 1);
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

static void publish(ioThread *t) {
    if (messageChannelCommit(&t->to_main)) setPosted(t->owner.id);
}

/* --- an I/O thread: main's turn ------------------------------------------------------------------------ */

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

/* Deliver all that is on its way between the thread and main, in both directions, so that from here on plain calls come
 * after it. What a session does about a message it posts to the ring meanwhile, and so does the stream. */
static void emptyChannels(ioThread *t) {
    bool any;
    do {
        any = messageChannelCommit(&t->to_main);
        any |= pollThread(t, SIZE_MAX) > 0;
        any |= messageChannelCommit(&t->from_main);
        any |= takeMessages(t);
    } while (any || messageChannelHasOverflow(&t->to_main) || messageChannelHasOverflow(&t->from_main));
}

/* Make a turn of main on this thread if the role is free. */
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
    /* A thread that is behind is offered the rest when it has made room: it need not have anything to tell main. */
    if (end == ITERATION_LEFT_WORK || io.overflow) setPosted(t->owner.id);
    if (end == ITERATION_FOR_MAIN) mainRoleHandOff();
    else mainRoleRelease();
    return true;
}

/* What was published, and nobody has taken yet, is to be executed. True when this thread has done so. */
static bool seeToMain(ioThread *t) {
    if (!anyPosted()) return false;
    mainRoleState state = mainRolePeek();
    if (state == ROLE_FREE && !t->owner.greets && !mainPolicyWakes(&t->owner)) return actAsMain(t);
    mainWatchAdd(&t->watch, &t->owner);
    if (state == ROLE_FREE || state == ROLE_ASLEEP) mainRoleWake();
    return false;
}

/* Behind each socket: long before the turn ends publish and execute, or let main and the thread work at the same time.
 * A thread that makes all turns itself so runs each batch while its bytes are in the cache. */
static void threadAfterEvent(aeEventLoop *loop, void *arg) {
    unused(loop);
    ioThread *t = arg;
    if (unlikely(t->owner.direct)) return;
    if (!t->owner.greets && !mainWatchIsDue(&t->watch, &t->owner)) return;
    publish(t);
    if (!seeToMain(t)) takeMessages(t);
}

/* --- an I/O thread: its loop ------------------------------------------------------------------------------ */

static long long onRetry(aeEventLoop *loop, long long id, void *arg) {
    unused(loop), unused(id), unused(arg);
    return AE_NOMORE; /* the wait has ended, that is all */
}

/* Nobody is awake who will look at what was published. What a thread reports behind a turn of its own it has not told
 * anybody of: the role may have gone to main's own thread with that turn, and that may have fallen asleep since. */
static bool mainIsToBeTold(void) {
    mainRoleState state = mainRolePeek();
    return state == ROLE_FREE || state == ROLE_ASLEEP;
}

/* Nothing is left to do, it seems. Say that the thread sleeps and look once more; false: there is something. */
static bool fallsAsleep(ioThread *t) {
    if (t->owner.unreported) return false; /* written by a turn it made as main: a client may wait for the report */
    atomic_store_explicit(&t->sleeping, 1, memory_order_seq_cst);
    fullFence();
    bool work = !spscIsEmpty(&t->from_main.ring) || (anyPosted() && mainIsToBeTold());
    if (work) atomic_store_explicit(&t->sleeping, 0, memory_order_relaxed);
    return !work;
}

/* Before the loop waits: finish the turn, and find out whether there is reason not to wait. */
static void threadBeforeSleep(aeEventLoop *loop, void *arg) {
    ioThread *t = arg;
    if (unlikely(t->owner.direct)) return; /* a command lets others in between: the turn goes on behind it */
    /* Looked at before the ring: what main posted before it said stop is taken. */
    bool stop = atomic_load_explicit(&t->stop, memory_order_acquire);
    publish(t); /* what was parsed, before the writes that the messages bring */
    bool took = takeMessages(t);
    bool acted = !stop && seeToMain(t);
    bool again = !stop && !acted && mainWatchLooksAgain(&t->watch, &t->owner, took);
    if (!again || mainWatchReports(&t->watch)) io.hooks.report(&t->owner);
    publish(t);
    if (!stop && !again && !acted) acted = seeToMain(t);
    mainWatchTurned(&t->watch, &t->owner);
    zmallocKeepReserve(); /* at each turn, for a busy thread never sleeps */
    ioOwnerStatAdd(&t->owner.stats.active_ns, clockTicksToNs(clockTicks() - t->busy_since));
    if (stop) {
        aeStop(loop); /* what is reported is all that will be: no event comes behind it */
    } else if (again || (!acted && mainWatchSpins(&t->watch))) {
        aeDontWait(loop);
    } else if (messageChannelHasOverflow(&t->to_main)) { /* main is far behind: see whether there is room in a while */
        aeCreateTimeEvent(loop, OVERFLOW_RETRY_MS, onRetry, NULL);
    } else if (!fallsAsleep(t)) {
        aeDontWait(loop);
    }
}

static void threadAfterSleep(aeEventLoop *loop, void *arg) {
    unused(loop);
    ioThread *t = arg;
    if (unlikely(t->owner.direct)) return;
    atomic_store_explicit(&t->sleeping, 0, memory_order_relaxed);
    t->busy_since = clockTicks();
    ioOwnerStatAdd(&t->owner.stats.polls, 1);
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
    t->owner.greets = id == IO_THREAD_GREETER;
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
        serverPanic("Fatal: cannot make the event loop of an I/O thread: %s", strerror(errno));
    aeSetBeforeSleep(loop, threadBeforeSleep, t);
    aeSetAfterSleep(loop, threadAfterSleep, t);
    aeSetAfterEvent(loop, threadAfterEvent, t);
    io.threads[id] = t;
    char name[THREAD_NAME_SIZE];
    snprintf(name, sizeof(name), "io_thd_%u", id);
    threadPlan plan = {.name = name, .cpulist = net_settings.cpulist};
    if (t->owner.greets) plan.name = "tls_greet", plan.nice = GREETER_NICE;
    pthread_t p;
    int err = threadStart(&p, &plan, threadMain, t);
    if (err) serverPanic("Fatal: cannot start an I/O thread: %s", strerror(err));
    t->pthread_id = (unsigned long)p;
}

/* jemalloc does not survive that it has no memory for a new thread: so this is over before clients are served. */
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
    assertMainRole(); /* or the thread might be in the middle of a turn of main */
    messageChannelCommit(&t->from_main);
    atomic_store_explicit(&t->stop, 1, memory_order_release);
    aeWakeupSend(&t->wakeup);
    pthread_join((pthread_t)t->pthread_id, NULL);
}

static uint64_t statGet(const _Atomic uint64_t *counter) {
    return atomic_load_explicit(counter, memory_order_relaxed);
}

/* What an I/O thread has counted. */
static void addCounted(ioTotals *out, const ioThread *t) {
    out->net_input += statGet(&t->owner.stats.net_input);
    out->net_output += statGet(&t->owner.stats.net_output);
    out->reads += statGet(&t->owner.stats.reads);
    out->writes += statGet(&t->owner.stats.writes);
    out->freed += statGet(&t->owner.stats.freed);
    out->polls += statGet(&t->owner.stats.polls);
    out->caches += statGet(&t->owner.stats.caches);
}

/* The thread holds no stream and nothing is on the way to it. */
static void threadEnd(ioThread *t) {
    serverAssert(t->retiring);
    serverAssert(t != io.acting && !t->dead);
    threadJoin(t);
    aeDeleteEventLoop(t->owner.loop);
    aeWakeupClose(&t->wakeup);
    messageChannelDestroy(&t->to_main);
    messageChannelDestroy(&t->from_main);
    /* What it took and others gave back, and the other way round, must still add up. */
    requestPool *ours = &io.threads[0]->owner.pool;
    ours->memory_in += t->owner.pool.memory_in;
    ours->memory_out += t->owner.pool.memory_out;
    hotKeysRetire(&t->owner.pool.hot);
    if (t->owner.id != IO_THREAD_GREETER) addCounted(&io.ended, t);
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
        serverPanic("Fatal: cannot make main's wakeup: %s", strerror(errno));
    mainRoleInit(&io.main_wakeup);
}

int ioThreadsCount(void) {
    return io.count;
}

ioThread *ioThreadGet(unsigned id) {
    return id < IO_THREADS_ALL ? io.threads[id] : NULL;
}

ioThread *ioThreadMain(void) {
    return io.threads[0];
}

ioThread *ioThreadActing(void) {
    assertMainRole();
    return io.acting;
}

unsigned ioThreadId(const ioThread *t) {
    return t->owner.id;
}

ioOwner *ioThreadOwner(ioThread *t) {
    return &t->owner;
}

bool ioThreadIsRetiring(const ioThread *t) {
    return t->retiring;
}

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
    ioThread **handshaker = &io.threads[IO_THREAD_GREETER];
    if (on && !*handshaker) ioThreadBegin(IO_THREAD_GREETER);
    if (*handshaker) (*handshaker)->retiring = !on;
    if (on) awaitBegun(*handshaker);
}

/* From the last thread down, so that those that run have no gap: the walks over all end at the first one missing. */
void ioThreadsReap(bool (*idle)(const ioThread *t)) {
    assertMainThread();
    ioThread *handshaker = io.threads[IO_THREAD_GREETER];
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

/* The thread behind number `i`, 0 to begin with; NULL at the end. Those that retire stand behind those that stay, and
 * the one that greets behind all. */
static ioThread *nextThread(unsigned i) {
    while (++i < IO_THREADS_MAX) {
        if (io.threads[i]) return io.threads[i];
        if (i >= (unsigned)io.count) break;
    }
    return i <= IO_THREAD_GREETER ? io.threads[IO_THREAD_GREETER] : NULL;
}

/* --- main: messages --------------------------------------------------------------------------------- */

void ioThreadPost(ioThread *t, const ioMessage *m) {
    assertMainRole();
    if (t == io.direct) {
        deliverToThread(t, m);
        return;
    }
    serverAssert(t->owner.id != 0); /* nothing is posted to main's own thread while the role is lent */
    messageChannelPost(&t->from_main, m);
}

void ioThreadPostToMain(ioOwner *h, const ioMessage *m) {
    ioThread *t = (ioThread *)h;
    if (t->owner.direct) io.hooks.to_session(m);
    else messageChannelPost(&t->to_main, m);
}

static bool deadHaveWaited(const ioThread *t) {
    return t->retiring || clockTicksToNs(clockTicks() - t->dead_since) >= DEAD_WAIT_MS * 1000000ull;
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
        if (t->dead && deadHaveWaited(t)) sendDead(t);
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
        size_t came = pollThread(io.threads[id], max);
        if (came == max) setPosted(id); /* there may be more */
        n += came;
    }
    return n;
}

size_t ioThreadsPoll(size_t max) {
    assertMainRole();
    size_t n = 0;
    for (int word = 0; word < POSTED_WORDS; word++) n += pollWord(word, max);
    return n;
}

/* Whoever has the role sees the bit of thread 0 before it lays the role down; if that is main's own thread and it
 * waits, the bell ends the wait. */
void ioThreadsWakeMain(void) {
    setPosted(0);
    aeWakeupSend(&io.main_wakeup);
}

bool ioThreadsMainSleeps(bool offer) {
    assertMainThread();
    if (!nextThread(0)) return true;
    if (io.overflow) return false; /* a thread is behind: it must be offered the rest */
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
        in += atomic_load_explicit(&t->owner.pool.memory_in, memory_order_relaxed) + t->dead_bytes;
        out += atomic_load_explicit(&t->owner.pool.memory_out, memory_order_relaxed) +
               atomic_load_explicit(&t->owner.stats.freed_bytes, memory_order_relaxed);
    }
    return in > out ? in - out : 0; /* the counters are not read at one moment */
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
        uint64_t reads = atomic_load_explicit(&t->owner.stats.reads, memory_order_relaxed);
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
    out->net_input += statGet(&mains->owner.stats.net_input);
    out->net_output += statGet(&mains->owner.stats.net_output);
    out->main_reads = statGet(&mains->owner.stats.reads);
    out->main_writes = statGet(&mains->owner.stats.writes);
}

uint64_t ioThreadActiveNs(const ioThread *t) {
    return statGet(&t->owner.stats.active_ns);
}

uint64_t ioThreadActingNs(const ioThread *t) {
    return statGet(&t->owner.stats.acting_ns);
}
