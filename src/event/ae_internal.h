/* ae_internal.h -- what the loop asks of the system call that waits, as one table per way of waiting.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef EVENT_AE_INTERNAL_H
#define EVENT_AE_INTERNAL_H

#include "ae.h"

#define AE_INPUT (AE_READABLE | AE_HANGUP) /* a registration has one of the two */
#define AE_IO_MASK (AE_INPUT | AE_WRITABLE)
#define AE_EDGE 64 /* of a registration: told once of each thing that comes, where the backend can (`edges`) */

/* One descriptor that is ready. `generation` is the one the descriptor's registration had when it was armed. */
typedef struct aeFired {
    int fd;
    uint32_t generation;
    int mask; /* an error or the end of both directions counts as all, so that whoever is registered learns of it */
} aeFired;

typedef struct aeBackend {
    const char *name;
    bool edges;
    /* `setsize` bounds descriptors. NULL with errno. */
    void *(*create)(int setsize);
    void (*destroy)(void *state);
    /* Never smaller than the largest descriptor in use. */
    void (*resize)(void *state, int setsize);
    /* The mask of fd goes from `old_mask` to `mask`, which differ and hold AE_IO_MASK bits, and AE_EDGE with some of
     * these. C_ERR with errno. */
    int (*change)(void *state, int fd, uint32_t generation, int old_mask, int mask);
    /* Wait (timeout_ms -1: for ever) and write at most `max` ready descriptors. 0 also when a signal came. */
    int (*wait)(void *state, int timeout_ms, aeFired *fired, int max);
} aeBackend;

extern const aeBackend ae_poll_backend;
#ifdef __linux__
extern const aeBackend ae_epoll_backend;
#endif

#endif
