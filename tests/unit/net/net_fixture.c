/* net_fixture.c -- shared by the tests of net: thread 0, commands to parse and run, connections over socket pairs.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "net_fixture.h"

#include "anet.h"
#include "auth.h"
#include "bio.h"
#include "blocking.h"
#include "call.h"
#include "client_check.h"
#include "client_eviction.h"
#include "key_changed.h"
#include "log.h"
#include "memory_gate.h"
#include "output_limits.h"
#include "panic.h"
#include "pause.h"
#include "rebalance.h"
#include "reply_hold.h"
#include "sliced.h"
#include "transaction_queue.h"
#include "unit.h"
#include "yield.h"

#include <errno.h>
#include <stdio.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

aeEventLoop *fixture_loop;
void (*fixture_deliver)(const ioMessage *m);
iterationEnd (*fixture_iterate)(void);
void (*fixture_before_report)(const ioOwner *h);
sds fixture_log;

/* --- commands ------------------------------------------------------------------------------------- */

static void pingCommand(client *c) { addReplyPong(c); }

static void echoCommand(client *c) { addReplyBulk(c, c->argv[1]); }

static void noteCommand(client *c) {
    fixture_log =
        sdsCatPrintf(fixture_log, "%llu:%.*s ", (unsigned long long)c->id, (int)c->argv[1].len, c->argv[1].ptr);
    addReplyOk(c);
}

static void setCommand(client *c) {
    robj *value = clientTakeValue(c);
    if (CHECK(value != NULL)) setKeyTake(c->db, value, clientKeyAt(c, 1), false);
    keyChanged(c, clientKeyAt(c, 1), NOTIFY_STRING, "set", 1);
    addReplyOk(c);
}

static void getCommand(client *c) {
    robj *o = lookupKeyRead(c->db, clientKeyAt(c, 1));
    if (o) addReplyBulkObject(c, o);
    else addReplyNull(c);
}

static void delCommand(client *c) {
    long long n = 0;
    for (uint32_t i = 1; i < c->argc; i++) {
        if (!dbDelete(c->db, clientKeyAt(c, i))) continue;
        keyChanged(c, clientKeyAt(c, i), NOTIFY_GENERIC, "del", 1);
        n++;
    }
    addReplyLongLong(c, n);
}

static void msetCommand(client *c) {
    for (uint32_t i = 1; i + 1 < c->argc; i += 2) {
        hashedKey key = clientKeyAt(c, i);
        setKeyTake(c->db, objectCreateString(key.name, c->argv[i + 1], false, 0), key, false);
        keyChanged(c, key, NOTIFY_STRING, "set", 1);
    }
    addReplyOk(c);
}

static void quitCommand(client *c) {
    addReplyOk(c);
    c->flags |= CLIENT_CLOSE_AFTER_REPLY;
}

static void authCommand(client *c) {
    c->authenticated = true;
    addReplyOk(c);
}

static void killCommand(client *c) {
    client *victim = clientById(strtoull(c->argv[1].ptr, NULL, 10));
    if (victim) clientCloseAsap(victim);
    addReplyOk(c);
}

static void threadsCommand(client *c) {
    const char *err = NULL;
    net_settings.io_threads = strtoll(c->argv[1].ptr, NULL, 10);
    net_settings.io_threads_always_active = true;
    CHECK(netApplyThreads(&err));
    addReplyOk(c);
}

/* Runs until another command notes "enough", and yields to commands that may run meanwhile; gives up after 20 seconds.
 * The length of the reply is known only at the end. */
static void longCommand(client *c) {
    static const yieldJob job = {.allowed = CMD_ALLOW_BUSY, .error = "-BUSY somebody works"};
    unitLimit limit = unitLimitStart(20000);
    size_t before = sdsLen(fixture_log);
    uint64_t command_ns = engine_stats.command_ns;
    void *place = addReplyDeferredLen(c);
    while (!strstr(fixture_log + before, "enough") && !unitLimitOver(&limit)) yieldNow(&job);
    CHECK(engine_stats.command_ns == command_ns); /* commands that ran in between count in this command's time */
    addReplyBulk(c, sliceStr("done"));
    setDeferredArrayLen(c, place, 1);
}

/* PIN key [now]: reads a value in slices until another command notes "enough", or does not wait for that. */
static void pinCommand(client *c) {
    unitLimit limit = unitLimitStart(20000);
    size_t before = sdsLen(fixture_log);
    robj *o = lookupKeyRead(c->db, clientKeyAt(c, 1));
    if (!CHECK(o != NULL)) return;
    slicedStart slices = slicedBegin(c, o, 1);
    if (slices == SLICED_POSTPONED) return;
    if (!CHECK(slices == SLICED_YES)) return;
    while (c->argc == 2 && !strstr(fixture_log + before, "enough") && !unitLimitOver(&limit)) slicedStep(c);
    addReplyBulkObject(c, o);
    slicedEnd(c);
}

