/* generator.c -- connections that send a workload as fast as the server replies, and measure it.
 *
 * The cost of the generator limits how much load can be measured. So a pipeline takes one write and one read, nothing
 * is allocated per request, and the clock is read twice per pipeline:
 *
 *     claim requests -> patch the thread's buffer -> write -> (epoll) -> read into the thread's buffer -> skip replies
 *          ^                                                                                                |
 *          '------------------------------------- all replies are there ------------------------------------'
 *
 * With a rate, a client that is free takes the next pipeline of its thread's schedule (schedule.h), or waits until it
 * is due. Its latency counts from that time, whenever the bytes are sent. Without a rate, a latency counts from
 * sending.
 *
 * Most replies are alike, so the next reply is first compared with the header of the last one, and scanned by
 * replyScan() only if it differs. A connection needs its own memory for only two things: bytes that the kernel did not
 * accept, and a reply header that is cut off.
 *
 * Not here    building the requests (workload.c), printing results (report.c).
 * Threads     each benchThread and its clients belong to one thread. Shared: `claimed` and `stop` (atomic, relaxed:
 *             numbers only), wakeups, per-thread counters (written by one thread, read relaxed by the reporting
 *             thread), and under `lock` the state and its text.
 * Invariants  1. A client is connecting, has outstanding replies, is in the ring `waiting`, or is finished.
 *             2. claimed >= finished; exactly `requests`, rounded up to whole sequences, are sent.
 * Cost        per pipeline 2 system calls and 2 clock readings; per reply a comparison. With a rate, one more system
 *             call each time all connections wait. SET, 50 connections, 1000 keys, per request: 844 user instructions
 *             and 2.05 system calls, in pipelines of 16 294 and 0.15 (valkey-benchmark 9.1.2: 3748 and 6.06, 1204 and
 *             0.40).
 * Tests       tests/tools/benchmark.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "generator.h"
#include "ae.h"
#include "anet.h"
#include "clock.h"
#include "schedule.h"
#include "reply_reader.h"
#include "thread.h"
#include "tls.h"
#include "zmalloc.h"
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define INPUT_SIZE (256 * 1024)
#define HEADER_KEPT 32
#define FILES_PER_THREAD 4        /* its loop, its timer, and its wakeup, which has one or two */
#define LATENCY_MAX_US 3600000000 /* with a rate, a slow server may lag the schedule by minutes */
#define ERROR_TEXT_MAX 512
#define JUST_DUE_NS 10000000 /* pipelines that became due so shortly before the end do not count as unsent */

typedef struct benchThread benchThread;

/* A buffer that grows to the most that it ever held. */
typedef struct keptBytes {
    char *bytes; /* owns */
    size_t len, size;
} keptBytes;

typedef struct benchClient {
    benchThread *thread;
    connection *conn; /* owns; NULL while not connected */
    int setup_left;   /* outstanding replies to the setup commands */
    int outstanding;  /* outstanding replies to requests */
    bool setup_sent;  /* the setup commands have been sent */
    uint64_t due_ns;  /* start of the latency, on the thread's clock */
    replyScanner scanner;
    keptBytes tail; /* a header that is cut off */
    keptBytes rest; /* bytes that the kernel did not accept, from rest_pos on */
    size_t rest_pos;
} benchClient;

struct benchThread {
    generator *run;
    pthread_t id;
    aeEventLoop *loop;
    workload *work; /* owns */
    rng random;
    char *input; /* owns; INPUT_SIZE bytes */
    histogram *latencies;
    benchClient *clients; /* owns */
    int client_count, running_clients;
    schedule schedule;
    aeWakeup wakeup;       /* with a rate: signals that no more is to be sent */
    benchClient **waiting; /* owns; a ring of clients held back by the rate, in the order they became free */
    int waiting_first, waiting_count;
    /* The header and the length of the last complete reply that was not an aggregate. */
    char header[HEADER_KEPT];
    size_t header_len, reply_len;

    /* Written by this thread, read by the reporter; relaxed. */
    alignas(CACHE_LINE) _Atomic uint64_t finished;
    _Atomic uint64_t latency_us;
    _Atomic int connected;
};

