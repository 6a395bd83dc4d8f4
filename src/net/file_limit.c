/* file_limit.c -- how many descriptors the server needs, and the system's limit of them.
 *
 * Not here    what follows when there are too few: at the start server/daemon.c lowers maxclients, CONFIG SET refuses.
 * Threads     main.
 * Tests       tests/server/process.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "file_limit.h"

#include "net_settings.h"

#include <errno.h>
#include <limits.h>
#include <sys/resource.h>

/* As many as in other servers of this family, so that a given `ulimit -n` gives the same maxclients. Enough for nine
 * threads, each of which has an epoll and an event descriptor; more threads ask for more. */
#define RESERVED 32
#define THREADS_IN_RESERVED 9
#define FDS_PER_THREAD 2
#define STEP 16

long long fileLimitReserved(void) {
    long long more = net_settings.io_threads - THREADS_IN_RESERVED;
    return RESERVED + (more > 0 ? more * FDS_PER_THREAD : 0);
}

long long fileLimitWanted(void) {
    return net_settings.maxclients + fileLimitReserved();
}

static long long asNumber(rlim_t limit) {
    return limit > LLONG_MAX ? LLONG_MAX : (long long)limit; /* RLIM_INFINITY */
}

long long fileLimitRaise(int *why) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == -1) {
        *why = errno;
        return -1;
    }
    rlim_t before = limit.rlim_cur, best = (rlim_t)fileLimitWanted();
    while (best > before) {
        struct rlimit higher = {best, limit.rlim_max > best ? limit.rlim_max : best};
        if (setrlimit(RLIMIT_NOFILE, &higher) == 0) return asNumber(best);
        *why = errno;
        best = best - before > STEP ? best - STEP : before;
    }
    return asNumber(before);
}