/* Replies with the number of paused clients. */
static void heldCommand(client *c) { addReplyLongLong(c, (long long)pausePostponed()); }

static void unpauseCommand(client *c) {
    unpauseClients(PAUSE_BY_CLIENT_COMMAND);
    addReplyOk(c);
}

/* Sleeps for so many milliseconds. */
static void napCommand(client *c) {
    poll(NULL, 0, atoi(c->argv[1].ptr));
    addReplyOk(c);
}

static void nothingCommand(client *c) { addReplyOk(c); }

/* Replies whether the hashes of elements are right, however they were computed. */
static void elementsCommand(client *c) {
    for (uint32_t i = 1; i < c->argc; i++)
        if (!CHECK(clientElementHash(c, i) == hashBytes(c->argv[i].ptr, c->argv[i].len))) return;
    addReplyOk(c);
}

static int onlyKeys(const serverCommand *cmd, const slice *argv, uint32_t argc, requestKey *out, int cap) {
    unused(cmd), unused(argc);
    if (sliceIs(argv[1], "bad")) return -1;
    if (cap > 0) out[0] = (requestKey){.index = 1, .flags = CMD_KEY_OW};
    return 1;
}

#define RANGE(begin_, last_, step_, limit_)                                                           \
    .begin = KEYS_BEGIN_INDEX, .begin_index = (begin_), .find = KEYS_FIND_RANGE, .last_key = (last_), \
    .key_step = (step_), .limit = (limit_)
#define SPECS(...) \
    .specs = (const keySpec[]){__VA_ARGS__}, .nspecs = sizeof((const keySpec[]){__VA_ARGS__}) / sizeof(keySpec)

static serverCommand commands[] = {
    {.name = "ping", .proc = pingCommand, .arity = -1},
    {.name = "echo", .proc = echoCommand, .arity = 2},
    {.name = "note", .proc = noteCommand, .arity = 2, .flags = CMD_ALLOW_BUSY},
    {.name = "long", .proc = longCommand, .arity = 1},
    {.name = "pin",
     .proc = pinCommand,
     .arity = -2,
     .flags = CMD_READONLY,
     SPECS({RANGE(1, 0, 1, 0), .flags = CMD_KEY_RO})},
    {.name = "nap", .proc = napCommand, .arity = 2, .flags = CMD_ALLOW_BUSY},
    {.name = "get",
     .proc = getCommand,
     .arity = 2,
     .flags = CMD_READONLY,
     SPECS({RANGE(1, 0, 1, 0), .flags = CMD_KEY_RO})},
    {.name = "set",
     .proc = setCommand,
     .arity = -3,
     .flags = CMD_WRITE | CMD_BUILDS_VALUE,
     .value_arg = 2,
     SPECS({RANGE(1, 0, 1, 0), .flags = CMD_KEY_RW})},
    {.name = "unpause", .proc = unpauseCommand, .arity = 1},
    {.name = "held", .proc = heldCommand, .arity = 1},
    {.name = "del",
     .proc = delCommand,
     .arity = -2,
     .flags = CMD_WRITE,
     SPECS({RANGE(1, -1, 1, 0), .flags = CMD_KEY_RM})},
    {.name = "mset",
     .proc = msetCommand,
     .arity = -3,
     .flags = CMD_WRITE,
     SPECS({RANGE(1, -1, 2, 0), .flags = CMD_KEY_OW})},
    {.name = "blpop", .proc = nothingCommand, .arity = -3, SPECS({RANGE(1, -2, 1, 0), .flags = CMD_KEY_RW})},
    {.name = "rename",
     .proc = nothingCommand,
     .arity = 3,
     SPECS({RANGE(1, 0, 1, 0), .flags = CMD_KEY_RW}, {RANGE(2, 0, 1, 0), .flags = CMD_KEY_OW})},
    {.name = "spublish",
     .proc = nothingCommand,
     .arity = 3,
     .flags = CMD_PUBSUB,
     SPECS({RANGE(1, 0, 1, 0), .flags = CMD_KEY_NOT_KEY})},
    {.name = "eval",
     .proc = nothingCommand,
     .arity = -3,
     SPECS({.begin = KEYS_BEGIN_INDEX, .begin_index = 2, .find = KEYS_FIND_KEYNUM, .first_key = 1, .keynum_step = 1})},
    {.name = "picky", .proc = nothingCommand, .arity = -2, .get_keys = onlyKeys, SPECS({RANGE(1, 0, 1, 0)})},
    {.name = "elements",
     .proc = elementsCommand,
     .arity = -2,
     .element_arg = 2,
     .element_step = 1,
     SPECS({RANGE(1, 0, 1, 0), .flags = CMD_KEY_RO})},
    {.name = "quit", .proc = quitCommand, .arity = -1, .flags = CMD_NO_AUTH},
    {.name = "auth", .proc = authCommand, .arity = 2, .flags = CMD_NO_AUTH},
    {.name = "kill", .proc = killCommand, .arity = 2},
    {.name = "threads", .proc = threadsCommand, .arity = 2},
    {.name = "config",
     .arity = -2,
     .subcommands = (serverCommand[]){{.name = "get", .proc = nothingCommand, .arity = -3},
                                      {.name = "resetstat", .proc = nothingCommand, .arity = 2},
                                      {.name = NULL}}},
};