struct generator {
    const generatorConfig *config;
    benchThread *threads; /* owns */
    int thread_count, started;
    monotime begun, ended, stopped;
    alignas(CACHE_LINE) _Atomic uint64_t claimed;
    _Atomic bool stop;
    alignas(CACHE_LINE) pthread_mutex_t lock; /* guards the rest */
    pthread_cond_t changed;
    int running;
    runState state;
    char error[ERROR_TEXT_MAX];
};

static void sendNext(benchClient *c);
static void onReadable(connection *conn);

/* ---- State of the run ------------------------------------------------------------------------------------------- */

/* Wakes threads that wait for their schedule, so that they read `stop` again. */
static void wakeThreads(generator *g) {
    for (int i = 0; i < g->thread_count; i++)
        if (scheduleIsOn(&g->threads[i].schedule)) aeWakeupSend(&g->threads[i].wakeup);
}

/* Ends the run with a failure. The first one determines the state. */
static void runFail(generator *g, runState state, slice text) {
    pthread_mutex_lock(&g->lock);
    if (g->state == RUN_GOING) {
        g->state = state;
        snprintf(g->error, sizeof(g->error), "%.*s", (int)(text.len < ERROR_TEXT_MAX ? text.len : ERROR_TEXT_MAX - 1),
                 text.ptr);
        pthread_cond_signal(&g->changed);
    }
    pthread_mutex_unlock(&g->lock);
    atomic_store_explicit(&g->stop, true, memory_order_relaxed);
    wakeThreads(g);
}

static void runBreak(generator *g, const char *what, const char *why) {
    char text[ERROR_TEXT_MAX];
    snprintf(text, sizeof(text), "%s: %s", what, why);
    runFail(g, RUN_BROKEN, sliceStr(text));
}

static void threadEnds(generator *g) {
    pthread_mutex_lock(&g->lock);
    if (--g->running == 0) {
        g->ended = clockTicks();
        if (g->state == RUN_GOING) g->state = RUN_DONE;
        pthread_cond_signal(&g->changed);
    }
    pthread_mutex_unlock(&g->lock);
}

/* ---- Clients ---------------------------------------------------------------------------------------------------- */

static void clientDisconnect(benchClient *c) {
    if (!c->conn) return;
    connClose(c->conn);
    c->conn = NULL;
    c->tail.len = c->rest.len = c->rest_pos = 0;
    atomic_fetch_sub_explicit(&c->thread->connected, 1, memory_order_relaxed);
}

/* Ends a client that has nothing left to do. The last client of a thread ends the loop. */
static void clientFinish(benchClient *c) {
    clientDisconnect(c);
    if (--c->thread->running_clients == 0) aeStop(c->thread->loop);
}

static void keepBytes(keptBytes *to, const char *p, size_t len) {
    if (to->size < len) {
        zfree(to->bytes);
        to->bytes = zmalloc(len);
        to->size = len;
    }
    memcpy(to->bytes, p, len);
    to->len = len;
}

static void clientFail(benchClient *c, const char *what, const char *why) {
    runBreak(c->thread->run, what, why);
    clientFinish(c);
}

/* Writes bytes that an earlier write left. */
static void onWritable(connection *conn) {
    benchClient *c = conn->owner;
    struct iovec rest = {.iov_base = c->rest.bytes + c->rest_pos, .iov_len = c->rest.len - c->rest_pos};
    ssize_t n = connWritev(conn, &rest, 1);
    if (n < 0 && errno == EAGAIN) return;
    if (n < 0) {
        clientFail(c, "Writing to socket", connErrorText(conn));
        return;
    }
    c->rest_pos += (size_t)n;
    if (c->rest_pos == c->rest.len) connSetWriteHandler(conn, NULL);
}

/* Writes as much as the kernel accepts and keeps the rest. Returns false if the connection is broken. */
static bool clientWrite(benchClient *c, slice bytes) {
    struct iovec all = {.iov_base = (void *)(uintptr_t)bytes.ptr, .iov_len = bytes.len};
    ssize_t n = connWritev(c->conn, &all, 1);
    if (likely(n == (ssize_t)bytes.len)) return true;
    if (n < 0 && errno != EAGAIN) {
        runBreak(c->thread->run, "Writing to socket", strerror(errno));
        return false;
    }
    if (n < 0) n = 0;
    keepBytes(&c->rest, bytes.ptr + n, bytes.len - (size_t)n);
    c->rest_pos = 0;
    return connSetWriteHandler(c->conn, onWritable) == C_OK;
}

