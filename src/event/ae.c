/* ae.c -- the event loop: file descriptors, timers, and hooks around the wait.
 *
 * The header has the order of an iteration. A backend (ae_internal.h), chosen when the loop is created, does the wait.
 *
 * A handler may delete any registration, close the descriptor and open another one that gets the same number, while the
 * list of ready descriptors still has an event for that number. So each registration has a generation, which changes
 * when the last bit of its mask is deleted; an event with another generation is dropped. As waiting is level-triggered,
 * the next wait reports again each descriptor that is still ready.
 *
 * Not here    sockets (anet.c), connections (connection.c).
 * Owns        registrations, timers, the backend's state. Descriptors and handler arguments are borrowed.
 * Threads     the loop's own; wakeups: aeWakeupSend() any.
 * Invariants  1. A handler runs only if its bit is in the mask at that moment, for its own generation, and in a nested
 *                iteration only with AE_REENTRANT.
 *             2. The list of ready descriptors is on the stack, so that a handler may run a nested iteration.
 *             3. A timer runs at most once in an iteration; a timer that is created or scheduled again in an iteration
 *                runs in a later one.
 *             4. The first timer of the heap is due first; among equals the one with the lower ID.
 * Cost        no allocation and no look-up per event; the clock is read twice in an iteration, and not at all without
 *             timers. Deleting a timer is O(timers).
 * Tests       tests/unit/event/ae_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ae_internal.h"
#include "anet.h"
#include "clock.h"
#include "heap.h"
#include "panic.h"
#include "zmalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/eventfd.h>
#endif

#define FIRED_PER_ITERATION 512

typedef struct fileEvent {
    aeFileProc *read_proc, *write_proc; /* read_proc handles AE_INPUT */
    void *read_arg, *write_arg;         /* borrowed until the event is deleted */
    int mask;
    uint32_t generation;
    bool raised; /* by aeRaiseReadable(): the handler is to be called */
    bool listed; /* the loop's list `raised` has it, maybe no longer raised */
} fileEvent;

typedef struct timeEvent {
    uint64_t due_us;
    long long id;
    aeTimeProc *proc;
    void *arg; /* borrowed until the timer is deleted */
} timeEvent;

static bool isSooner(const void *a, const void *b) {
    const timeEvent *t = a, *u = b;
    return t->due_us != u->due_us ? t->due_us < u->due_us : t->id < u->id;
}

static const heapType timer_type = {.size = sizeof(timeEvent), .before = isSooner};

/* A timer whose handler runs; it is not in the heap meanwhile. A nested iteration in a handler adds another one. */
typedef struct runningTimer {
    long long id;
    bool deleted;
    struct runningTimer *outer;
} runningTimer;

struct aeEventLoop {
    const aeBackend *backend;
    void *backend_state; /* owns */
    fileEvent *files;    /* owns; by descriptor */
    int setsize;
    bool dont_wait, stop;
    aeHook *before_sleep, *before_wait, *after_sleep, *after_event, *after_all;
    void *before_sleep_arg, *before_wait_arg, *after_sleep_arg, *after_event_arg, *after_all_arg;
    const aeWakeup *wakeup;  /* borrowed: the one without a function; NULL without one */
    uint64_t waits_until_us; /* when the first timer ends the present wait; 0 if there is no wait to be ended */
    heap timers;             /* owns: timeEvent */
    long long next_timer_id;
    uint64_t timers_now_us; /* while timers run: the time at which this began; else 0 */
    runningTimer *running;
    aeFired *raised; /* owns: a queue; descriptors raised while it is processed are for the next iteration */
    size_t raised_first, raised_end, raised_cap;
    uint64_t iteration;
    int depth; /* nested iterations, the outer one included */
};

/* --------------------------------------------------------------------------- creation and settings */

static const aeBackend *chooseBackend(void) {
#ifdef __linux__
    const char *name = getenv("AE_BACKEND");
    if (!name || strcmp(name, "poll") != 0) return &ae_epoll_backend;
#endif
    return &ae_poll_backend;
}

aeEventLoop *aeCreateEventLoop(int setsize) {
    const aeBackend *backend = chooseBackend();

    serverAssert(setsize > 0);
    void *state = backend->create(setsize);
    if (!state) return NULL;
    aeEventLoop *loop = zcalloc(1, sizeof(*loop));
    loop->backend = backend;
    loop->backend_state = state;
    loop->files = zcalloc((size_t)setsize, sizeof(*loop->files));
    loop->setsize = setsize;
    loop->timers.type = &timer_type;
    return loop;
}

