/* ae_epoll.c -- the backend that waits with epoll(7), level-triggered except for wakeups.
 *
 * The kernel returns the registration's generation together with the descriptor (data.u64), so that the loop recognizes
 * an event for an earlier registration of the same descriptor.
 *
 * Owns        the epoll descriptor and the array of events.
 * Threads     the loop's.
 * Cost        one system call per change of a mask, one per wait.
 * Tests       tests/unit/event/ae_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ae_internal.h"

#ifdef __linux__
#include "panic.h"
#include "zmalloc.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define EVENTS_PER_WAIT 512

typedef struct epollState {
    int epfd; /* owns */
    struct epoll_event events[EVENTS_PER_WAIT];
} epollState;

static void *epollCreate(int setsize) {
    int epfd = epoll_create1(EPOLL_CLOEXEC);

    unused(setsize);
    if (epfd == -1) return NULL;
    epollState *state = zmalloc(sizeof(*state));
    state->epfd = epfd;
    return state;
}

static void epollDestroy(void *p) {
    epollState *state = p;

    close(state->epfd);
    zfree(state);
}

static void epollResize(void *p, int setsize) {
    unused(p);
    unused(setsize);
}

static int epollChange(void *p, int fd, uint32_t generation, int old_mask, int mask) {
    epollState *state = p;
    struct epoll_event event = {0};

    if (mask & AE_READABLE) event.events |= EPOLLIN;
    if (mask & AE_WRITABLE) event.events |= EPOLLOUT;
    if (mask & AE_HANGUP) event.events |= EPOLLRDHUP;
    if (mask & AE_EDGE) event.events |= EPOLLET;
    event.data.u64 = (uint64_t)generation << 32 | (uint32_t)fd;
    int op = mask == AE_NONE ? EPOLL_CTL_DEL : old_mask == AE_NONE ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
    return epoll_ctl(state->epfd, op, fd, &event) == 0 ? C_OK : C_ERR;
}

static int epollWait(void *p, int timeout_ms, aeFired *fired, int max) {
    epollState *state = p;
    int count = epoll_wait(state->epfd, state->events, max < EVENTS_PER_WAIT ? max : EVENTS_PER_WAIT, timeout_ms);

    if (count == -1 && errno != EINTR) serverPanic("The event loop cannot wait: epoll_wait: %s", strerror(errno));
    for (int i = 0; i < count; i++) {
        const struct epoll_event *event = &state->events[i];
        int mask = AE_NONE;
        if (event->events & EPOLLIN) mask |= AE_READABLE;
        if (event->events & EPOLLOUT) mask |= AE_WRITABLE;
        if (event->events & EPOLLRDHUP) mask |= AE_HANGUP;
        if (event->events & (EPOLLERR | EPOLLHUP)) mask |= AE_IO_MASK;
        fired[i] = (aeFired){(int)(uint32_t)event->data.u64, (uint32_t)(event->data.u64 >> 32), mask};
    }
    return count > 0 ? count : 0;
}

const aeBackend ae_epoll_backend = {
    .name = "epoll",
    .edges = true,
    .create = epollCreate,
    .destroy = epollDestroy,
    .resize = epollResize,
    .change = epollChange,
    .wait = epollWait,
};
#else
typedef int aeEpollNotHere; /* a translation unit must have a declaration */
#endif
