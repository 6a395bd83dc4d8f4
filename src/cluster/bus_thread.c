/* bus_thread.c -- the bus: a thread that has the links to other nodes, and steps the machine for what happens on them.
 *
 * Each step, of whatever thread, sorts its actions under the lock: those for the bus into one list, those for main into
 * another. So either side executes them in the order of the steps, also where steps of two threads follow each other
 * closely. The bus thread takes its list after each step of its own, and when it is woken for those of others.
 *
 * A tick finds out whether main runs its loop (bus_liveness.c). While main is stuck the thread stays in that tick: then
 * it neither reads, writes, accepts nor steps, and what peers send waits in the sockets.
 *
 * Not here    sockets and links (bus_links.c); decisions (the handler, which is the machine of cluster_core).
 * Owns        the thread, its loop, the actions until they are executed or taken.
 * Threads     the bus thread `cluster_bus`; callers of busStep().
 * Invariants  1. The handler is called under `lock` only, and no step begins while actions are being executed.
 *             2. References of a frame for the bus are changed under the lock before the frame is handed over, and by
 *                the bus thread after that.
 *             3. An action for main that was added to an empty list by another thread than main has woken main.
 * Cost        two lock operations for each frame.
 * Tests       tests/unit/cluster/bus_thread_test.c, bus_machine_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "bus_thread.h"

#include "bus_liveness.h"
#include "bus_lock.h"
#include "clock.h"
#include "log_limit.h"
#include "panic.h"
#include "thread.h"
#include "zmalloc.h"

#include <errno.h>
#include <unistd.h>

#define TICK_MS 100
#define LOOP_DESCRIPTORS 1024 /* grows */
#define LOG_LINES 1000        /* of a level in a minute */
#define WAITING_MAX 262144    /* actions in a list from which on messages are dropped */
#define KEPT_ACTIONS 4096     /* a list with more capacity is freed when it is empty */

struct clusterBus {
    /* const after start */
    busHandler handler;
    const aeWakeup *main_wakeup; /* borrowed; may be NULL */
    pthread_t thread;
    aeWakeup wakeup; /* of the bus thread */

    /* under lock */
    busLock lock;
    clusterActions step, for_bus, for_main; /* of the present step, unsorted; to be executed */
    size_t message_limit;         /* bytes of messages in either list from which on more of them are dropped */
    size_t bus_bytes, main_bytes; /* of messages in the lists; a block of several actions counts once */
    int dropped_type;             /* of frames that the machine does not get: BUS_... or BUS_DROP_... */
    bool drop_closes;             /* and their links are closed */

    /* under settings_lock, which is held to copy them; no other lock is taken meanwhile */
    pthread_mutex_t settings_lock;
    busSettings settings;
    bool has_settings; /* the bus thread has not taken them yet */
    int *listeners;    /* owns, and the descriptors; taken with has_listeners */
    size_t listener_count;
    bool has_listeners;
    clusterLocal local;

    /* atomic */
    alignas(CACHE_LINE) _Atomic uint64_t main_count; /* relaxed: main's loop iterations */
    alignas(CACHE_LINE) _Atomic bool must_look;      /* release and acquire: there are actions or settings */
    _Atomic bool must_stop;                          /* release and acquire */
    _Atomic bool is_listening;                       /* release and acquire: the sockets of before are closed */

    /* bus thread */
    aeEventLoop *loop; /* owns */
    busLinks *links;   /* owns */
    clusterActions taken;
    bool is_executing;
    livenessJudge judge;
    uint64_t node_timeout_ms;
    busStats stats;
};

/* ---- Actions ----------------------------------------------------------------------------------------------------- */

static void addAction(clusterActions *to, const clusterAction *a) {
    to->list = zgrowArray(to->list, to->count, &to->capacity, sizeof(*to->list));
    to->list[to->count++] = *a;
}

static bool isForBus(const clusterAction *a) {
    return a->kind == CLUSTER_CONNECT || a->kind == CLUSTER_CLOSE || a->kind == CLUSTER_SEND || a->kind == CLUSTER_LOG;
}

