/* ae_internal.h -- the interface between the loop and its backends, epoll(7) and poll(2).
 *
 * Runs on: the loop's thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef EVENT_AE_INTERNAL_H
#define EVENT_AE_INTERNAL_H

#include "ae.h"

#define AE_INPUT (AE_READABLE | AE_HANGUP) /* a registration has at most one of the two */
#define AE_IO_MASK (AE_INPUT | AE_WRITABLE)
#define AE_EDGE 64 /* a flag of a registration: edge-triggered, if the backend supports that (`edges`) */

/* One descriptor that is ready. */
typedef struct aeFired {
    int fd;
    uint32_t generation; /* of the registration for which the event was reported */
    int mask;            /* all bits after an error or the end of both directions, so that any handler is called */
} aeFired;

typedef struct aeBackend {
    const char *name;
    bool edges; /* supports AE_EDGE */
    /* Creates the state for descriptors below `setsize`. Returns NULL with errno on failure. */
    void *(*create)(int setsize);
    void (*destroy)(void *state);
    /* Changes `setsize`, which stays above all descriptors in use. */
    void (*resize)(void *state, int setsize);
    /* Changes the mask of fd from `old_mask` to `mask`. The two differ and have bits of AE_IO_MASK, and may have
     * AE_EDGE together with these. Returns C_ERR with errno on failure. */
    int (*change)(void *state, int fd, uint32_t generation, int old_mask, int mask);
    /* Waits (timeout_ms -1: without limit) and writes at most `max` ready descriptors to `fired`. Returns their number,
     * 0 also after a signal. */
    int (*wait)(void *state, int timeout_ms, aeFired *fired, int max);
} aeBackend;

extern const aeBackend ae_poll_backend;
#ifdef __linux__
extern const aeBackend ae_epoll_backend;
#endif

#endif