/* Starts sending on a connection that is ready, with TLS after the handshake. */
static void onReady(connection *conn) {
    benchClient *c = conn->owner;
    if (conn->state != CONN_CONNECTED) {
        clientFail(c, "Could not connect to server: SSL_connect failed", connErrorText(conn));
        return;
    }
    if (connSetReadHandler(conn, onReadable) == C_ERR) clientFail(c, "Registering a connection", connErrorText(conn));
    else sendNext(c);
}

static void onConnected(connection *conn) {
    int error = anetGetError(conn->fd);
    if (error) {
        clientFail(conn->owner, "Could not connect to server", strerror(error));
        return;
    }
    connSetWriteHandler(conn, NULL);
    connAccept(conn, onReady);
}

static bool clientConnect(benchClient *c) {
    const generatorConfig *config = c->thread->run->config;
    char err[ANET_ERR_LEN];
    int fd = config->unix_path   ? anetUnixConnect(err, config->unix_path, true)
             : config->multipath ? anetMptcpConnect(err, config->ip, config->port, true)
                                 : anetTcpConnect(err, config->ip, config->port, NULL, true);
    if (fd < 0) {
        runFail(c->thread->run, RUN_BROKEN, sliceStr(err));
        return false;
    }
    if (!config->unix_path) anetNoDelay(NULL, fd, true);
    c->conn = config->tls         ? connCreateTlsClient(fd, config->tls, config->sni, c)
              : config->unix_path ? connCreateAcceptedUnix(fd, c)
                                  : connCreateAcceptedSocket(fd, c);
    c->setup_left = 0;
    c->setup_sent = false;
    replyScannerReset(&c->scanner);
    atomic_fetch_add_explicit(&c->thread->connected, 1, memory_order_relaxed);
    if (connSetWriteHandler(c->conn, onConnected) == C_ERR || connAttach(c->conn, c->thread->loop) == C_ERR) {
        runBreak(c->thread->run, "Registering a connection", strerror(errno));
        return false;
    }
    return true;
}

/* ---- Sending ---------------------------------------------------------------------------------------------------- */

/* Returns true if no more is to be sent. */
static bool isAllClaimed(const generator *g) {
    if (atomic_load_explicit(&g->stop, memory_order_relaxed)) return true;
    return g->config->requests && atomic_load_explicit(&g->claimed, memory_order_relaxed) >= g->config->requests;
}

/* Claims up to a pipeline of the remaining sequences; returns 0 if none is left. */
static int claimSequences(benchThread *t) {
    generator *g = t->run;
    uint64_t commands = (uint64_t)workloadCommands(t->work), depth = (uint64_t)workloadDepth(t->work);
    if (isAllClaimed(g)) return 0;
    if (g->config->requests == 0) return (int)depth;
    uint64_t before = atomic_fetch_add_explicit(&g->claimed, commands * depth, memory_order_relaxed);
    if (before >= g->config->requests) return 0;
    uint64_t left = (g->config->requests - before + commands - 1) / commands;
    return (int)(left < depth ? left : depth);
}

static bool sendSetup(benchClient *c) {
    const generatorConfig *config = c->thread->run->config;
    c->setup_left = config->setup_replies;
    return clientWrite(c, config->setup);
}

/* Returns the client that has waited longest; there must be one. */
static benchClient *popWaiting(benchThread *t) {
    benchClient *c = t->waiting[t->waiting_first];
    t->waiting_first = (t->waiting_first + 1) % t->client_count;
    t->waiting_count--;
    return c;
}

/* Takes the next pipeline of the schedule, which begins with the first client that is ready. Returns false if it is not
 * due. */
static bool takePipeline(benchClient *c) {
    schedule *p = &c->thread->schedule;
    uint64_t now = scheduleNow(p);
    if (unlikely(p->first_ns == 0)) scheduleBegin(p, now);
    return scheduleTake(p, now, &c->due_ns);
}

/* Sends the next pipeline, or finishes the client. Call with no reply outstanding. The setup commands
 * are sent first, and their replies are awaited. */