/* Returns whether a message may wait in a list, and counts it. */
static bool mayWait(clusterBus *b, const clusterActions *list, size_t *waiting_bytes, const frameBlock *frame) {
    const clusterAction *last = list->count ? &list->list[list->count - 1] : NULL;
    size_t len = last && last->frame == frame ? 0 : sdsLen(frame->bytes);
    bool is_full = b->message_limit && *waiting_bytes && len && *waiting_bytes + len > b->message_limit;
    if (list->count >= WAITING_MAX || is_full) {
        busCount(&b->stats.messages_refused, 1);
        return false;
    }
    *waiting_bytes += len;
    return true;
}

/* Adds an action to the list of main. The frame of a DELIVER is that of the step's event, which is taken only once. */
static void addForMain(clusterBus *b, clusterAction *a, frameBlock **delivered) {
    if (a->kind == CLUSTER_DELIVER && !a->frame) {
        if (!*delivered) {
            *delivered = zmalloc(sizeof(**delivered));
            **delivered = (frameBlock){.references = 1, .bytes = busLinksTakeFrame(b->links)};
        }
        a->frame = *delivered;
        a->frame->references++;
    }
    if (a->kind != CLUSTER_DELIVER || mayWait(b, &b->for_main, &b->main_bytes, a->frame)) addAction(&b->for_main, a);
    else frameBlockRelease(a->frame);
}

/* Moves the actions of a step to the two lists. The messages of a step of the bus thread do not wait. */
static void sortActions(clusterBus *b, bool on_bus) {
    frameBlock *delivered = NULL;
    for (size_t i = 0; i < b->step.count; i++) {
        clusterAction *a = &b->step.list[i];
        bool is_message = a->kind == CLUSTER_SEND && busIsMessage(a->frame->bytes);
        if (!isForBus(a)) addForMain(b, a, &delivered);
        else if (on_bus || !is_message || mayWait(b, &b->for_bus, &b->bus_bytes, a->frame)) addAction(&b->for_bus, a);
        else frameBlockRelease(a->frame);
    }
    if (delivered) frameBlockRelease(delivered);
    b->step.count = 0; /* all that they own has been moved */
}

static clusterTime timeNow(void) { return (clusterTime){.mono_ms = clockMonotonicMs(), .wall_ms = clockWallMs()}; }

/* Exchanges a list with an empty one. */
static void moveActions(clusterActions *to, clusterActions *from) {
    clusterActions empty = *to;
    serverAssert(empty.count == 0);
    *to = *from;
    *from = empty;
}

static void wakeMain(const clusterBus *b) {
    if (b->main_wakeup) aeWakeupSend(b->main_wakeup);
}

/* ---- Steps of the bus thread ------------------------------------------------------------------------------------- */

/* Logs a line of the machine. Peers can cause many of them. */
static void logAction(const clusterAction *a) {
    static logLimit notices = {.level = LL_NOTICE, .lines = LOG_LINES, .kind = "notices about the cluster"};
    static logLimit warnings = {.level = LL_WARNING, .lines = LOG_LINES, .kind = "warnings about the cluster"};
    if (a->level < LL_NOTICE) serverLog((logLevel)a->level, "%s", a->text);
    else serverLogLimited(a->level == LL_NOTICE ? &notices : &warnings, "%s", a->text);
}

/* Executes what waits for the bus thread, in order. */
static void execute(clusterBus *b) {
    b->is_executing = true;
    for (size_t i = 0; i < b->taken.count; i++) {
        clusterAction *a = &b->taken.list[i];
        switch (a->kind) {
        case CLUSTER_CONNECT: busLinksConnect(b->links, a->link, a->ip, a->port); break;
        case CLUSTER_CLOSE: busLinksClose(b->links, a->link); break;
        case CLUSTER_SEND:
            busLinksSendTake(b->links, a->link, a->frame);
            a->frame = NULL;
            break;
        case CLUSTER_LOG: logAction(a); break;
        default: break;
        }
    }
    if (b->taken.capacity > KEPT_ACTIONS) clusterActionsFree(&b->taken);
    else clusterActionsClear(&b->taken);
    b->is_executing = false;
}

static void takeForBus(clusterBus *b) {
    moveActions(&b->taken, &b->for_bus);
    b->bus_bytes = 0;
}

static bool isDropped(const clusterBus *b, const busFrame *frame) {
    return frame && (b->dropped_type == BUS_DROP_ALL || b->dropped_type == (int)frame->type);
}