/* --- one server, without a port --------------------------------------------------------------------- */

static void deliver(const ioMessage *m) {
    if (fixture_deliver) fixture_deliver(m);
    else sessionDeliver(m);
}

static iterationEnd delegatedIteration(void) { return fixture_iterate ? fixture_iterate() : netDelegatedIteration(); }

static void report(ioOwner *h) {
    if (fixture_before_report) fixture_before_report(h);
    clientIosReport(h);
}

static void beforeSleep(aeEventLoop *loop, void *arg) {
    if (!fixture_deliver) netBeforeSleep(loop, arg);
}

static void afterSleep(aeEventLoop *loop, void *arg) {
    if (!fixture_deliver) netAfterSleep(loop, arg);
}

static void beforeWait(aeEventLoop *loop, void *arg) {
    if (!fixture_deliver) netBeforeWait(loop, arg);
}

static void afterEvent(aeEventLoop *loop, void *arg) {
    if (!fixture_deliver) netAfterEvent(loop, arg);
}

static void cleanUp(void) {
    ioThreadsShutdown();
    requestPoolEmpty(&ioThreadOwner(ioThreadMain())->pool);
    bioDrain(BIO_LAZY_FREE);
}

void netFixtureInit(void) {
    static bool done;
    if (done) return;
    done = true;
    signal(SIGPIPE, SIG_IGN);
    panicSetMainThread();
    clockInit();
    bioInit(NULL);
    logSetLevel(LL_NOTHING);
    dbInit(16);
    clientsInit();
    clientEvictionInit();
    commandTableRegister(commands, array_len(commands));
    blockingInit(batchUnblocked);
    pauseInit();
    transactionQueueInit();
    gateSet(GATE_AUTH, authGate);
    gateSet(GATE_MEMORY, memoryGate);
    gateSet(GATE_PAUSE, pauseGate);
    gateSet(GATE_BUSY, yieldGate);
    fixture_log = sdsEmpty();
    net_settings = (netSettings){.io_threads = 1,
                                 .maxclients = 10000,
                                 .proto_max_bulk_len = 512 * 1024 * 1024,
                                 .client_query_buffer_limit = 1024 * 1024 * 1024};
    fixture_loop = aeCreateEventLoop(1024);
    /* Like netInit(), with the hooks of the tests. */
    const ioThreadHooks hooks = {.to_session = deliver,
                                 .to_io = clientIoDeliver,
                                 .delivered = clientIosFan,
                                 .report = report,
                                 .iteration = delegatedIteration};
    ioThreadsInit(fixture_loop, &hooks);
    storeSetFreeSink(ioThreadsFreeElsewhere);
    netShareSettings();
    netEachIteration(holdTakePublished);
    holdSetWake(ioThreadsWakeMain);
    yieldSetServe(netServeOthers);
    fixtureSuspend(false);
    atexit(cleanUp);
}

void fixtureNoPubsubLimit(void) {
    char kind[] = "pubsub", none[] = "0";
    char *words[] = {kind, none, none, none};
    const char *err = NULL;
    CHECK(outputLimitsSet(NULL, words, array_len(words), &err));
}

void fixtureSuspend(bool suspended) {
    aeSetBeforeSleep(fixture_loop, suspended ? NULL : beforeSleep, NULL);
    aeSetBeforeWait(fixture_loop, suspended ? NULL : beforeWait, NULL);
    aeSetAfterSleep(fixture_loop, suspended ? NULL : afterSleep, NULL);
    aeSetAfterEvent(fixture_loop, suspended ? NULL : afterEvent, NULL);
}