static void sendNext(benchClient *c) {
    benchThread *t = c->thread;
    const generatorConfig *config = t->run->config;
    if (config->setup_replies && !c->setup_sent) {
        c->setup_sent = true;
        if (!sendSetup(c)) clientFinish(c);
        return;
    }
    if (config->idle) return;
    if (config->rate && !takePipeline(c)) {
        t->waiting[(t->waiting_first + t->waiting_count++) % t->client_count] = c;
        return;
    }
    int sequences = claimSequences(t);
    if (sequences == 0) {
        clientFinish(c);
        return;
    }
    slice bytes = workloadNext(t->work, sequences, config->numbers, &t->random);
    c->outstanding = sequences * workloadCommands(t->work);
    if (!config->rate) c->due_ns = scheduleNow(&t->schedule);
    if (!clientWrite(c, bytes)) clientFinish(c);
}

/* All replies of a pipeline have come: sends the next one, over a new connection if that is wanted. */
static void pipelineDone(benchClient *c) {
    if (c->thread->run->config->keep_alive) {
        sendNext(c);
        return;
    }
    clientDisconnect(c);
    if (isAllClaimed(c->thread->run) || !clientConnect(c)) clientFinish(c);
}

/* Runs before each wait of a thread with a rate: sends pipelines that are due, and sets the timer for the next. */
static void sendDue(aeEventLoop *loop, void *arg) {
    benchThread *t = arg;
    unused(loop);
    bool over = isAllClaimed(t->run);
    while (t->waiting_count > 0 && over) clientFinish(popWaiting(t));
    for (int n = t->waiting_count; n > 0 && scheduleDue(&t->schedule) <= scheduleNow(&t->schedule); n--)
        sendNext(popWaiting(t));
    scheduleSetAlarm(&t->schedule, t->waiting_count > 0);
}

/* ---- Receiving -------------------------------------------------------------------------------------------------- */

static void reportErrorReply(benchClient *c, const char *line, size_t len) {
    while (len > 0 && (line[len - 1] == '\n' || line[len - 1] == '\r')) len--;
    bool unknown = len > 20 && memcmp(line, "-ERR unknown command", 20) == 0;
    runState state = c->setup_left ? RUN_SETUP_REFUSED : unknown ? RUN_UNKNOWN_COMMAND : RUN_ERROR_REPLY;
    runFail(c->thread->run, state, sliceOf(line + 1, len - 1));
}

/* Keeps header and length of a scalar reply, so that equal replies are recognized by their header. */
static void keepReplyHeader(benchThread *t, const char *reply, size_t len) {
    t->reply_len = 0;
    if (len == 0 || strchr("+:$,#_", reply[0]) == NULL) return;
    const char *end = memchr(reply, '\n', len < HEADER_KEPT ? len : HEADER_KEPT);
    if (!end) return;
    t->header_len = (size_t)(end - reply) + 1;
    t->reply_len = len;
    memcpy(t->header, reply, t->header_len);
}

/* Skips a reply at p. Returns the number of bytes used, and in *whole whether the reply is complete. */
static size_t skipReply(benchClient *c, const char *p, size_t len, bool *whole) {
    benchThread *t = c->thread;
    bool fresh = c->scanner.first_type == '\0';
    if (likely(fresh && t->reply_len && len >= t->reply_len && memcmp(p, t->header, t->header_len) == 0)) {
        *whole = true;
        return t->reply_len;
    }
    size_t used = replyScan(&c->scanner, p, len, whole);
    if (*whole) {
        char type = c->scanner.first_type;
        if (type == '-') reportErrorReply(c, p, used);
        replyScannerReset(&c->scanner);
        if (type == '>') *whole = false; /* a push is no reply */
        else if (fresh && type != '-') keepReplyHeader(t, p, used);
    }
    return used;
}

/* Counts the replies in [p, p+len) and keeps a header that is cut off. Returns the number of replies to requests, -1 if
 * the bytes are malformed. */
static int takeReplies(benchClient *c, const char *p, size_t len) {
    int replies = 0;
    while (len > 0) {
        bool whole;
        size_t used = skipReply(c, p, len, &whole);
        if (c->scanner.bad) return -1;
        if (used == 0) break;
        p += used;
        len -= used;
        if (whole && c->setup_left > 0) c->setup_left--;
        else if (whole) replies++;
    }
    c->tail.len = 0;
    if (len > 0) keepBytes(&c->tail, p, len);
    return replies <= c->outstanding ? replies : -1;
}

