/* random_reply.h -- arguments of HRANDFIELD and ZRANDMEMBER, and limits for replies of random elements: these may
 * repeat, so the client chooses their number.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef COMMANDS_RANDOM_REPLY_H
#define COMMANDS_RANDOM_REPLY_H

#include "command_memory.h"
#include "reply.h"

#include <limits.h>

/* Parses [count [WITH]] after the key, where the word WITH asks for twice as many bulk strings. Returns false after an
 * error reply. */
static inline bool randomArgsParse(client *c, const char *with, long long *count, bool *has_with) {
    *has_with = c->argc == 4;
    if (c->argc > 2 && !getRangeLongFromArg(c, 2, -LLONG_MAX, LLONG_MAX, count, NULL)) return false;
    if (c->argc > 4 || (*has_with && !sliceIs(c->argv[3], with))) return addReplySyntaxError(c);
    if (*has_with && (*count < -LLONG_MAX / 2 || *count > LLONG_MAX / 2))
        return addReplyError(c, "value is out of range");
    return true;
}

/* Reserves memory for a reply of this many bulk strings, counted as if all were empty. Returns false after an error
 * reply. */
static inline bool randomReplyReserve(client *c, unsigned long long bulks) {
    enum { EMPTY_BULK = 6 }; /* "$0" and two line ends */
    return commandMemoryReserve(c, bulks < SIZE_MAX / EMPTY_BULK ? (size_t)bulks * EMPTY_BULK : SIZE_MAX / 2);
}

/* Returns whether the rest of the reply will not be sent: the client is being closed because its reply is too large, or
 * it has turned replies off. */
static inline bool randomReplyDropped(const client *c) {
    return c->flags & (CLIENT_CLOSE_ASAP | CLIENT_REPLY_OFF | CLIENT_REPLY_SKIP);
}

#endif