/* Logs that a frame is thrown away, and closes its link if that is wanted. */
static void dropFrame(clusterBus *b, const clusterEvent *event, bool close_link) {
    LOG_LIMITED(LL_WARNING, LOG_LIMIT_FEW, "frames dropped because of DEBUG DROP-CLUSTER-PACKET-FILTER",
                "Dropping a frame of the cluster bus of type %s, because of DEBUG DROP-CLUSTER-PACKET-FILTER",
                busTypeName(event->frame->type));
    if (close_link) busLinksLose(b->links, event->link);
}

/* Steps the machine on the bus thread, and executes what it asks of the bus. Returns whether the stranger whose frame
 * it was is known now. */
static bool stepHere(clusterBus *b, const clusterEvent *event, bool of_stranger) {
    serverAssert(!b->is_executing);
    busLockTake(&b->lock);
    if (isDropped(b, event->frame)) {
        bool close_link = b->drop_closes;
        busLockGive(&b->lock);
        dropFrame(b, event, close_link);
        return false;
    }
    bool main_waits = b->for_main.count > 0;
    b->handler.step(b->handler.arg, timeNow(), event, &b->step);
    bool known = of_stranger && b->handler.knows_peer(b->handler.arg, event->link);
    sortActions(b, true);
    bool wake = !main_waits && b->for_main.count > 0;
    takeForBus(b);
    busLockGive(&b->lock);
    if (wake) wakeMain(b);
    execute(b);
    return known;
}

static void onUp(void *arg, uint64_t link, const char *ip, const char *peer_ip) {
    clusterEventKind kind = link > CLUSTER_LINK_ACCEPTED ? CLUSTER_ACCEPTED : CLUSTER_LINK_UP;
    stepHere(arg, &(clusterEvent){.kind = kind, .link = link, .ip = ip, .peer_ip = peer_ip}, false);
}

static bool onFrame(void *arg, uint64_t link, const busFrame *frame, bool of_stranger) {
    return stepHere(arg, &(clusterEvent){.kind = CLUSTER_FRAME, .link = link, .frame = frame}, of_stranger);
}

static void onLost(void *arg, uint64_t link) {
    stepHere(arg, &(clusterEvent){.kind = CLUSTER_LINK_DOWN, .link = link}, false);
}

/* ---- The loop ---------------------------------------------------------------------------------------------------- */

static void takeSettings(clusterBus *b) {
    busSettings settings;
    pthread_mutex_lock(&b->settings_lock);
    bool changed = b->has_settings;
    settings = b->settings;
    b->has_settings = false;
    pthread_mutex_unlock(&b->settings_lock);
    if (!changed) return;
    b->node_timeout_ms = settings.node_timeout_ms;
    busLinksConfigure(b->links, &settings);
    tlsContextRelease(settings.accept_tls); /* those of busConfigure() */
    tlsContextRelease(settings.connect_tls);
}

static void takeListeners(clusterBus *b) {
    pthread_mutex_lock(&b->settings_lock);
    bool changed = b->has_listeners;
    int *listeners = b->listeners;
    size_t count = b->listener_count;
    b->has_listeners = false;
    b->listeners = NULL;
    pthread_mutex_unlock(&b->settings_lock);
    if (!changed) return;
    busLinksListen(b->links, listeners, count);
    zfree(listeners);
    atomic_store_explicit(&b->is_listening, count > 0, memory_order_release);
}

/* Takes what other threads have left. */
static void lookForWork(clusterBus *b) {
    if (!atomic_exchange_explicit(&b->must_look, false, memory_order_acq_rel)) return;
    takeSettings(b);
    takeListeners(b);
    busLockTake(&b->lock);
    takeForBus(b);
    busLockGive(&b->lock);
    execute(b);
}

static bool mustStop(const clusterBus *b) { return atomic_load_explicit(&b->must_stop, memory_order_acquire); }

static void beforeSleep(aeEventLoop *loop, void *arg) {
    clusterBus *b = arg;
    if (mustStop(b)) {
        aeStop(loop);
        return;
    }
    lookForWork(b);
    for (clusterEvent event; b->handler.next_event && b->handler.next_event(b->handler.arg, &event);)
        stepHere(b, &event, false);
    busLinksReportLost(b->links);
    if (busLinksFlush(b->links)) aeDontWait(loop);
}