static void onReadable(connection *conn) {
    benchClient *c = conn->owner;
    benchThread *t = c->thread;
    if (c->tail.len) memcpy(t->input, c->tail.bytes, c->tail.len);
    ssize_t n = connRead(conn, t->input + c->tail.len, INPUT_SIZE - c->tail.len);
    if (n < 0 && errno == EAGAIN) return;
    if (n < 0) {
        clientFail(c, "Reading from socket", connErrorText(conn));
        return;
    }
    if (n == 0) {
        runFail(t->run, RUN_BROKEN, sliceStr("Server closed the connection"));
        clientFinish(c);
        return;
    }
    bool setup_sent = c->setup_left > 0;
    int replies = takeReplies(c, t->input, c->tail.len + (size_t)n);
    if (replies < 0 || c->tail.len >= INPUT_SIZE) {
        runFail(t->run, RUN_BROKEN, sliceStr("Protocol error: invalid reply"));
        clientFinish(c);
        return;
    }
    if (replies > 0) {
        int64_t us = (int64_t)((scheduleNow(&t->schedule) - c->due_ns) / 1000);
        histogramRecordMany(t->latencies, us, replies);
        atomic_store_explicit(&t->finished, t->finished + (uint64_t)replies, memory_order_relaxed);
        atomic_store_explicit(&t->latency_us, t->latency_us + (uint64_t)us * (uint64_t)replies, memory_order_relaxed);
        c->outstanding -= replies;
        if (c->outstanding == 0) pipelineDone(c);
    } else if (setup_sent && c->setup_left == 0) {
        sendNext(c);
    }
}

/* ---- Threads ---------------------------------------------------------------------------------------------------- */

static void threadMain(void *arg) {
    benchThread *t = arg;
    t->running_clients = t->client_count;
    for (int i = 0; i < t->client_count; i++)
        if (!clientConnect(&t->clients[i])) clientFinish(&t->clients[i]);
    if (t->running_clients > 0) aeMain(t->loop);
    threadEnds(t->run);
}

static void loopClose(benchThread *t) {
    if (!t->loop) return;
    scheduleStop(&t->schedule);
    aeWakeupClose(&t->wakeup);
    aeDeleteEventLoop(t->loop);
    t->loop = NULL;
}

/* Raises the limit of open files for all clients, as far as the hard limit allows. */
static void raiseFileLimit(int clients, int threads) {
    struct rlimit limit;
    rlim_t want = (rlim_t)clients + (rlim_t)threads * FILES_PER_THREAD + 64;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= want) return;
    limit.rlim_cur = want < limit.rlim_max ? want : limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

/* Sets up the thread's share of the rate; each thread begins a little later. If the timer or the wakeup fails, closes
 * the loop, and keeps errno. */
static void prepareSchedule(generator *g, benchThread *t, int index) {
    uint64_t requests = (uint64_t)workloadDepth(t->work) * (uint64_t)workloadCommands(t->work);
    double per_second = (double)g->config->rate / (double)requests / g->thread_count;
    scheduleInit(&t->schedule, per_second, g->begun, (double)index / g->thread_count);
    if (!g->config->rate || !t->loop) return;
    if (scheduleStart(&t->schedule, t->loop) == C_OK && aeWakeupOpen(t->loop, &t->wakeup, NULL) == C_OK) {
        aeSetBeforeSleep(t->loop, sendDue, t);
        return;
    }
    int error = errno;
    loopClose(t);
    errno = error;
}

static void threadPrepare(generator *g, int index, const workload *w) {
    benchThread *t = &g->threads[index];
    const generatorConfig *config = g->config;
    t->run = g;
    t->loop = aeCreateEventLoop(config->clients + 64 + FILES_PER_THREAD * g->thread_count);
    t->work = workloadDup(w);
    rngSeed(&t->random, config->seed + (uint64_t)index);
    t->input = zmalloc(INPUT_SIZE);
    t->latencies = generatorHistogram();
    t->client_count = config->clients / g->thread_count + (index < config->clients % g->thread_count);
    t->clients = zcalloc((size_t)t->client_count + 1, sizeof(benchClient));
    t->waiting = zcalloc((size_t)t->client_count + 1, sizeof(benchClient *));
    for (int i = 0; i < t->client_count; i++) t->clients[i] = (benchClient){.thread = t};
    t->wakeup = (aeWakeup){-1, -1, NULL};
    prepareSchedule(g, t, index);
}

