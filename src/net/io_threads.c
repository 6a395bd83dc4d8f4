/* io_threads.c -- start, run and stop the threads that hold streams; carry messages.
 *
 * A thread's turn: take messages from main, look at its sockets (they are read, parsed and handed to
 * main; writable ones are written), publish, wake main if it sleeps. A turn that found nothing to do reports
 * what was written, says that the thread sleeps, and waits.
 *
 * Sleeping. A consumer that has run dry stores `sleeping`, makes a full fence, looks at its ring once
 * more, and waits. A producer publishes, makes a full fence, and looks at `sleeping`. One of the two sees
 * the other's store, so no wake-up is lost, and the system call is made only for a sleeper.
 *
 * A wake-up costs main more than ten commands do. So an I/O thread publishes early but wakes main only for
 * WAKE_COMMANDS commands, or when it finds nothing more to read, always before it waits itself; and not at all for
 * MSG_WRITTEN, which main takes when it is next awake. For the same reason a thread says that it sleeps only after a
 * turn that found nothing, and not while an answer of main is due at once.
 *
 * Not here    what a message does to a stream (networking.c), which thread holds which (rebalance.c).
 * Owns        the threads, their rings and loops.
 * Threads     functions are main's, or the thread's own, as the header says.
 * Invariants  1. A ring has one producer and one consumer.
 *             2. Overflow is sent before anything newer: order is kept.
 * Tests       tests/unit/net/io_threads_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "io_threads.h"

#include "bio.h"
#include "log.h"
#include "net_settings.h"
#include "panic.h"
#include "zmalloc.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define RING_MESSAGES 4096
#define OVERFLOW_RETRY_MS 1
#define REPORT_TURNS \
    4 /* what was written is reported so often, or with the client's next request, or before the thread sleeps */
#define BREATHE_READS 16
#define BREATHE_COMMANDS 64
/* Main is woken for so many commands, or when a thread finds nothing more to read. Where main slept on the thread's
 * own processor it cannot run beside it: waking it early would only add switches between the two. */
#define WAKE_COMMANDS 32
#define WAKE_COMMANDS_SAME_CPU 256
#define WAKE_DELAY_NS 200000   /* and however busy the thread is with other streams, after this time */
#define LINGER_NS 20000        /* no pipeline, 50 clients: 5 % more requests, a seventh less CPU of main */
#define LOOP_FDS_AT_START 1024 /* streamAttach() makes room for larger descriptors */

static struct {
    ioThread *threads[IO_THREADS_MAX]; /* [0] is main */
    int count;
    void (*deliver)(const ioMessage *m);
    aeDoorbell main_bell;
    alignas(CACHE_LINE) _Atomic int main_sleeping;
    _Atomic int main_cpu; /* relaxed: where main last woke */
} io;

/* --- channels ----------------------------------------------------------------------------------- */

static void channelInit(messageChannel *ch) {
    spscInit(&ch->ring, RING_MESSAGES, sizeof(ioMessage));
    ch->overflow = NULL;
    ch->overflow_len = ch->overflow_cap = ch->overflow_first = 0;
}

static void channelDestroy(messageChannel *ch) {
    spscDestroy(&ch->ring);
    zfree(ch->overflow);
}

static void channelOverflow(messageChannel *ch, const ioMessage *m) {
    if (ch->overflow_len == ch->overflow_cap && ch->overflow_first > 0) {
        ch->overflow_len -= ch->overflow_first;
        memmove(ch->overflow, ch->overflow + ch->overflow_first, ch->overflow_len * sizeof(ioMessage));
        ch->overflow_first = 0;
    }
    if (ch->overflow_len == ch->overflow_cap) {
        ch->overflow_cap = ch->overflow_cap ? ch->overflow_cap * 2 : 1024;
        ch->overflow = zrealloc(ch->overflow, ch->overflow_cap * sizeof(ioMessage));
    }
    ch->overflow[ch->overflow_len++] = *m;
}

static void channelPost(messageChannel *ch, const ioMessage *m) {
    ioMessage *place = ch->overflow_len ? NULL : spscReserve(&ch->ring);
    if (likely(place != NULL)) *place = *m;
    else channelOverflow(ch, m);
}

/* Move what did not fit into the ring as far as there is room, and publish. True if anything was. */
static bool channelCommit(messageChannel *ch) {
    while (unlikely(ch->overflow_len > 0)) {
        ioMessage *place = spscReserve(&ch->ring);
        if (!place) break;
        *place = ch->overflow[ch->overflow_first++];
        if (ch->overflow_first == ch->overflow_len) ch->overflow_first = ch->overflow_len = 0;
    }
    return spscCommit(&ch->ring);
}