void aeDeleteEventLoop(aeEventLoop *loop) {
    loop->backend->destroy(loop->backend_state);
    zfree(loop->files);
    zfree(loop->timers.at);
    zfree(loop->raised);
    zfree(loop);
}

const char *aeApiName(const aeEventLoop *loop) { return loop->backend->name; }
int aeGetSetSize(const aeEventLoop *loop) { return loop->setsize; }

int aeResizeSetSize(aeEventLoop *loop, int setsize) {
    if (setsize == loop->setsize) return C_OK;
    if (setsize <= 0) return C_ERR;
    for (int fd = setsize; fd < loop->setsize; fd++) {
        if (loop->files[fd].mask != AE_NONE) return C_ERR;
    }
    loop->backend->resize(loop->backend_state, setsize);
    loop->files = zrealloc(loop->files, (size_t)setsize * sizeof(*loop->files));
    if (setsize > loop->setsize)
        memset(loop->files + loop->setsize, 0, (size_t)(setsize - loop->setsize) * sizeof(*loop->files));
    loop->setsize = setsize;
    return C_OK;
}

void aeSetBeforeSleep(aeEventLoop *loop, aeHook *hook, void *arg) {
    loop->before_sleep = hook;
    loop->before_sleep_arg = arg;
}

void aeSetBeforeWait(aeEventLoop *loop, aeHook *hook, void *arg) {
    loop->before_wait = hook;
    loop->before_wait_arg = arg;
}

void aeSetAfterSleep(aeEventLoop *loop, aeHook *hook, void *arg) {
    loop->after_sleep = hook;
    loop->after_sleep_arg = arg;
}

void aeSetAfterEvent(aeEventLoop *loop, aeHook *hook, void *arg) {
    loop->after_event = hook;
    loop->after_event_arg = arg;
}

void aeSetAfterAll(aeEventLoop *loop, aeHook *hook, void *arg) {
    loop->after_all = hook;
    loop->after_all_arg = arg;
}

void aeDontWait(aeEventLoop *loop) { loop->dont_wait = true; }

/* ------------------------------------------------------------------------------------------- files */

/* Changes the mask of fd, in the backend and here. */
static int changeMask(aeEventLoop *loop, int fd, int mask) {
    fileEvent *event = &loop->files[fd];
    int old_io = event->mask & (AE_IO_MASK | AE_EDGE), io = mask & (AE_IO_MASK | AE_EDGE);

    if (old_io != io && loop->backend->change(loop->backend_state, fd, event->generation, old_io, io) != C_OK)
        return C_ERR;
    event->mask = mask;
    return C_OK;
}

int aeCreateFileEvent(aeEventLoop *loop, int fd, int mask, aeFileProc *proc, void *arg) {
    if (fd < 0 || fd >= loop->setsize) {
        errno = ERANGE;
        return C_ERR;
    }
    fileEvent *event = &loop->files[fd];
    serverAssert((mask & AE_IO_MASK) != 0);
    serverAssert((mask & AE_INPUT) != AE_INPUT);
    int others = event->mask & ~(mask & AE_INPUT ? AE_INPUT : 0);
    if (changeMask(loop, fd, others | mask) != C_OK) return C_ERR;
    if (mask & AE_INPUT) {
        event->read_proc = proc;
        event->read_arg = arg;
    }
    if (mask & AE_WRITABLE) {
        event->write_proc = proc;
        event->write_arg = arg;
    }
    return C_OK;
}

void aeDeleteFileEvent(aeEventLoop *loop, int fd, int mask) {
    if (fd < 0 || fd >= loop->setsize) return;
    fileEvent *event = &loop->files[fd];
    if (event->mask == AE_NONE) return;
    int left = event->mask & ~mask;
    if (!(left & AE_IO_MASK)) left = AE_NONE;
    /* The kernel refuses only if the descriptor was closed, and then it has already removed the registration. */
    if (changeMask(loop, fd, left) != C_OK) event->mask = left;
    if (left != AE_NONE) return;
    event->generation++;
    event->raised = event->listed = false;
}

int aeGetFileEvents(const aeEventLoop *loop, int fd) {
    return fd >= 0 && fd < loop->setsize ? loop->files[fd].mask & AE_IO_MASK : AE_NONE;
}

