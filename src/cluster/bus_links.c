/* bus_links.c -- the links of the bus: accepted, connected, read, written, closed.
 *
 * A link that fails while something else uses it is closed at once, but its memory stays until busLinksFlush(), which
 * no function of a link calls. It is reported as lost later, too, so that a step of the machine never begins within
 * another one.
 *
 * Not here    what frames mean, and the steps of the machine (bus_thread.c); the bytes of a link (bus_input.c,
 *             bus_output.c).
 * Owns        listening sockets, connections, links.
 * Threads     the bus thread. Any thread may list links: the list changes under `list_lock`, and the figures of a link
 *             are atomic.
 * Invariants  1. A link is in the table and in the list from its creation until it is closed, and then among `closed`.
 *             2. `strangers` counts the links in the list with is_stranger.
 *             3. A link whose output is not empty is in the list of dirty ones, or waits for its socket, or is not up.
 * Cost        a read and a write for each ready link; a tick visits all links.
 * Tests       tests/unit/cluster/bus_thread_test.c, bus_tls_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "bus_links.h"

#include "anet.h"
#include "bus_input.h"
#include "bus_output.h"
#include "clock.h"
#include "connection.h"
#include "dict.h"
#include "log_limit.h"
#include "panic.h"
#include "tls.h"
#include "zmalloc.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#define ACCEPTS_PER_EVENT 16
#define READS_PER_EVENT 4
#define WRITES_PER_FLUSH 16
#define PIECES_PER_WRITE 32
#define STRANGER_GRACE_MS 1000 /* a younger stranger is not closed in favor of a new one */

typedef enum { LINK_CONNECTING, LINK_HANDSHAKE, LINK_UP, LINK_CLOSED } linkState;

typedef struct busLink {
    uint64_t number;
    busLinks *set;
    connection *conn; /* owns; NULL when closed */
    linkState state;
    bool is_inbound, is_stranger, is_dirty;
    int peer_port;
    uint64_t made_ms, deadline_ms; /* 0: no deadline */
    int64_t created_ms;            /* const: wall time */
    char peer_ip[NODE_IP_LEN];
    busInput input;
    busOutput output;
    struct busLink *previous, *next; /* under list_lock: in the order of creation */
    struct busLink *next_dirty, *next_closed;
    /* atomic, relaxed: for busLinksList() */
    _Atomic size_t output_bytes, output_memory, input_memory;
    _Atomic bool is_up, waits_to_write;
} busLink;

struct busLinks {
    aeEventLoop *loop;
    busSettings settings;
    busLinkHooks hooks;
    busStats *stats;
    int *listeners; /* owns, and the descriptors */
    size_t listener_count;
    bool is_accepting; /* the loop waits for the listening sockets */
    uint64_t last_accepted;
    size_t strangers;
    dict *table;               /* owns; by number */
    pthread_mutex_t list_lock; /* no other lock is taken while it is held */
    busLink *first, *last;     /* own */
    busLink *dirty, *closed;
    uint64_t *lost; /* owns: numbers */
    size_t lost_count, lost_capacity;
    busLink *reading; /* whose frame the hook is called with */
    busFrame frame;
};

/* ---- Settings ---------------------------------------------------------------------------------------------------- */

static slice keyOfLink(const void *entry) {
    return sliceOf(&((const busLink *)entry)->number, sizeof(((const busLink *)entry)->number));
}

static const dictType link_type = {.entryKey = keyOfLink};

static busLink *linkOf(const busLinks *s, uint64_t number) {
    slice key = sliceOf(&number, sizeof(number));
    return dictFind(s->table, key, dictHash(s->table, key));
}

static void dropContexts(busSettings *settings) {
    tlsContextRelease(settings->accept_tls);
    tlsContextRelease(settings->connect_tls);
}

static void copySettings(busSettings *to, const busSettings *from) {
    *to = *from;
    if (to->accept_tls) tlsContextRetain(to->accept_tls);
    if (to->connect_tls) tlsContextRetain(to->connect_tls);
}

void busLinksConfigure(busLinks *s, const busSettings *settings) {
    busSettings before = s->settings;
    copySettings(&s->settings, settings);
    dropContexts(&before);
}

