/* file_limit.c -- how many file descriptors the server needs, and the system's limit.
 *
 * Not here    what happens if the limit is too low: at startup server/daemon.c lowers maxclients, CONFIG SET refuses.
 * Threads     main.
 * Tests       tests/server/process.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "listen.h"

#include "log.h"
#include "net_settings.h"
#include "panic.h"

#include <errno.h>
#include <limits.h>
#include <sys/resource.h>

/* As many as Valkey and Redis reserve, so that a given `ulimit -n` gives the same maxclients. Enough for nine threads
 * and the handshake thread, each with an epoll and an event descriptor; more threads need more. */
#define RESERVED 32
#define THREADS_IN_RESERVED 9
#define FDS_PER_THREAD 2

long long fileLimitReserved(void) {
    assertMainRole();
    long long more = net_settings.io_threads - THREADS_IN_RESERVED;
    return RESERVED + (more > 0 ? more * FDS_PER_THREAD : 0);
}

long long fileLimitWanted(void) {
    assertMainRole();
    return net_settings.maxclients + fileLimitReserved();
}

static long long asNumber(rlim_t limit) { return limit > LLONG_MAX ? LLONG_MAX : (long long)limit; /* RLIM_INFINITY */ }

/* Tries what is wanted first, which may need a privilege, then the hard limit, which does not. */
long long fileLimitRaise(int *why) {
    assertMainRole();
    struct rlimit now;
    if (getrlimit(RLIMIT_NOFILE, &now) == -1) {
        *why = errno;
        return -1;
    }
    rlim_t wanted = (rlim_t)fileLimitWanted(), tries[] = {wanted, now.rlim_max};
    if (now.rlim_cur >= wanted) return asNumber(now.rlim_cur);
    for (size_t i = 0; i < array_len(tries); i++) {
        struct rlimit asked = {tries[i], tries[i] > now.rlim_max ? tries[i] : now.rlim_max};
        if (tries[i] <= now.rlim_cur) continue;
        if (setrlimit(RLIMIT_NOFILE, &asked) == 0) {
            serverLog(LL_NOTICE, "Raised the limit of open files from %lld to %lld.", asNumber(now.rlim_cur),
                      asNumber(tries[i]));
            return asNumber(tries[i]);
        }
        *why = errno;
    }
    return asNumber(now.rlim_cur);
}
