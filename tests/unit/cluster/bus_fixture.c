/* bus_fixture.c -- a bus whose machine is a fake, and a peer that is a plain socket.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "bus_fixture.h"

#include "anet.h"
#include "clock.h"
#include "log.h"
#include "unit.h"
#include "zmalloc.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define LIMIT_MS 10000

static frameBlock *blockOf(sds bytes) {
    frameBlock *b = zmalloc(sizeof(*b));
    *b = (frameBlock){.references = 1, .bytes = bytes};
    return b;
}

sds pingFrame(busType type) {
    busHeader header = {.flags = NODE_PRIMARY, .port = 7000};
    memset(header.sender.text, 'a', NODE_ID_LEN);
    sds frame = busBegin(sdsEmpty(), type, &header);
    busEnd(frame);
    return frame;
}

sds publishFrame(size_t len, char fill) {
    sds text = sdsNewLen(NULL, len);
    memset(text, fill, len);
    sds frame = busLightPublish(BUS_PUBLISH, sliceStr("channel"), sdsSlice(text));
    sdsFree(text);
    return frame;
}

/* ---- The fake machine -------------------------------------------------------------------------------------------- */

static void act(clusterActions *actions, const clusterAction *a) {
    actions->list = zgrowArray(actions->list, actions->count, &actions->capacity, sizeof(*actions->list));
    actions->list[actions->count++] = *a;
}

static void record(fakeNode *n, const clusterEvent *e) {
    n->events = zgrowArray(n->events, n->event_count, &n->event_capacity, sizeof(*n->events));
    fakeEvent *f = &n->events[n->event_count++];
    *f = (fakeEvent){
        .kind = e->kind, .link = e->link, .version = e->version, .type = e->frame ? e->frame->type : BUS_TYPES};
    if (e->ip) strcpy(f->ip, e->ip);
    if (e->peer_ip) strcpy(f->peer_ip, e->peer_ip);
    if (e->local) f->local = *e->local;
}

static bool isMessage(const busFrame *f) { return f->type == BUS_PUBLISH; }

static void fakeMachine(void *arg, clusterTime now, const clusterEvent *e, clusterActions *actions) {
    fakeNode *n = arg;
    CHECK(now.mono_ms > 0 && now.wall_ms > 0);
    record(n, e);
    if (e->kind == CLUSTER_FRAME && n->answers_pings && (e->frame->type == BUS_PING || e->frame->type == BUS_MEET))
        act(actions, &(clusterAction){.kind = CLUSTER_SEND, .link = e->link, .frame = blockOf(pingFrame(BUS_PONG))});
    if (e->kind == CLUSTER_FRAME && n->delivers && isMessage(e->frame))
        act(actions, &(clusterAction){.kind = CLUSTER_DELIVER});
    if (e->kind == CLUSTER_FRAME && n->closes == e->link) {
        act(actions, &(clusterAction){.kind = CLUSTER_CLOSE, .link = e->link});
        n->closes = 0;
    }
    if (e->kind != CLUSTER_COMMAND) return;
    for (size_t i = 0; i < n->effect.count; i++) act(actions, &n->effect.list[i]);
    n->effect.count = 0;
}

static bool fakeKnowsPeer(void *arg, uint64_t link) {
    unused(link);
    return ((fakeNode *)arg)->knows_all;
}

/* A file that was saved. */
static bool fakeNextEvent(void *arg, clusterEvent *event) {
    fakeNode *n = arg;
    uint64_t version = atomic_exchange(&n->saved, 0);
    if (version) *event = (clusterEvent){.kind = CLUSTER_SAVED, .version = version};
    return version != 0;
}

busSettings fakeSettings(void) {
    return (busSettings){.node_timeout_ms = 5000, .message_limit = 1024 * 1024, .frame_max = 64 * 1024 * 1024};
}

void fakeStart(fakeNode *n, const busSettings *settings, bool ipv6) {
    char err[ANET_ERR_LEN] = "";
    memset(n, 0, sizeof(*n));
    n->knows_all = n->answers_pings = true;
    clockInit();
    logSetLevel(LL_NOTHING);
    signal(SIGPIPE, SIG_IGN);
    n->main_wakeup.read_fd = n->main_wakeup.write_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    int fd = ipv6 ? anetTcp6Server(err, 0, "::1", 511, false) : anetTcpServer(err, 0, "127.0.0.1", 511, false);
    CHECK_EQ_STR(err, "");
    anetFdToString(fd, NULL, 0, &n->port, false);
    busPlan plan = {
        .handler = {.arg = n, .step = fakeMachine, .knows_peer = fakeKnowsPeer, .next_event = fakeNextEvent},
        .settings = *settings,
        .listeners = &fd,
        .listener_count = 1,
        .main_wakeup = &n->main_wakeup};
    n->bus = busStart(&plan);
    CHECK(n->bus != NULL);
}