static bool channelHasOverflow(const messageChannel *ch) {
    return ch->overflow_len > 0;
}

/* Order the stores before this with the loads behind it: the only barrier between publishing and the
 * look at `sleeping`. */
static void fullFence(void) {
#ifdef BUILT_WITH_TSAN
    static _Atomic int any;
    atomic_exchange(&any, 1);
#else
    atomic_thread_fence(memory_order_seq_cst);
#endif
}

static void wakeIfSleeping(_Atomic int *sleeping, const aeDoorbell *bell) {
    if (!atomic_load_explicit(sleeping, memory_order_relaxed)) return;
    atomic_store_explicit(sleeping, 0, memory_order_relaxed);
    aeDoorbellRing(bell);
}

/* --- an I/O thread ------------------------------------------------------------------------------ */

/* What a dead object is counted with on both sides of its way. */
static uint64_t deadBytes(const robj *o) {
    return sizeof(*o) + o->key_len + o->value_len;
}

static void freeDead(ioThread *t, deadBatch *batch) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < batch->n; i++) {
        if (i + 4 < batch->n) prefetchRead(batch->objects[i + 4]);
        bytes += deadBytes(batch->objects[i]);
        objectFree(batch->objects[i]);
    }
    ioStatAdd(&t->stats.freed_bytes, bytes);
    ioStatAdd(&t->stats.freed, batch->n);
    zfree(batch);
}

static void deliverToThread(ioThread *t, const ioMessage *m) {
    clientStream *s = m->stream;
    switch ((messageType)m->type) {
    case MSG_JOIN:
        streamAttach(s, t);
        streamSetAuthenticated(s, m->number & STREAM_AUTHENTICATED);
        break;
    case MSG_LEAVE: streamDetach(s); break;
    case MSG_OUTPUT:
        streamSetAuthenticated(s, m->number & STREAM_AUTHENTICATED);
        /* Output first: a returned block may let more be parsed, which on main is executed at once. */
        if (m->reply) streamTakeOutput(s, m->reply);
        if (m->block) streamTakeReturned(s, m->block);
        break;
    case MSG_DRAIN: streamDrainAndClose(s); break;
    case MSG_CLOSE: streamClose(s); break;
    case MSG_FREE: freeDead(t, m->dead); break;
    case MSG_REQUESTS:
    case MSG_WRITTEN:
    case MSG_END:
    case MSG_LEFT:
    case MSG_GONE: serverPanic("message %d is not for a thread", m->type);
    }
}

static bool takeMessages(ioThread *t) {
    bool any = false;
    ioMessage *m;
    while ((m = spscTake(&t->from_main.ring)) != NULL) {
        ioMessage *ahead = spscPeek(&t->from_main.ring, 1);
        if (ahead) {
            prefetchWrite(ahead->stream);
            if (ahead->type == MSG_OUTPUT && ahead->reply) prefetchRead(ahead->reply);
        }
        deliverToThread(t, m);
        any = true;
    }
    if (any) spscRelease(&t->from_main.ring);
    return any;
}

void ioThreadReport(ioThread *t) {
    while (t->unreported) {
        clientStream *s = t->unreported;
        t->unreported = s->next_unreported;
        s->has_unreported = false;
        streamReportWritten(s);
    }
}

static void publishToMain(ioThread *t) {
    channelCommit(&t->to_main);
    if (t->urgent && !t->wake_owed) {
        t->wake_owed = true;
        t->owed_since = clockTicks();
    }
    t->urgent = false;
}

static bool mainIsElsewhere(void) {
    return atomic_load_explicit(&io.main_cpu, memory_order_relaxed) != sched_getcpu();
}

static bool enoughToWake(const ioThread *t) {
    if (!t->wake_owed) return false;
    if (t->commands_unannounced >= WAKE_COMMANDS_SAME_CPU) return true;
    if (t->commands_unannounced >= WAKE_COMMANDS && mainIsElsewhere()) return true;
    return clockTicksToNs(clockTicks() - t->owed_since) >= WAKE_DELAY_NS;
}

/* Wake main for what was published, unless it has taken it already. */
static void announceToMain(ioThread *t) {
    if (!t->wake_owed) return;
    t->wake_owed = false;
    t->commands_unannounced = 0;
    if (spscIsEmpty(&t->to_main.ring)) return;
    fullFence();
    wakeIfSleeping(&io.main_sleeping, &io.main_bell);
}

