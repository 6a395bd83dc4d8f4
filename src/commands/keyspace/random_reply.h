/* random_reply.h -- replies of as many random elements, which may repeat, as a client names: a number without bound.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef COMMANDS_RANDOM_REPLY_H
#define COMMANDS_RANDOM_REPLY_H

#include "command_memory.h"

/* May the reply have so many bulks? Memory is asked for as if all were empty. False after an error. */
static inline bool randomReplyMayHave(client *c, unsigned long long bulks) {
    enum { EMPTY_BULK = 6 }; /* $0, and two ends of lines */
    return commandMemoryReserve(c, bulks < SIZE_MAX / EMPTY_BULK ? (size_t)bulks * EMPTY_BULK : SIZE_MAX / 2);
}

/* Nobody hears the rest: the client is to be closed, because its reply got too large, or has replies off. */
static inline bool randomReplyUnheard(const client *c) {
    return c->flags & (CLIENT_CLOSE_ASAP | CLIENT_REPLY_OFF | CLIENT_REPLY_SKIP);
}

#endif