void fakeStop(fakeNode *n) {
    busStop(n->bus);
    logSetLevel(LL_NOTICE);
    aeWakeupClose(&n->main_wakeup);
    zfree(n->events);
    clusterActionsFree(&n->effect);
}

/* ---- Waiting ----------------------------------------------------------------------------------------------------- */

static fakeEvent findEvent(fakeNode *n, clusterEventKind kind, size_t count, size_t *found) {
    fakeEvent last = {.kind = (clusterEventKind)-1};
    *found = 0;
    busLockMachine(n->bus);
    for (size_t i = 0; i < n->event_count && *found < count; i++) {
        if (n->events[i].kind != kind) continue;
        last = n->events[i];
        ++*found;
    }
    busUnlockMachine(n->bus);
    return last;
}

fakeEvent fakeWait(fakeNode *n, clusterEventKind kind, size_t count) {
    unitLimit limit = unitLimitStart(LIMIT_MS);
    size_t found;
    for (;;) {
        fakeEvent e = findEvent(n, kind, count, &found);
        busMainRuns(n->bus);
        if (found == count) return e;
        if (!CHECK(!unitLimitOver(&limit))) return (fakeEvent){.kind = (clusterEventKind)-1};
        usleep(500);
    }
}

size_t fakeCount(fakeNode *n, clusterEventKind kind) {
    size_t found;
    findEvent(n, kind, SIZE_MAX, &found);
    return found;
}

bool fakeWaitCounter(const _Atomic uint64_t *counter, uint64_t value) {
    unitLimit limit = unitLimitStart(LIMIT_MS);
    while (atomic_load(counter) < value) {
        if (!CHECK(!unitLimitOver(&limit))) return false;
        usleep(200);
    }
    return true;
}

/* ---- Steps of main ----------------------------------------------------------------------------------------------- */

void fakeStep(fakeNode *n, const clusterAction *effect, size_t count, clusterActions *actions) {
    busLockMachine(n->bus);
    for (size_t i = 0; i < count; i++) act(&n->effect, &effect[i]);
    busUnlockMachine(n->bus);
    busStep(n->bus, &(clusterEvent){.kind = CLUSTER_COMMAND}, actions);
}

static void stepOne(fakeNode *n, const clusterAction *effect) {
    clusterActions actions = {0};
    fakeStep(n, effect, 1, &actions);
    clusterActionsFree(&actions);
}

void fakeConnect(fakeNode *n, uint64_t link, const char *ip, int port) {
    clusterAction connect = {.kind = CLUSTER_CONNECT, .link = link, .port = (uint16_t)port};
    strcpy(connect.ip, ip);
    stepOne(n, &connect);
}

void fakeClose(fakeNode *n, uint64_t link) { stepOne(n, &(clusterAction){.kind = CLUSTER_CLOSE, .link = link}); }

void fakeSend(fakeNode *n, uint64_t link, sds frame) {
    stepOne(n, &(clusterAction){.kind = CLUSTER_SEND, .link = link, .frame = blockOf(frame)});
}

/* ---- Peers ------------------------------------------------------------------------------------------------------- */

static int limited(int fd) {
    anetRecvTimeout(NULL, fd, 5000);
    anetSendTimeout(NULL, fd, 5000);
    return fd;
}

int peerConnect(int port) {
    int fd = anetTcpConnect(NULL, "127.0.0.1", port, NULL, false);
    CHECK(fd >= 0);
    anetNoDelay(NULL, fd, true);
    return limited(fd);
}

int peerListen(int *port) {
    int fd = anetTcpServer(NULL, 0, "127.0.0.1", 16, false);
    CHECK(fd >= 0);
    anetFdToString(fd, NULL, 0, port, false);
    return limited(fd);
}

void peerWrite(int fd, const void *bytes, size_t len) { CHECK_EQ_INT(send(fd, bytes, len, MSG_NOSIGNAL), len); }

static bool readAll(int fd, void *buf, size_t len) { return recv(fd, buf, len, MSG_WAITALL) == (ssize_t)len; }

int peerRead(int fd) {
    uint8_t head[BUS_HEAD_BYTES];
    if (!readAll(fd, head, sizeof(head))) return -1;
    size_t len = busFrameLength(head, SIZE_MAX);
    if (len == 0) return -1;
    char *rest = zmalloc(len);
    bool got = readAll(fd, rest, len - sizeof(head));
    zfree(rest);
    return got ? (int)busTypeOf(head) : -1;
}

bool peerIsClosed(int fd) {
    char byte;
    ssize_t got = recv(fd, &byte, 1, 0);
    return got == 0 || (got < 0 && errno != EAGAIN);
}

int openDescriptors(void) {
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (readdir(folder)) count++;
    closedir(folder);
    return count;
}
