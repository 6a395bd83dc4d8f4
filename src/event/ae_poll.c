/* ae_poll.c -- the backend that waits with poll(2), for systems without epoll(7).
 *
 * The registered descriptors are in a dense array, which is passed to poll(2). An index by descriptor finds an entry.
 * When an entry is removed, the last one moves to its slot.
 *
 *     slot[fd]     ->  | -1 | 0 | -1 | 2 | 1 |
 *     polled[slot]      | fd 1 | fd 4 | fd 3 |      count = 3
 *
 * Owns        the arrays.
 * Threads     the loop's.
 * Invariants  polled[slot[fd]].fd == fd for each fd with slot[fd] >= 0, and count is their number.
 * Cost        each wait is O(descriptors).
 * Tests       tests/unit/event/ae_test.c, with AE_BACKEND=poll
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ae_internal.h"
#include "panic.h"
#include "zmalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>

#ifndef POLLRDHUP
#define POLLRDHUP 0 /* this system reports only the end of both directions */
#endif

typedef struct pollState {
    int setsize, count;
    int next;              /* the slot at which the next report begins, so that a full report starves no descriptor */
    int *slot;             /* owns; by descriptor: its slot, or -1 */
    struct pollfd *polled; /* owns; capacity setsize */
    uint32_t *generation;  /* owns; by slot, like `polled` */
} pollState;

static void pollResize(void *p, int setsize) {
    pollState *state = p;

    state->slot = zrealloc(state->slot, (size_t)setsize * sizeof(*state->slot));
    state->polled = zrealloc(state->polled, (size_t)setsize * sizeof(*state->polled));
    state->generation = zrealloc(state->generation, (size_t)setsize * sizeof(*state->generation));
    for (int fd = state->setsize; fd < setsize; fd++) state->slot[fd] = -1;
    state->setsize = setsize;
}

static void *pollCreate(int setsize) {
    pollState *state = zcalloc(1, sizeof(*state));

    pollResize(state, setsize);
    return state;
}

static void pollDestroy(void *p) {
    pollState *state = p;

    zfree(state->slot);
    zfree(state->polled);
    zfree(state->generation);
    zfree(state);
}

static void removeSlot(pollState *state, int fd) {
    int slot = state->slot[fd], last = --state->count;

    state->polled[slot] = state->polled[last];
    state->generation[slot] = state->generation[last];
    state->slot[state->polled[slot].fd] = slot;
    state->slot[fd] = -1;
}

static int pollChange(void *p, int fd, uint32_t generation, int old_mask, int mask) {
    pollState *state = p;

    if (mask == AE_NONE) {
        removeSlot(state, fd);
        return C_OK;
    }
    if (old_mask == AE_NONE) {
        if (fcntl(fd, F_GETFD) == -1) return C_ERR; /* refuses a descriptor that is not open, like epoll */
        state->slot[fd] = state->count++;
    }
    short events = 0;
    if (mask & AE_READABLE) events |= POLLIN;
    if (mask & AE_WRITABLE) events |= POLLOUT;
    if (mask & AE_HANGUP) events |= POLLRDHUP;
    state->polled[state->slot[fd]] = (struct pollfd){.fd = fd, .events = events};
    state->generation[state->slot[fd]] = generation;
    return C_OK;
}

static int pollWait(void *p, int timeout_ms, aeFired *fired, int max) {
    pollState *state = p;
    int ready = poll(state->polled, (nfds_t)state->count, timeout_ms), found = 0;

    if (ready == -1 && errno != EINTR) serverPanic("The event loop cannot wait: poll: %s", strerror(errno));
    if (ready > max) ready = max;
    int at = state->next < state->count ? state->next : 0;
    for (int visited = 0; visited < state->count && found < ready; visited++) {
        const struct pollfd *entry = &state->polled[at];
        int mask = AE_NONE;
        if (entry->revents & POLLIN) mask |= AE_READABLE;
        if (entry->revents & POLLOUT) mask |= AE_WRITABLE;
        if (entry->revents & POLLRDHUP) mask |= AE_HANGUP;
        if (entry->revents & (POLLERR | POLLHUP | POLLNVAL)) mask |= AE_IO_MASK;
        if (mask) fired[found++] = (aeFired){entry->fd, state->generation[at], mask};
        if (++at == state->count) at = 0;
    }
    state->next = at;
    return found;
}

const aeBackend ae_poll_backend = {
    .name = "poll",
    .create = pollCreate,
    .destroy = pollDestroy,
    .resize = pollResize,
    .change = pollChange,
    .wait = pollWait,
};