static mainLiveness lookAtMain(clusterBus *b) {
    uint64_t count = atomic_load_explicit(&b->main_count, memory_order_relaxed);
    mainLiveness state = livenessLook(&b->judge, count, clockMonotonicMs(), b->node_timeout_ms);
    if (state == MAIN_ASK) wakeMain(b);
    return state;
}

/* Waits until main runs again. Returns whether it was stuck. */
static bool waitForMain(clusterBus *b) {
    if (lookAtMain(b) != MAIN_STUCK) return false;
    uint64_t since_ms = b->judge.since_ms;
    serverLog(LL_WARNING, "The main thread has not run its loop for %llu ms: the cluster bus stops answering",
              (unsigned long long)b->node_timeout_ms);
    do aeWait(b->wakeup.read_fd, AE_NONE, TICK_MS); /* only passes the time */
    while (!mustStop(b) && lookAtMain(b) == MAIN_STUCK);
    serverLog(LL_NOTICE, "The main thread runs again after %llu ms: the cluster bus answers",
              (unsigned long long)(clockMonotonicMs() - since_ms));
    return true;
}

static long long onTick(aeEventLoop *loop, long long id, void *arg) {
    clusterBus *b = arg;
    unused(loop), unused(id);
    /* After a time without reading, the frames that wait come before the tick that asks which nodes are silent. */
    if (waitForMain(b)) return TICK_MS;
    pthread_mutex_lock(&b->settings_lock);
    clusterLocal local = b->local;
    pthread_mutex_unlock(&b->settings_lock);
    stepHere(b, &(clusterEvent){.kind = CLUSTER_TICK, .local = &local}, false);
    busLinksTick(b->links, clockMonotonicMs());
    return TICK_MS;
}

static void busMain(void *arg) {
    clusterBus *b = arg;
    aeCreateTimeEvent(b->loop, TICK_MS, onTick, b);
    aeMain(b->loop);
}

/* ---- Other threads ----------------------------------------------------------------------------------------------- */

static void wakeBus(clusterBus *b) {
    if (!atomic_exchange_explicit(&b->must_look, true, memory_order_acq_rel)) aeWakeupSend(&b->wakeup);
}

static void takeForMain(clusterBus *b, clusterActions *actions) {
    moveActions(actions, &b->for_main);
    b->main_bytes = 0;
}

void busStep(clusterBus *b, const clusterEvent *event, clusterActions *actions) {
    busLockTake(&b->lock);
    bool main_waits = b->for_main.count > 0;
    b->handler.step(b->handler.arg, timeNow(), event, &b->step);
    sortActions(b, false);
    bool wake_bus = b->for_bus.count > 0, wake_main = !actions && !main_waits && b->for_main.count > 0;
    if (actions) takeForMain(b, actions);
    busLockGive(&b->lock);
    if (wake_bus) wakeBus(b);
    if (wake_main) wakeMain(b);
}

void busTakeActions(clusterBus *b, clusterActions *actions) {
    busLockTake(&b->lock);
    takeForMain(b, actions);
    busLockGive(&b->lock);
}

void busLockMachine(clusterBus *b) { busLockTake(&b->lock); }
void busUnlockMachine(clusterBus *b) { busLockGive(&b->lock); }

void busConfigure(clusterBus *b, const busSettings *settings) {
    busSettings unused_ones = {0};
    if (settings->accept_tls) tlsContextRetain(settings->accept_tls);
    if (settings->connect_tls) tlsContextRetain(settings->connect_tls);
    pthread_mutex_lock(&b->settings_lock);
    if (b->has_settings) unused_ones = b->settings;
    b->settings = *settings;
    b->has_settings = true;
    pthread_mutex_unlock(&b->settings_lock);
    tlsContextRelease(unused_ones.accept_tls);
    tlsContextRelease(unused_ones.connect_tls);
    busLockTake(&b->lock);
    b->message_limit = settings->message_limit;
    busLockGive(&b->lock);
    wakeBus(b);
}

/* Drops the listening sockets that the bus thread has not taken. */
static void dropListeners(clusterBus *b) {
    for (size_t i = 0; b->has_listeners && i < b->listener_count; i++) close(b->listeners[i]);
    zfree(b->listeners);
    b->listeners = NULL;
    b->has_listeners = false;
}