void fixturePair(int fds[2], bool tcp) {
    if (!tcp) {
        CHECK_EQ_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
        return;
    }
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof(at);
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    CHECK_EQ_INT(bind(listener, (struct sockaddr *)&at, sizeof(at)), 0);
    CHECK_EQ_INT(listen(listener, 1), 0);
    getsockname(listener, (struct sockaddr *)&at, &len);
    fds[1] = socket(AF_INET, SOCK_STREAM, 0);
    CHECK_EQ_INT(connect(fds[1], (struct sockaddr *)&at, sizeof(at)), 0);
    fds[0] = accept(listener, NULL, NULL);
    close(listener);
    for (int i = 0; i < 2; i++) {
        anetNonBlock(NULL, fds[i]);
        anetNoDelay(NULL, fds[i], true);
    }
}

void fixtureTurn(void) {
    aeProcessEvents(fixture_loop, AE_ALL_EVENTS | AE_DONT_WAIT);
    if (!panicHoldsMainRole()) return;
    batchCheck();
    clientListsCheck();
    listIter it = listBegin(client_state.clients, false);
    for (listNode *n = listNext(&it); n; n = listNext(&it)) clientCheck(listNodeValue(n));
}

/* Yields the processor after some iterations without progress, as a peer in another thread or the kernel may need
 * it. */
static void giveWay(int iterations) {
    if (iterations > 20 && iterations % 4 == 0) poll(NULL, 0, 1);
}

bool fixtureNoClients(void *arg) {
    unused(arg);
    return listLength(client_state.clients) == 0;
}

bool fixtureAllIdle(void *arg) {
    for (unsigned i = 0; i < IO_THREADS_MAX; i++)
        if (ioThreadGet(i) && !rebalanceIsIdle(ioThreadGet(i))) return false;
    return fixtureNoClients(arg);
}

bool fixtureOnlyMain(void *arg) {
    unused(arg);
    ioThreadsReap(rebalanceIsIdle);
    return ioThreadsCount() == 1 && !ioThreadGet(1);
}

bool fixtureUntil(bool (*done)(void *arg), void *arg, int ms) {
    unitLimit limit = unitLimitStart((uint64_t)ms);
    for (int i = 0; !done(arg); i++) {
        if (unitLimitOver(&limit)) return false;
        fixtureTurn();
        giveWay(i);
    }
    return true;
}

bool fixtureReceive(int fd, sds *out) {
    static char buf[65536];
    for (;;) {
        ssize_t n = read(fd, buf, sizeof(buf));
        if (n > 0) *out = sdsCatLen(*out, buf, (size_t)n);
        else return n < 0 && errno == EAGAIN;
    }
}

client *fixtureConnect(int *peer, bool tcp) {
    int fds[2];
    netFixtureInit();
    fixturePair(fds, tcp);
    connection *conn = tcp ? connCreateAcceptedSocket(fds[0], NULL) : connCreateAcceptedUnix(fds[0], NULL);
    clientIo *s = clientIoCreate(conn, true);
    client *c = clientCreate(s, fds[0], "127.0.0.1:1", "127.0.0.1:2", !tcp);
    c->authenticated = true;
    s->session = c;
    rebalanceAdopt(s);
    *peer = fds[1];
    return c;
}

void fixtureSend(int fd, const void *bytes, size_t len) {
    const char *p = bytes;
    unitLimit limit = unitLimitStart(20000);
    for (int idle = 0; len && !unitLimitOver(&limit); idle++) {
        ssize_t n = send(fd, p, len, MSG_NOSIGNAL);
        if (n > 0) {
            p += n;
            len -= (size_t)n;
            idle = 0;
        } else if (n < 0 && errno != EAGAIN) {
            return;
        } else {
            fixtureTurn();
            giveWay(idle);
        }
    }
    CHECK_EQ_INT(len, 0);
}

sds fixtureReceiveBytes(int fd, size_t want) {
    sds got = sdsEmpty();
    unitLimit limit = unitLimitStart(20000);
    for (int idle = 0; sdsLen(got) < want && !unitLimitOver(&limit); idle++) {
        size_t before = sdsLen(got);
        fixtureTurn();
        if (!fixtureReceive(fd, &got)) break;
        if (sdsLen(got) != before) idle = 0;
        giveWay(idle);
    }
    return got;
}

sds catRequest(sds s, int argc, const slice *argv) {
    s = sdsCatPrintf(s, "*%d\r\n", argc);
    for (int i = 0; i < argc; i++) {
        s = sdsCatPrintf(s, "$%zu\r\n", argv[i].len);
        s = sdsCatLen(s, argv[i].ptr, argv[i].len);
        s = sdsCatLen(s, "\r\n", 2);
    }
    return s;
}

sds catWords(sds s, const char *words) {
    slice argv[64];
    int argc = 0;
    while (*words) {
        size_t len = strcspn(words, " ");
        argv[argc++] = sliceOf(words, len);
        words += len + (words[len] == ' ');
    }
    return catRequest(s, argc, argv);
}