void ioThreadBreathe(ioThread *t) {
    if (t->id == 0) return;
    t->reads_this_turn++;
    if (++t->reads_unpublished < BREATHE_READS && t->commands_unpublished < BREATHE_COMMANDS) return;
    t->reads_unpublished = t->commands_unpublished = 0;
    publishToMain(t);
    if (enoughToWake(t)) announceToMain(t);
    takeMessages(t);
}

static long long onRetry(aeEventLoop *loop, long long id, void *arg) {
    unused(loop), unused(id), unused(arg);
    return AE_NOMORE; /* the wait has ended, that is all */
}

/* The turn has found something to do, so the next one may as well: look at the sockets once more before saying that
 * the thread sleeps. Main would ring for it in vain, which costs main more than a look costs here. */
static bool looksOnceMore(ioThread *t, bool took) {
    if (t->reads_this_turn == 0 && !took) return false;
    t->reads_this_turn = 0;
    if (took) t->told_at = 0;
    if (++t->busy_turns % REPORT_TURNS == 0) ioThreadReport(t);
    publishToMain(t);
    if (enoughToWake(t)) announceToMain(t);
    return true;
}

/* Main has just been told of commands and answers within microseconds: less than it takes to sleep, to be woken by
 * main, and main to ring. So go on looking at the sockets for LINGER_NS, unless that would keep main from running. */
static bool lingers(ioThread *t) {
    if (!t->told_at) return false;
    if (mainIsElsewhere() && clockTicksToNs(clockTicks() - t->told_at) < LINGER_NS) return true;
    t->told_at = 0;
    return false;
}

/* Before the loop waits: finish the turn, and find out whether there is reason not to wait. */
static void threadBeforeSleep(aeEventLoop *loop, void *arg) {
    ioThread *t = arg;
    /* Looked at before the ring: what main posted before it said stop is taken. */
    bool stop = atomic_load_explicit(&t->stop, memory_order_acquire);
    publishToMain(t); /* what was parsed, before the writes that the messages bring */
    bool took = takeMessages(t);
    bool again = !stop && looksOnceMore(t, took);
    ioStatAdd(&t->stats.active_ns, clockTicksToNs(clockTicks() - t->busy_since));
    if (again) {
        aeDontWait(loop);
        return;
    }
    ioThreadReport(t);
    publishToMain(t);
    if (t->wake_owed) t->told_at = clockTicks();
    announceToMain(t);
    if (!stop && lingers(t)) {
        aeDontWait(loop);
        return;
    }
    if (stop) {
        aeStop(loop);
        aeDontWait(loop);
        return;
    }
    if (channelHasOverflow(&t->to_main)) { /* main is far behind: see whether there is room in a while */
        aeCreateTimeEvent(loop, OVERFLOW_RETRY_MS, onRetry, NULL);
        return;
    }
    atomic_store_explicit(&t->sleeping, 1, memory_order_seq_cst);
    fullFence();
    if (!spscIsEmpty(&t->from_main.ring)) {
        atomic_store_explicit(&t->sleeping, 0, memory_order_relaxed);
        aeDontWait(loop);
    }
}

static void threadAfterSleep(aeEventLoop *loop, void *arg) {
    unused(loop);
    ioThread *t = arg;
    atomic_store_explicit(&t->sleeping, 0, memory_order_relaxed);
    t->busy_since = clockTicks();
    ioStatAdd(&t->stats.polls, 1);
}

static void *threadMain(void *arg) {
    ioThread *t = arg;
    char name[16];
    snprintf(name, sizeof(name), "io_thd_%u", t->id);
    threadSetName(name);
    threadSetCpuAffinity(net_conf.cpulist);
    zmallocThreadInit();
    t->busy_since = clockTicks();
    aeMain(t->loop);
    requestPoolEmpty(&t->pool);
    zfree(t->args);
    t->args = NULL;
    zmallocThreadExit();
    return NULL;
}

static ioThread *threadCreate(unsigned id) {
    ioThread *t = zmallocAligned(CACHE_LINE, sizeof(*t));
    memset(t, 0, sizeof(*t));
    t->id = t->pool.thread_id = id;
    return t;
}