static void listRaised(aeEventLoop *loop, aeFired entry) {
    if (loop->raised_end == loop->raised_cap && loop->raised_first > 0) {
        loop->raised_end -= loop->raised_first;
        memmove(loop->raised, loop->raised + loop->raised_first, loop->raised_end * sizeof(*loop->raised));
        loop->raised_first = 0;
    }
    loop->raised = zgrowArray(loop->raised, loop->raised_end, &loop->raised_cap, sizeof(*loop->raised));
    loop->raised[loop->raised_end++] = entry;
}

void aeRaiseReadable(aeEventLoop *loop, int fd, bool raised) {
    if (fd < 0 || fd >= loop->setsize) return;
    fileEvent *event = &loop->files[fd];
    event->raised = raised && event->mask != AE_NONE;
    if (!event->raised || event->listed) return;
    event->listed = true;
    listRaised(loop, (aeFired){.fd = fd, .generation = event->generation, .mask = AE_READABLE});
}

uint64_t aeIteration(const aeEventLoop *loop) { return loop->iteration; }

/* Returns whether the handlers of a registration may not run now because the iteration is nested. */
static bool mustWait(const aeEventLoop *loop, const fileEvent *event) {
    return loop->depth > 1 && !(event->mask & AE_REENTRANT);
}

/* Runs the handler of one direction if it is still registered. Indexes the table anew, because a previous handler may
 * have resized it. Returns the handler, or NULL if none ran. */
static aeFileProc *dispatch(aeEventLoop *loop, const aeFired *fired, int direction) {
    if (unlikely(fired->fd >= loop->setsize)) return NULL;
    const fileEvent *event = &loop->files[fired->fd];

    if (!(event->mask & fired->mask & direction) || event->generation != fired->generation) return NULL;
    if (unlikely(mustWait(loop, event))) return NULL; /* the next wait reports it again */
    aeFileProc *proc = direction == AE_INPUT ? event->read_proc : event->write_proc;
    proc(loop, fired->fd, direction == AE_INPUT ? event->read_arg : event->write_arg, fired->mask & event->mask);
    return proc;
}

/* Returns whether both directions are registered and ready, and have the same handler and argument. */
static bool isOneCall(const aeEventLoop *loop, const aeFired *fired) {
    const fileEvent *event = &loop->files[fired->fd];
    int ready = event->mask & fired->mask;
    return ready & AE_INPUT && ready & AE_WRITABLE && event->read_proc == event->write_proc &&
           event->read_arg == event->write_arg;
}

/* Runs the handlers of one ready descriptor; a handler that serves both directions runs once. Returns 1 if any ran. */
static int dispatchBoth(aeEventLoop *loop, const aeFired *fired) {
    if (unlikely(fired->fd >= loop->setsize)) return 0;
    bool once = fired->mask & AE_WRITABLE && isOneCall(loop, fired);
    aeFileProc *first = dispatch(loop, fired, AE_INPUT);
    aeFileProc *second = first && once ? NULL : dispatch(loop, fired, AE_WRITABLE);

    if (loop->after_event) loop->after_event(loop, loop->after_event_arg);
    return first || second;
}

/* Handles the first `n` descriptors of the `raised` list, which were raised before the iteration's handlers ran. */
static int dispatchRaised(aeEventLoop *loop, size_t n) {
    int handled = 0;

    for (; n > 0 && loop->raised_first < loop->raised_end; n--) {
        aeFired next = loop->raised[loop->raised_first++];
        fileEvent *event = next.fd < loop->setsize ? &loop->files[next.fd] : NULL;
        if (!event || event->generation != next.generation) continue;
        bool raised = event->raised;
        event->raised = event->listed = false;
        if (raised && mustWait(loop, event)) aeRaiseReadable(loop, next.fd, true);
        else if (raised) handled += dispatchBoth(loop, &next);
    }
    if (loop->raised_first == loop->raised_end) loop->raised_first = loop->raised_end = 0;
    return handled;
}

/* ------------------------------------------------------------------------------------------ timers */

/* Returns when the first timer is due, UINT64_MAX if there is none. */
static uint64_t firstDue(const aeEventLoop *loop) {
    return loop->timers.count ? ((const timeEvent *)loop->timers.at)->due_us : UINT64_MAX;
}