generator *generatorStart(const generatorConfig *config, const workload *w) {
    generator *g = zmallocAligned(CACHE_LINE, sizeof(*g));
    memset(g, 0, sizeof(*g));
    g->config = config;
    g->thread_count = config->threads < config->clients ? config->threads : config->clients;
    if (g->thread_count < 1) g->thread_count = 1;
    g->running = g->thread_count;
    pthread_mutex_init(&g->lock, NULL);
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&g->changed, &attr);
    pthread_condattr_destroy(&attr);
    raiseFileLimit(config->clients, g->thread_count);
    size_t size = sizeof(benchThread) * (size_t)g->thread_count;
    g->threads = zmallocAligned(CACHE_LINE, size);
    memset(g->threads, 0, size);
    g->begun = clockTicks();
    for (int i = 0; i < g->thread_count; i++) threadPrepare(g, i, w);
    for (int i = 0; i < g->thread_count; i++) {
        benchThread *t = &g->threads[i];
        int error = t->loop ? threadStart(&t->id, &(threadPlan){.name = "bench"}, threadMain, t) : errno;
        if (error) {
            runBreak(g, "Starting a thread", strerror(error));
            threadEnds(g);
            continue;
        }
        g->started = i + 1;
    }
    return g;
}

runState generatorWait(generator *g, int timeout_ms) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += timeout_ms / 1000;
    until.tv_nsec += (long)(timeout_ms % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    pthread_mutex_lock(&g->lock);
    while (g->state == RUN_GOING && pthread_cond_timedwait(&g->changed, &g->lock, &until) == 0) continue;
    runState state = g->state;
    pthread_mutex_unlock(&g->lock);
    return state;
}

void generatorStop(generator *g) {
    if (g->stopped == 0) g->stopped = clockTicks();
    atomic_store_explicit(&g->stop, true, memory_order_relaxed);
    wakeThreads(g);
}

uint64_t generatorUnsent(const generator *g) {
    uint64_t sum = 0;
    if (g->stopped == 0) return 0;
    for (int i = 0; i < g->thread_count; i++) {
        const benchThread *t = &g->threads[i];
        uint64_t requests = (uint64_t)workloadDepth(t->work) * (uint64_t)workloadCommands(t->work);
        uint64_t stopped_ns = clockTicksToNs(g->stopped - g->begun);
        if (stopped_ns > JUST_DUE_NS) sum += scheduleMissed(&t->schedule, stopped_ns - JUST_DUE_NS) * requests;
    }
    return sum;
}

generatorCounts generatorRead(const generator *g) {
    generatorCounts sum = {0, 0, 0};
    for (int i = 0; i < g->thread_count; i++) {
        sum.finished += atomic_load_explicit(&g->threads[i].finished, memory_order_relaxed);
        sum.latency_us += atomic_load_explicit(&g->threads[i].latency_us, memory_order_relaxed);
        sum.connected += atomic_load_explicit(&g->threads[i].connected, memory_order_relaxed);
    }
    return sum;
}

const char *generatorError(const generator *g) { return g->error; }

uint64_t generatorElapsedUs(const generator *g) { return clockTicksToUs(g->ended - g->begun); }

void generatorLatencies(const generator *g, histogram *into) {
    for (int i = 0; i < g->thread_count; i++) histogramAdd(into, g->threads[i].latencies);
}

histogram *generatorHistogram(void) { return histogramCreate(10, LATENCY_MAX_US, 3); }

void generatorFree(generator *g) {
    for (int i = 0; i < g->thread_count; i++) {
        benchThread *t = &g->threads[i];
        if (i < g->started) pthread_join(t->id, NULL);
        for (int j = 0; j < t->client_count; j++) {
            if (t->clients[j].conn) connClose(t->clients[j].conn);
            zfree(t->clients[j].tail.bytes);
            zfree(t->clients[j].rest.bytes);
        }
        loopClose(t);
        workloadFree(t->work);
        histogramFree(t->latencies);
        zfree(t->input);
        zfree(t->clients);
        zfree(t->waiting);
    }
    pthread_cond_destroy(&g->changed);
    pthread_mutex_destroy(&g->lock);
    zfree(g->threads);
    zfree(g);
}