static void threadStart(unsigned id) {
    ioThread *t = threadCreate(id);
    channelInit(&t->to_main);
    channelInit(&t->from_main);
    t->loop = aeCreateEventLoop(LOOP_FDS_AT_START);
    if (!t->loop || aeDoorbellOpen(&t->bell) == C_ERR || aeDoorbellAttach(t->loop, &t->bell) == C_ERR)
        serverPanic("Fatal: cannot make the event loop of an I/O thread: %s", strerror(errno));
    aeSetBeforeSleep(t->loop, threadBeforeSleep, t);
    aeSetAfterSleep(t->loop, threadAfterSleep, t);
    io.threads[id] = t;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are main's */
    pthread_t p;
    int err = pthread_create(&p, NULL, threadMain, t);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (err) serverPanic("Fatal: cannot start an I/O thread: %s", strerror(err));
    t->pthread_id = (unsigned long)p;
}

/* The thread holds no stream and nothing is on the way to it. */
static void threadStop(ioThread *t) {
    serverAssert(t->nstreams == 0);
    channelCommit(&t->from_main);
    atomic_store_explicit(&t->stop, 1, memory_order_release);
    aeDoorbellRing(&t->bell);
    pthread_join((pthread_t)t->pthread_id, NULL);
    serverAssert(spscIsEmpty(&t->to_main.ring));
    aeDeleteEventLoop(t->loop);
    aeDoorbellClose(&t->bell);
    channelDestroy(&t->to_main);
    channelDestroy(&t->from_main);
    /* What it took and others gave back, and the other way round, must still add up. */
    requestPool *ours = &io.threads[0]->pool;
    ours->memory_in += t->pool.memory_in;
    ours->memory_out += t->pool.memory_out;
    io.threads[t->id] = NULL;
    zfree(t);
}

/* --- main --------------------------------------------------------------------------------------- */

void ioThreadsInit(aeEventLoop *main_loop, void (*deliver)(const ioMessage *m)) {
    io.deliver = deliver;
    io.threads[0] = threadCreate(0);
    io.threads[0]->loop = main_loop;
    io.threads[0]->busy_since = clockTicks();
    io.count = 1;
    if (aeDoorbellOpen(&io.main_bell) == C_ERR || aeDoorbellAttach(main_loop, &io.main_bell) == C_ERR)
        serverPanic("Fatal: cannot make main's doorbell: %s", strerror(errno));
}

int ioThreadsCount(void) {
    return io.count;
}

ioThread *ioThreadGet(unsigned id) {
    return id < IO_THREADS_MAX ? io.threads[id] : NULL;
}

ioThread *ioThreadMain(void) {
    return io.threads[0];
}

void ioThreadsSetCount(int n) {
    assertMainThread();
    for (int i = 1; i < n; i++) {
        if (!io.threads[i]) threadStart((unsigned)i);
        io.threads[i]->retiring = false;
    }
    for (int i = n < 1 ? 1 : n; i < IO_THREADS_MAX; i++)
        if (io.threads[i]) io.threads[i]->retiring = true;
    io.count = n < 1 ? 1 : n;
}

/* From the last thread down, so that those that run have no gap: the walks over all end at the first one missing. */
void ioThreadsReap(void) {
    for (unsigned i = IO_THREADS_MAX - 1; i >= (unsigned)io.count; i--) {
        ioThread *t = io.threads[i];
        if (!t) continue;
        if (t->nstreams || t->dead || channelHasOverflow(&t->from_main)) return;
        threadStop(t);
    }
}

void ioThreadsShutdown(void) {
    for (unsigned i = 1; i < IO_THREADS_MAX; i++) {
        ioThread *t = io.threads[i];
        if (!t) continue;
        channelCommit(&t->from_main);
        atomic_store_explicit(&t->stop, 1, memory_order_release);
        aeDoorbellRing(&t->bell);
        pthread_join((pthread_t)t->pthread_id, NULL);
    }
}

void ioThreadPost(ioThread *t, const ioMessage *m) {
    if (t->id == 0) deliverToThread(t, m);
    else channelPost(&t->from_main, m);
}

void ioThreadPostToMain(ioThread *t, const ioMessage *m) {
    if (t->id == 0) {
        io.deliver(m);
        return;
    }
    channelPost(&t->to_main, m);
    t->urgent |= m->type != MSG_WRITTEN;
}

static void sendDead(ioThread *t) {
    if (!t->dead) return;
    ioMessage m = {.type = MSG_FREE, .dead = t->dead};
    t->dead = NULL;
    ioThreadPost(t, &m);
}

bool ioThreadsFreeElsewhere(robj *o) {
    ioThread *t = io.threads[o->owner];
    if (!t || t->id == 0 || t->retiring) return false;
    if (!t->dead) {
        t->dead = zmalloc(sizeof(deadBatch));
        t->dead->n = 0;
    }
    t->dead_bytes += deadBytes(o);
    t->dead->objects[t->dead->n++] = o;
    if (t->dead->n == DEAD_BATCH) sendDead(t);
    return true;
}

