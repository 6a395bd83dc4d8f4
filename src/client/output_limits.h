/* output_limits.h -- what is done about clients that do not read: sent away, or not served until they have read.
 *
 * What counts is the memory that unsent output costs, from CLIENT_OUTPUT_GRACE bytes on: blocks as they were allocated,
 * and each reference to a value at its full size.
 *
 * A client with a hard limit is closed when it breaks it. One without is bounded by its own commands: past
 * OUTPUT_FULL_BYTES, or its soft limit when that is more, CLIENT_OUTPUT_FULL is set and net executes none of them until
 * half of it is gone. That bounds what one client can make the server keep by asking; what others send it (MONITOR,
 * messages) and the one reply under way are added as before. Replicas are never held up.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLIENT_OUTPUT_LIMITS_H
#define CLIENT_OUTPUT_LIMITS_H

#include "client.h"

typedef struct outputLimit {
    unsigned long long hard_bytes, soft_bytes; /* 0: none */
    long long soft_seconds;
} outputLimit;

extern outputLimit
    output_limits[CLIENT_TYPES]; /* NORMAL, REPLICA, PUBSUB; PRIMARY has none. Changed by outputLimitsSet() */
/* With less than this in c->output_memory no client of any kind can have broken a limit; SIZE_MAX without limits. */
extern size_t output_alarm_bytes;

/* So much that only who asks and does not read gets there: a client that writes all its requests before it reads the
 * first reply must not be stopped, for it would never read. */
#define OUTPUT_FULL_BYTES ((size_t)1 << 30)
/* Another size than this, for tests. */
void outputFullSetBytes(size_t bytes);

/* What is in force for clients of that type. */
outputLimit outputLimitInForce(clientType type);
/* A replica's limits are no lower than what is kept for all of them anyway, so many bytes. */
void outputLimitsSetReplicaFloor(unsigned long long bytes);

/* Check a client whose output has grown (c->output_memory >= output_alarm_bytes) or shrunk, or by the clock, for the
 * soft limit's time: closes it asynchronously, with a log line, when a limit is broken. True if it did. Else sets
 * CLIENT_OUTPUT_FULL when it is time, and has those who are above the soft limit, or wait for their output to go,
 * looked at again (clientWatchOutput). */
bool outputLimitCheck(client *c);
/* So much may wait for somebody who has never told a password where one is needed, whatever the limits are. */
#define OUTPUT_STRANGER_BYTES 1024
/* Such a client asks for more: closes it as outputLimitCheck() does, when more waits for it. True if it did. */
bool outputLimitCheckStranger(client *c);
/* Its output has shrunk, or limits have changed: takes CLIENT_OUTPUT_FULL away if it may go on; true if it did. */
bool outputFullEnds(client *c);

/* Take "class hard soft seconds", repeated, as words; classes not named keep what they have. False with *err: nothing
 * changed. */
bool outputLimitsSet(char **words, int count, const char **err) must_check;
/* All three classes on one line, as CONFIG GET shows them. */
sds outputLimitsGet(void);
/* A line "`name` class hard soft seconds" for each class that differs from its default, appended to `s` (CONFIG
 * REWRITE). */
sds outputLimitsCatLines(sds s, const char *name);

#endif
