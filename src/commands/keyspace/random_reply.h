/* random_reply.h -- limits for replies of random elements, which may repeat, so that the client chooses their number.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef COMMANDS_RANDOM_REPLY_H
#define COMMANDS_RANDOM_REPLY_H

#include "command_memory.h"

/* Reserves memory for a reply of this many bulk strings, counted as if all were empty. Returns false after an error
 * reply. */
static inline bool randomReplyMayHave(client *c, unsigned long long bulks) {
    enum { EMPTY_BULK = 6 }; /* "$0" and two line ends */
    return commandMemoryReserve(c, bulks < SIZE_MAX / EMPTY_BULK ? (size_t)bulks * EMPTY_BULK : SIZE_MAX / 2);
}

/* Returns whether the rest of the reply will not be sent: the client is being closed because its reply is too large, or
 * it has turned replies off. */
static inline bool randomReplyUnheard(const client *c) {
    return c->flags & (CLIENT_CLOSE_ASAP | CLIENT_REPLY_OFF | CLIENT_REPLY_SKIP);
}

#endif