/* How long a stranger may stay one: until the ping that follows its handshake. */
static uint64_t strangerMs(const busLinks *s) {
    return s->settings.node_timeout_ms < 1000 ? 2000 : 2 * s->settings.node_timeout_ms;
}

static uint64_t connectMs(const busLinks *s) {
    return s->settings.node_timeout_ms < 1000 ? 1000 : s->settings.node_timeout_ms;
}

/* ---- Making and closing ------------------------------------------------------------------------------------------ */

/* Ensures that the loop can wait for a descriptor. */
static bool loopTakes(aeEventLoop *loop, int fd) {
    int size = aeGetSetSize(loop);
    return fd < size || aeResizeSetSize(loop, fd < 2 * size ? 2 * size : fd + 1) == C_OK;
}

static busLink *addLink(busLinks *s, uint64_t number, linkState state) {
    busLink *l = zcalloc(1, sizeof(*l));
    l->number = number;
    l->set = s;
    l->state = state;
    l->made_ms = clockMonotonicMs();
    l->deadline_ms = l->made_ms + connectMs(s);
    l->created_ms = clockWallMs();
    dictAddNew(s->table, l, dictHash(s->table, keyOfLink(l)));
    pthread_mutex_lock(&s->list_lock);
    l->previous = s->last;
    if (s->last) s->last->next = l;
    else s->first = l;
    s->last = l;
    pthread_mutex_unlock(&s->list_lock);
    return l;
}

static void removeFromList(busLinks *s, busLink *l) {
    pthread_mutex_lock(&s->list_lock);
    if (l->previous) l->previous->next = l->next;
    else s->first = l->next;
    if (l->next) l->next->previous = l->previous;
    else s->last = l->previous;
    pthread_mutex_unlock(&s->list_lock);
}

static void stopBeingStranger(busLink *l) {
    if (!l->is_stranger) return;
    l->is_stranger = false;
    l->set->strangers--;
}

static void closeLink(busLink *l) {
    busLinks *s = l->set;
    stopBeingStranger(l);
    dictPopEntry(s->table, l, dictHash(s->table, keyOfLink(l)));
    removeFromList(s, l);
    l->state = LINK_CLOSED;
    if (l->conn) {
        connFinish(l->conn); /* a forked child may have the descriptor too: the peer gets its end of input now */
        connClose(l->conn);
        l->conn = NULL;
    }
    busOutputFree(&l->output);
    l->next_closed = s->closed;
    s->closed = l;
}

static void addLost(busLinks *s, uint64_t number) {
    s->lost = zgrowArray(s->lost, s->lost_count, &s->lost_capacity, sizeof(*s->lost));
    s->lost[s->lost_count++] = number;
}

/* Closes a link that has ended by itself. */
static void loseLink(busLink *l) {
    uint64_t number = l->number;
    closeLink(l);
    addLost(l->set, number);
}

void busLinksClose(busLinks *s, uint64_t link) {
    busLink *l = linkOf(s, link);
    if (l) closeLink(l);
}

void busLinksLose(busLinks *s, uint64_t link) {
    busLink *l = linkOf(s, link);
    if (l) loseLink(l);
}

void busLinksReportLost(busLinks *s) {
    uint64_t *lost = s->lost;
    size_t count = s->lost_count;
    s->lost = NULL;
    s->lost_count = s->lost_capacity = 0;
    for (size_t i = 0; i < count; i++) s->hooks.lost(s->hooks.arg, lost[i]);
    zfree(lost);
}

static void freeClosed(busLinks *s) {
    while (s->closed) {
        busLink *l = s->closed;
        s->closed = l->next_closed;
        busInputFree(&l->input);
        zfree(l);
    }
}

static void peerText(const busLink *l, char *out, size_t size) { anetFormatAddr(out, size, l->peer_ip, l->peer_port); }

/* ---- Reading ----------------------------------------------------------------------------------------------------- */

static size_t frameMax(const busLink *l) {
    size_t max = l->set->settings.frame_max;
    return l->is_stranger && max > BUS_STRANGER_FRAME_MAX ? BUS_STRANGER_FRAME_MAX : max;
}