void busListen(clusterBus *b, const int *listeners, size_t count) {
    int *copy = zmalloc((count + 1) * sizeof(*copy));
    if (count) memcpy(copy, listeners, count * sizeof(*copy));
    pthread_mutex_lock(&b->settings_lock);
    dropListeners(b);
    b->listeners = copy;
    b->listener_count = count;
    b->has_listeners = true;
    pthread_mutex_unlock(&b->settings_lock);
    wakeBus(b);
}

bool busIsListening(const clusterBus *b) { return atomic_load_explicit(&b->is_listening, memory_order_acquire); }

void busDropFrames(clusterBus *b, int type, bool close_links) {
    busLockTake(&b->lock);
    b->dropped_type = type;
    b->drop_closes = close_links;
    busLockGive(&b->lock);
}

/* The machine forgets the link at once; frames that arrive until the bus thread closes it are of an unknown link. */
void busCloseLink(clusterBus *b, uint64_t link) {
    busStep(b, &(clusterEvent){.kind = CLUSTER_LINK_DOWN, .link = link}, NULL);
    busLockTake(&b->lock);
    addAction(&b->for_bus, &(clusterAction){.kind = CLUSTER_CLOSE, .link = link});
    busLockGive(&b->lock);
    wakeBus(b);
}

void busMainRuns(clusterBus *b) { busCount(&b->main_count, 1); }

void busPublishLocal(clusterBus *b, const clusterLocal *local) {
    if (pthread_mutex_trylock(&b->settings_lock) != 0) return;
    b->local = *local;
    pthread_mutex_unlock(&b->settings_lock);
}

const busStats *busCounters(const clusterBus *b) { return &b->stats; }
size_t busListLinks(clusterBus *b, busLinkFigures **list) { return busLinksList(b->links, list); }

/* ---- Start and end ----------------------------------------------------------------------------------------------- */

static void release(clusterBus *b, bool listeners_too) {
    if (b->links) busLinksFree(b->links, listeners_too);
    if (b->has_settings) {
        tlsContextRelease(b->settings.accept_tls);
        tlsContextRelease(b->settings.connect_tls);
    }
    dropListeners(b);
    aeWakeupClose(&b->wakeup);
    if (b->loop) aeDeleteEventLoop(b->loop);
    clusterActionsFree(&b->step);
    clusterActionsFree(&b->for_bus);
    clusterActionsFree(&b->for_main);
    clusterActionsFree(&b->taken);
    pthread_mutex_destroy(&b->settings_lock);
    busLockDestroy(&b->lock);
    zfree(b);
}

/* Makes the loop and the links of a bus. Returns false with errno on failure. */
static bool prepare(clusterBus *b, const busPlan *plan) {
    b->loop = aeCreateEventLoop(LOOP_DESCRIPTORS);
    if (!b->loop || aeWakeupOpen(b->loop, &b->wakeup, NULL) == C_ERR) return false;
    aeSetBeforeSleep(b->loop, beforeSleep, b);
    busLinkHooks hooks = {.arg = b, .up = onUp, .frame = onFrame, .lost = onLost};
    b->links = busLinksCreate(b->loop, &plan->settings, &hooks, &b->stats, plan->listeners, plan->listener_count);
    return b->links != NULL;
}

clusterBus *busStart(const busPlan *plan) {
    clusterBus *b = zmallocAligned(CACHE_LINE, sizeof(*b));
    memset(b, 0, sizeof(*b));
    b->handler = plan->handler;
    b->main_wakeup = plan->main_wakeup;
    b->message_limit = plan->settings.message_limit;
    b->dropped_type = BUS_DROP_NONE;
    atomic_init(&b->is_listening, plan->listener_count > 0);
    b->node_timeout_ms = plan->settings.node_timeout_ms;
    b->wakeup = (aeWakeup){.read_fd = -1, .write_fd = -1};
    busLockInit(&b->lock);
    pthread_mutex_init(&b->settings_lock, NULL);
    int error = prepare(b, plan) ? 0 : errno;
    if (!error)
        error = threadStart(&b->thread, &(threadPlan){.name = "cluster_bus", .cpulist = plan->cpulist}, busMain, b);
    if (!error) return b;
    release(b, false);
    errno = error;
    return NULL;
}

void busStop(clusterBus *b) {
    atomic_store_explicit(&b->must_stop, true, memory_order_release);
    aeWakeupSend(&b->wakeup);
    pthread_join(b->thread, NULL);
    release(b, true);
}

const aeWakeup *busWakeup(const clusterBus *b) { return &b->wakeup; }