/* Returns when a timer that is to run after `after_ms` is due. That is never while the present timers run. */
static uint64_t dueTime(const aeEventLoop *loop, long long after_ms) {
    uint64_t now = clockMonotonicUs();

    if (now <= loop->timers_now_us) now = loop->timers_now_us + 1;
    if (after_ms <= 0) return now;
    return (uint64_t)after_ms > (UINT64_MAX - now) / 1000 ? UINT64_MAX : now + (uint64_t)after_ms * 1000;
}

long long aeCreateTimeEvent(aeEventLoop *loop, long long after_ms, aeTimeProc *proc, void *arg) {
    long long id = loop->next_timer_id++;

    timeEvent timer = {.due_us = dueTime(loop, after_ms), .id = id, .proc = proc, .arg = arg};
    heapAdd(&loop->timers, &timer);
    if (unlikely(timer.due_us < loop->waits_until_us) && loop->wakeup) aeWakeupSend(loop->wakeup);
    return id;
}

int aeDeleteTimeEvent(aeEventLoop *loop, long long id) {
    for (runningTimer *running = loop->running; running; running = running->outer) {
        if (running->id != id) continue;
        if (running->deleted) return C_ERR;
        running->deleted = true;
        return C_OK;
    }
    const timeEvent *timers = loop->timers.at;
    for (size_t i = 0; i < loop->timers.count; i++) {
        if (timers[i].id != id) continue;
        heapRemove(&loop->timers, i);
        return C_OK;
    }
    return C_ERR;
}

static void runTimer(aeEventLoop *loop, timeEvent timer) {
    runningTimer running = {.id = timer.id, .outer = loop->running};

    loop->running = &running;
    long long again_ms = timer.proc(loop, timer.id, timer.arg);
    loop->running = running.outer;
    if (again_ms == AE_NOMORE || running.deleted) return;
    timer.due_us = dueTime(loop, again_ms);
    heapAdd(&loop->timers, &timer);
}

static int runDueTimers(aeEventLoop *loop) {
    int handled = 0;

    if (loop->timers.count == 0) return 0;
    uint64_t now = clockMonotonicUs(), outer_now = loop->timers_now_us;
    loop->timers_now_us = now;
    while (firstDue(loop) <= now) {
        timeEvent timer = *(const timeEvent *)loop->timers.at;
        heapRemove(&loop->timers, 0);
        runTimer(loop, timer);
        handled++;
    }
    loop->timers_now_us = outer_now;
    return handled;
}

/* -------------------------------------------------------------------------------------- iterations */

/* Returns the timeout in ms: until the first timer, rounded up so that it is due then; -1 without a timer; 0 if the
 * loop is not to wait. */
static int waitLimit(const aeEventLoop *loop, int flags) {
    if ((flags & AE_DONT_WAIT) || loop->dont_wait) return 0;
    if (!(flags & AE_TIME_EVENTS) || loop->timers.count == 0) return flags & AE_FILE_EVENTS ? -1 : 0;
    uint64_t now = clockMonotonicUs(), due = firstDue(loop);
    if (due <= now) return 0;
    uint64_t ms = (due - now - 1) / 1000 + 1;
    return ms > INT_MAX ? INT_MAX : (int)ms;
}

static int processEvents(aeEventLoop *loop, int flags) {
    aeFired fired[FIRED_PER_ITERATION];
    int count = 0, handled = 0;

    if (loop->before_sleep) loop->before_sleep(loop, loop->before_sleep_arg);
    if (unlikely(loop->stop)) return 0; /* before_sleep has called aeStop(): no wait */
    int timeout_ms = waitLimit(loop, flags);
    /* A timer that is created during the wait and due before the first one must end the wait. */
    loop->waits_until_us = timeout_ms && flags & AE_TIME_EVENTS ? firstDue(loop) : 0;
    if (loop->before_wait) loop->before_wait(loop, loop->before_wait_arg);
    if (loop->dont_wait || (flags & AE_FILE_EVENTS && loop->raised_end)) timeout_ms = 0;
    loop->dont_wait = false;
    loop->iteration++;
    if (flags & AE_FILE_EVENTS)
        count = loop->backend->wait(loop->backend_state, timeout_ms, fired, FIRED_PER_ITERATION);
    else if (timeout_ms > 0) poll(NULL, 0, timeout_ms);
    if (loop->after_sleep) loop->after_sleep(loop, loop->after_sleep_arg);
    loop->waits_until_us = 0;

    size_t raised = flags & AE_FILE_EVENTS ? loop->raised_end - loop->raised_first : 0;
    for (int i = 0; i < count; i++) handled += dispatchBoth(loop, &fired[i]);
    if (unlikely(raised)) handled += dispatchRaised(loop, raised);
    if (unlikely(loop->after_all != NULL)) loop->after_all(loop, loop->after_all_arg);
    if (flags & AE_TIME_EVENTS) handled += runDueTimers(loop);
    return handled;
}