static void takeFrame(busLink *l, slice bytes) {
    busLinks *s = l->set;
    char why[256];
    busCountReceived(s->stats, bytes.ptr, bytes.len);
    switch (busFrameRead(bytes, &s->frame, why, sizeof(why))) {
    case BUS_READ: break;
    case BUS_IGNORED: LOG_LIMITED(LL_WARNING, LOG_LIMIT_FEW, "invalid frames on the cluster bus", "%s", why); return;
    case BUS_OTHER_VERSION: return;
    }
    s->reading = l;
    bool known = s->hooks.frame(s->hooks.arg, l->number, &s->frame, l->is_stranger);
    s->reading = NULL;
    if (!known || l->state == LINK_CLOSED || !l->is_stranger) return;
    stopBeingStranger(l);
    l->deadline_ms = 0;
}

sds busLinksTakeFrame(busLinks *s) { return busInputTake(&s->reading->input); }

static void takeFrames(busLink *l) {
    slice bytes;
    char peer[64];
    while (l->state == LINK_UP) {
        switch (busInputNext(&l->input, frameMax(l), &bytes)) {
        case BUS_INPUT_MORE: return;
        case BUS_INPUT_FRAME: takeFrame(l, bytes); break;
        case BUS_INPUT_BAD:
            peerText(l, peer, sizeof(peer));
            LOG_LIMITED(LL_WARNING, LOG_LIMIT_FEW, "bad frames on the cluster bus",
                        "Bad message length or signature received on the Cluster bus from %s", peer);
            loseLink(l);
            return;
        }
    }
}

/* Logs why a link has ended, for an operator who enables such lines. */
static void logEnd(const busLink *l, const char *why) {
    char peer[64];
    peerText(l, peer, sizeof(peer));
    serverLog(LL_DEBUG, "Link of the cluster bus with %s has ended: %s", peer, why);
}