void ioThreadsFlush(void) {
    bool published = false;
    for (int i = 1; i < IO_THREADS_MAX; i++) {
        ioThread *t = io.threads[i];
        if (!t) {
            if (i >= io.count) break;
            continue;
        }
        sendDead(t);
        if (channelCommit(&t->from_main)) t->published = published = true;
    }
    if (!published) return;
    fullFence();
    for (int i = 1; i < IO_THREADS_MAX; i++) {
        ioThread *t = io.threads[i];
        if (!t) {
            if (i >= io.count) break;
            continue;
        }
        if (!t->published) continue;
        t->published = false;
        wakeIfSleeping(&t->sleeping, &t->bell);
    }
}

static size_t pollThread(ioThread *t, size_t max) {
    size_t n = 0;
    ioMessage *m;
    while (n < max && (m = spscTake(&t->to_main.ring)) != NULL) {
        ioMessage *ahead = spscPeek(&t->to_main.ring, 2);
        if (ahead) {
            prefetchWrite(&ahead->stream->session);
            if (ahead->type == MSG_REQUESTS) prefetchWrite(ahead->block);
        }
        io.deliver(m);
        n++;
    }
    if (n) spscRelease(&t->to_main.ring);
    return n;
}

size_t ioThreadsPoll(size_t max) {
    size_t n = 0;
    for (int i = 1; i < IO_THREADS_MAX; i++) {
        ioThread *t = io.threads[i];
        if (!t) {
            if (i >= io.count) break;
            continue;
        }
        n += pollThread(t, max);
    }
    return n;
}

static bool anyMessageForMain(void) {
    for (int i = 1; i < IO_THREADS_MAX; i++) {
        ioThread *t = io.threads[i];
        if (!t) {
            if (i >= io.count) break;
            continue;
        }
        if (!spscIsEmpty(&t->to_main.ring) || channelHasOverflow(&t->from_main)) return true;
    }
    return false;
}

bool ioThreadsMainSleeps(void) {
    if (io.count == 1 && !io.threads[1]) return true;
    atomic_store_explicit(&io.main_sleeping, 1, memory_order_seq_cst);
    fullFence();
    if (!anyMessageForMain()) return true;
    atomic_store_explicit(&io.main_sleeping, 0, memory_order_relaxed);
    return false;
}

void ioThreadsMainAwake(void) {
    if (io.count > 1) atomic_store_explicit(&io.main_cpu, sched_getcpu(), memory_order_relaxed);
    if (atomic_load_explicit(&io.main_sleeping, memory_order_relaxed))
        atomic_store_explicit(&io.main_sleeping, 0, memory_order_relaxed);
}

int ioThreadsMainDoorbell(void) {
    return io.main_bell.read_fd;
}

size_t ioThreadsTransientMemory(void) {
    uint64_t in = 0, out = 0;
    for (int i = 0; i < IO_THREADS_MAX; i++) {
        const ioThread *t = io.threads[i];
        if (!t) continue;
        in += atomic_load_explicit(&t->pool.memory_in, memory_order_relaxed) + t->dead_bytes;
        out += atomic_load_explicit(&t->pool.memory_out, memory_order_relaxed) +
               atomic_load_explicit(&t->stats.freed_bytes, memory_order_relaxed);
    }
    return in > out ? in - out : 0; /* the counters are not read at one moment */
}

/* --- what INFO shows ---------------------------------------------------------------------------- */

static uint64_t statGet(const _Atomic uint64_t *counter) {
    return atomic_load_explicit(counter, memory_order_relaxed);
}

void ioThreadsTotals(ioTotals *out) {
    memset(out, 0, sizeof(*out));
    for (int i = 0; i < IO_THREADS_MAX; i++) {
        const ioThread *t = io.threads[i];
        if (!t) continue;
        out->net_input += statGet(&t->stats.net_input);
        out->net_output += statGet(&t->stats.net_output);
        if (i == 0) {
            out->main_reads = statGet(&t->stats.reads);
            out->main_writes = statGet(&t->stats.writes);
        } else {
            out->reads += statGet(&t->stats.reads);
            out->writes += statGet(&t->stats.writes);
            out->freed += statGet(&t->stats.freed);
            out->polls += statGet(&t->stats.polls);
        }
    }
}

uint64_t ioThreadActiveNs(const ioThread *t) {
    return statGet(&t->stats.active_ns);
}
