/* block_args.c -- the timeout argument of blocking commands.
 *
 * Threads     main.
 * Tests       tests/engine/blocking.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "block_args.h"

#include "clock.h"
#include "reply.h"

#include <limits.h>
#include <math.h>

static bool deadlineIn(client *c, long long timeout_ms, int64_t *deadline_ms) {
    int64_t now_ms = clockWallMs();
    if (timeout_ms < 0) {
        addReplyError(c, "timeout is negative");
        return false;
    }
    if (timeout_ms > LLONG_MAX - now_ms) {
        addReplyError(c, "timeout is out of range");
        return false;
    }
    *deadline_ms = timeout_ms ? now_ms + timeout_ms : 0;
    return true;
}

bool getTimeoutFromArg(client *c, uint32_t index, int64_t *deadline_ms) {
    long double seconds;
    if (!getLongDoubleFromArg(c, index, &seconds, "timeout is not a float or out of range")) return false;
    if (seconds < 0) return deadlineIn(c, -1, deadline_ms);
    long double ms = ceill(seconds * 1000);
    if (ms >= (long double)LLONG_MAX) {
        addReplyError(c, "timeout is out of range");
        return false;
    }
    return deadlineIn(c, (long long)ms, deadline_ms);
}

bool getTimeoutMsFromArg(client *c, uint32_t index, int64_t *deadline_ms) {
    long long ms;
    if (!getLongLongFromArg(c, index, &ms, "timeout is not an integer or out of range")) return false;
    return deadlineIn(c, ms, deadline_ms);
}