static void onReadable(connection *c) {
    busLink *l = c->owner;
    for (int i = 0; i < READS_PER_EVENT && l->state == LINK_UP; i++) {
        char *at;
        size_t len = busInputReserve(&l->input, &at);
        ssize_t got = len ? connRead(c, at, len) : -1;
        if (len) busInputAdd(&l->input, got > 0 ? (size_t)got : 0);
        if (got <= 0) {
            if (len && got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
            logEnd(l, len == 0 ? "no memory for its frame" : got == 0 ? "the peer has closed it" : connErrorText(c));
            loseLink(l);
            return;
        }
        busCount(&l->set->stats->bytes_received, (size_t)got);
        takeFrames(l);
        if ((size_t)got < len) break;
    }
    atomic_store_explicit(&l->input_memory, busInputMemory(&l->input), memory_order_relaxed);
}

/* ---- Writing ----------------------------------------------------------------------------------------------------- */

static void noteOutput(busLink *l) {
    atomic_store_explicit(&l->output_bytes, busOutputBytes(&l->output), memory_order_relaxed);
    atomic_store_explicit(&l->output_memory, busOutputMemory(&l->output), memory_order_relaxed);
}

static void writeLink(busLink *l);
static void onWritable(connection *c) { writeLink(c->owner); }

/* Makes the loop wait for the socket while something is left to be written. */
static void waitToWrite(busLink *l, bool wait) {
    atomic_store_explicit(&l->waits_to_write, wait, memory_order_relaxed);
    if (connSetWriteHandler(l->conn, wait ? onWritable : NULL) == C_ERR) loseLink(l);
}

static void writeLink(busLink *l) {
    struct iovec pieces[PIECES_PER_WRITE];
    bool all = false;
    for (int i = 0; i < WRITES_PER_FLUSH; i++) {
        int n = busOutputPieces(&l->output, pieces, PIECES_PER_WRITE);
        all = n == 0;
        if (all) break;
        ssize_t sent = connWritev(l->conn, pieces, n);
        if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
        if (sent < 0) {
            logEnd(l, connErrorText(l->conn));
            loseLink(l);
            return;
        }
        busOutputWritten(&l->output, (size_t)sent, l->set->stats);
    }
    noteOutput(l);
    waitToWrite(l, !all);
}

/* Adds a link to those that the next flush writes. */
static void markDirty(busLink *l) {
    if (l->is_dirty || l->state != LINK_UP) return;
    l->is_dirty = true;
    l->next_dirty = l->set->dirty;
    l->set->dirty = l;
}

bool busLinksFlush(busLinks *s) {
    while (s->dirty) {
        busLink *l = s->dirty;
        s->dirty = l->next_dirty;
        l->is_dirty = false;
        if (l->state == LINK_UP && !atomic_load_explicit(&l->waits_to_write, memory_order_relaxed)) writeLink(l);
    }
    freeClosed(s);
    return s->lost_count > 0;
}

static bool mayAddMessage(const busLink *l, size_t len) {
    size_t limit = l->set->settings.message_limit, queued = busOutputMessageBytes(&l->output);
    return !limit || queued == 0 || (queued < limit && len <= limit - queued);
}

void busLinksSendTake(busLinks *s, uint64_t link, frameBlock *frame) {
    busLink *l = linkOf(s, link);
    bool dropped = l && busIsMessage(frame->bytes) && !mayAddMessage(l, sdsLen(frame->bytes));
    if (dropped) busCount(&s->stats->messages_dropped, 1);
    if (!l || dropped) {
        frameBlockRelease(frame);
        return;
    }
    busOutputAddTake(&l->output, frame);
    noteOutput(l);
    if (!s->settings.link_limit || busOutputMemory(&l->output) <= s->settings.link_limit) {
        markDirty(l);
        return;
    }
    char peer[64];
    peerText(l, peer, sizeof(peer));
    busCount(&s->stats->link_limit_exceeded, 1);
    LOG_LIMITED(LL_WARNING, LOG_LIMIT_FEW, "links of the cluster bus above cluster-link-sendbuf-limit",
                "Dropping the link of the cluster bus with %s: %zu bytes of unsent output exceed "
                "cluster-link-sendbuf-limit",
                peer, busOutputMemory(&l->output));
    loseLink(l);
}

/* ---- Handshakes -------------------------------------------------------------------------------------------------- */

static void linkIsUp(busLink *l) {
    busLinks *s = l->set;
    char ip[NODE_IP_LEN];
    l->state = LINK_UP;
    l->deadline_ms = l->is_stranger ? l->made_ms + strangerMs(s) : 0;
    atomic_store_explicit(&l->is_up, true, memory_order_relaxed);
    /* The connection may have been lost meanwhile; its address becomes that of this node. */
    if (anetFdToString(l->conn->fd, ip, sizeof(ip), NULL, false) == C_ERR) ip[0] = 0;
    if (connSetReadHandler(l->conn, onReadable) == C_ERR) {
        loseLink(l);
        return;
    }
    if (busOutputBytes(&l->output)) markDirty(l);
    s->hooks.up(s->hooks.arg, l->number, ip, l->peer_ip);
}

/* The connection is secured, or that has failed. */
static void onHandshake(connection *c) {
    busLink *l = c->owner;
    if (c->state == CONN_CONNECTED) {
        linkIsUp(l);
        return;
    }
    char peer[64];
    peerText(l, peer, sizeof(peer));
    if (l->is_inbound)
        LOG_LIMITED(LL_WARNING, LOG_LIMIT_FEW, "TLS handshakes on the cluster bus that failed",
                    "Error accepting a connection of the cluster bus from %s: %s", peer, connErrorText(c));
    else
        LOG_LIMITED(LL_WARNING, LOG_LIMIT_FEW, "TLS handshakes with cluster nodes that failed",
                    "Error connecting to the cluster bus of %s: %s", peer, connErrorText(c));
    loseLink(l);
}

/* Sets the options of a socket that are no reason to refuse it. */
static void tune(const busLink *l) {
    int interval_s = (int)(l->set->settings.node_timeout_ms / 1000 * 2);
    anetNoDelay(NULL, l->conn->fd, true);
    anetKeepAlive(NULL, l->conn->fd, interval_s > 0 ? interval_s : 1);
}

/* ---- Accepting --------------------------------------------------------------------------------------------------- */

static void onListener(aeEventLoop *loop, int fd, void *arg, int mask);

/* Begins or ends waiting for the listening sockets. Meanwhile connections wait in the backlog of the system. */
static void setAccepting(busLinks *s, bool on) {
    if (s->is_accepting == on) return;
    s->is_accepting = on;
    for (size_t i = 0; i < s->listener_count; i++) {
        if (!on) aeDeleteFileEvent(s->loop, s->listeners[i], AE_READABLE);
        else if (aeCreateFileEvent(s->loop, s->listeners[i], AE_READABLE, onListener, s) == C_ERR)
            s->is_accepting = false; /* the next tick tries again */
    }
}

static bool prepareListeners(aeEventLoop *loop, const int *listeners, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (!loopTakes(loop, listeners[i]) || anetNonBlock(NULL, listeners[i]) == C_ERR) return false;
    return true;
}

static void keepListeners(busLinks *s, const int *listeners, size_t count) {
    s->listeners = zmalloc((count + 1) * sizeof(*listeners));
    if (count) memcpy(s->listeners, listeners, count * sizeof(*listeners));
    s->listener_count = count;
    setAccepting(s, true);
}

static void closeListeners(busLinks *s) {
    setAccepting(s, false);
    for (size_t i = 0; i < s->listener_count; i++) close(s->listeners[i]);
    zfree(s->listeners);
    s->listeners = NULL;
    s->listener_count = 0;
}

void busLinksListen(busLinks *s, const int *listeners, size_t count) {
    closeListeners(s);
    if (!prepareListeners(s->loop, listeners, count))
        serverLog(LL_WARNING, "A socket of the cluster bus cannot be listened on: %s", strerror(errno));
    keepListeners(s, listeners, count);
}

static busLink *oldestStranger(const busLinks *s) {
    busLink *l = s->first;
    while (l && !l->is_stranger) l = l->next;
    return l;
}

static void dropStranger(busLink *l) {
    char peer[64];
    peerText(l, peer, sizeof(peer));
    busCount(&l->set->stats->strangers_dropped, 1);
    LOG_LIMITED(LL_VERBOSE, LOG_LIMIT_FEW, "unknown peers on the cluster bus",
                "Closing a link of the cluster bus from %s: its peer has not become known", peer);
    loseLink(l);
}

/* Ensures that one more stranger is possible. Returns false if all are young. */
static bool strangerMayCome(busLinks *s) {
    if (s->strangers < BUS_STRANGERS_MAX) return true;
    busLink *l = oldestStranger(s);
    if (clockMonotonicMs() - l->made_ms < STRANGER_GRACE_MS) return false;
    dropStranger(l);
    return true;
}

static void acceptLink(busLinks *s, int fd, const char *ip, int port) {
    busLink *l = addLink(s, CLUSTER_LINK_ACCEPTED + ++s->last_accepted, LINK_HANDSHAKE);
    l->is_inbound = l->is_stranger = true;
    s->strangers++;
    snprintf(l->peer_ip, sizeof(l->peer_ip), "%s", ip);
    l->peer_port = port;
    l->conn = s->settings.accept_tls ? connCreateAcceptedTls(fd, s->settings.accept_tls, l)
                                     : connCreateAcceptedSocket(fd, l);
    tune(l);
    if (!loopTakes(s->loop, fd) || connAttach(l->conn, s->loop) == C_ERR) {
        logEnd(l, strerror(errno));
        closeLink(l); /* the machine does not know it yet */
        return;
    }
    connAccept(l->conn, onHandshake);
}

static void onListener(aeEventLoop *loop, int listener, void *arg, int mask) {
    busLinks *s = arg;
    char ip[NODE_IP_LEN], err[ANET_ERR_LEN];
    int port;
    unused(loop), unused(mask);
    for (int i = 0; i < ACCEPTS_PER_EVENT; i++) {
        if (!strangerMayCome(s)) {
            setAccepting(s, false);
            return;
        }
        int fd = anetTcpAccept(err, listener, ip, sizeof(ip), &port);
        if (fd == C_ERR && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
        if (fd == C_ERR) {
            LOG_LIMITED(LL_WARNING, 1, "connections of the cluster bus that could not be accepted",
                        "Error accepting a connection of the cluster bus: %s", err);
            setAccepting(s, false);
            return;
        }
        acceptLink(s, fd, ip, port);
    }
}

/* ---- Connecting -------------------------------------------------------------------------------------------------- */

static bool isAddress(const char *ip) {
    unsigned char address[16];
    return inet_pton(AF_INET, ip, address) == 1 || inet_pton(AF_INET6, ip, address) == 1;
}

static void onConnected(connection *c) {
    busLink *l = c->owner;
    int failure = anetGetError(c->fd);
    if (failure || connSetWriteHandler(c, NULL) == C_ERR) {
        logEnd(l, strerror(failure ? failure : errno));
        loseLink(l);
        return;
    }
    l->state = LINK_HANDSHAKE;
    connAccept(c, onHandshake);
}

void busLinksConnect(busLinks *s, uint64_t link, const char *ip, uint16_t port) {
    char err[ANET_ERR_LEN] = "not an address";
    /* A host name is not looked up: a peer may have sent it, and the resolver blocks. */
    int fd = isAddress(ip) ? anetTcpConnect(err, ip, port, s->settings.source_ip, true) : C_ERR;
    if (fd == C_ERR) {
        serverLog(LL_DEBUG, "Unable to connect to the cluster bus of %s:%u: %s", ip, port, err);
        addLost(s, link);
        return;
    }
    busLink *l = addLink(s, link, LINK_CONNECTING);
    snprintf(l->peer_ip, sizeof(l->peer_ip), "%s", ip);
    l->peer_port = port;
    l->conn = s->settings.connect_tls ? connCreateTlsClient(fd, s->settings.connect_tls, NULL, l)
                                      : connCreateAcceptedSocket(fd, l);
    tune(l);
    if (loopTakes(s->loop, fd) && connAttach(l->conn, s->loop) == C_OK &&
        connSetWriteHandler(l->conn, onConnected) == C_OK)
        return;
    logEnd(l, strerror(errno));
    loseLink(l);
}

/* ---- All links --------------------------------------------------------------------------------------------------- */

void busLinksTick(busLinks *s, uint64_t now_ms) {
    for (busLink *l = s->first, *next; l; l = next) {
        next = l->next;
        if (!l->deadline_ms || now_ms < l->deadline_ms) continue;
        if (l->is_stranger) {
            dropStranger(l);
        } else {
            logEnd(l, "it could not be made in time");
            loseLink(l);
        }
    }
    setAccepting(s, true);
}

size_t busLinksList(busLinks *s, busLinkFigures **list) {
    size_t count = 0, capacity = 0;
    *list = NULL;
    pthread_mutex_lock(&s->list_lock);
    for (const busLink *l = s->first; l; l = l->next) {
        *list = zgrowArray(*list, count, &capacity, sizeof(**list));
        busLinkFigures *f = &(*list)[count++];
        *f = (busLinkFigures){
            .link = l->number,
            .created_ms = l->created_ms,
            .is_inbound = l->number > CLUSTER_LINK_ACCEPTED,
            .is_up = atomic_load_explicit(&l->is_up, memory_order_relaxed),
            .waits_to_write = atomic_load_explicit(&l->waits_to_write, memory_order_relaxed),
            .output_bytes = atomic_load_explicit(&l->output_bytes, memory_order_relaxed),
            .output_memory = atomic_load_explicit(&l->output_memory, memory_order_relaxed),
        };
        f->memory = sizeof(*l) + f->output_memory + atomic_load_explicit(&l->input_memory, memory_order_relaxed);
    }
    pthread_mutex_unlock(&s->list_lock);
    return count;
}

busLinks *busLinksCreate(aeEventLoop *loop, const busSettings *settings, const busLinkHooks *hooks, busStats *stats,
                         const int *listeners, size_t count) {
    if (!prepareListeners(loop, listeners, count)) return NULL;
    busLinks *s = zcalloc(1, sizeof(*s));
    s->loop = loop;
    s->hooks = *hooks;
    s->stats = stats;
    copySettings(&s->settings, settings);
    s->table = dictCreate(&link_type);
    pthread_mutex_init(&s->list_lock, NULL);
    keepListeners(s, listeners, count);
    return s;
}

void busLinksFree(busLinks *s, bool listeners_too) {
    setAccepting(s, false);
    if (listeners_too) closeListeners(s);
    while (s->first) closeLink(s->first);
    freeClosed(s);
    dictRelease(s->table);
    dropContexts(&s->settings);
    pthread_mutex_destroy(&s->list_lock);
    zfree(s->listeners);
    zfree(s->lost);
    zfree(s);
}