int aeProcessEvents(aeEventLoop *loop, int flags) {
    if (!(flags & AE_ALL_EVENTS)) return 0;
    loop->depth++;
    int handled = processEvents(loop, flags);
    loop->depth--;
    return handled;
}

void aeMain(aeEventLoop *loop) {
    loop->stop = false;
    while (!loop->stop) aeProcessEvents(loop, AE_ALL_EVENTS);
}

void aeStop(aeEventLoop *loop) { loop->stop = true; }

int aeWait(int fd, int mask, long long timeout_ms) {
    struct pollfd polled = {.fd = fd};
    uint64_t start_ms = clockMonotonicMs();
    long long left_ms = timeout_ms;
    int ready;

    if (mask & AE_READABLE) polled.events |= POLLIN;
    if (mask & AE_WRITABLE) polled.events |= POLLOUT;
    while ((ready = poll(&polled, 1, left_ms > INT_MAX ? INT_MAX : (int)left_ms)) == -1 && errno == EINTR) {
        if (timeout_ms < 0) continue;
        left_ms = timeout_ms - (long long)(clockMonotonicMs() - start_ms);
        if (left_ms < 0) left_ms = 0;
    }
    if (ready <= 0) return ready;
    int result = AE_NONE;
    if (polled.revents & POLLIN) result |= AE_READABLE;
    if (polled.revents & POLLOUT) result |= AE_WRITABLE;
    if (polled.revents & (POLLERR | POLLHUP | POLLNVAL)) result |= mask & (AE_READABLE | AE_WRITABLE);
    return result;
}

/* --------------------------------------------------------------------------------------- wakeups */

static int openDescriptors(aeWakeup *wakeup) {
#ifdef __linux__
    wakeup->read_fd = wakeup->write_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    return wakeup->read_fd == -1 ? C_ERR : C_OK;
#else
    int fds[2], opened = anetPipe(fds, O_NONBLOCK | O_CLOEXEC, O_NONBLOCK | O_CLOEXEC);
    wakeup->read_fd = opened == C_OK ? fds[0] : -1;
    wakeup->write_fd = opened == C_OK ? fds[1] : -1;
    return opened;
#endif
}

void aeWakeupClose(aeWakeup *wakeup) {
    if (wakeup->read_fd != -1) close(wakeup->read_fd);
    if (wakeup->write_fd != wakeup->read_fd) close(wakeup->write_fd);
    wakeup->read_fd = wakeup->write_fd = -1;
}

void aeWakeupSend(const aeWakeup *wakeup) {
    const uint64_t one = 1; /* an eventfd takes 8 bytes; if it or the pipe is full, the wakeup was sent already */
    int saved = errno;

    while (write(wakeup->write_fd, &one, sizeof(one)) == -1 && errno == EINTR) continue;
    errno = saved;
}

static void clearWakeup(const aeWakeup *wakeup) {
    char sink[256];
    ssize_t got;

    do got = read(wakeup->read_fd, sink, sizeof(sink));
    while (got == (ssize_t)sizeof(sink) || (got == -1 && errno == EINTR));
}

/* A wakeup without a function only has to end the wait. If the backend is edge-triggered it need not be read: that
 * saves a system call for each wakeup. */
static void onWakeup(aeEventLoop *loop, int fd, void *arg, int mask) {
    const aeWakeup *wakeup = arg;
    unused(fd), unused(mask);
    if (wakeup->woken || !loop->backend->edges) clearWakeup(wakeup);
    if (wakeup->woken) wakeup->woken();
}

int aeWakeupOpen(aeEventLoop *loop, aeWakeup *wakeup, void (*woken)(void)) {
    int mask = AE_READABLE | (woken ? 0 : AE_REENTRANT | (loop->backend->edges ? AE_EDGE : 0));

    if (openDescriptors(wakeup) == C_ERR) return C_ERR;
    if (wakeup->read_fd >= aeGetSetSize(loop)) aeResizeSetSize(loop, wakeup->read_fd + 1);
    wakeup->woken = woken;
    if (!woken) loop->wakeup = wakeup;
    return aeCreateFileEvent(loop, wakeup->read_fd, mask, onWakeup, wakeup);
}
