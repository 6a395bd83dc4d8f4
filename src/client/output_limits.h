/* output_limits.h -- limits for clients that do not read their replies: they are closed, or not served until they read.
 *
 * A limit counts the memory of unsent output beyond CLIENT_OUTPUT_GRACE bytes: blocks at their allocated size, and each
 * reference to a value at its full size.
 *
 * A client with a hard limit is closed when it exceeds it. A client without one is bounded by its own commands: beyond
 * OUTPUT_FULL_BYTES, or beyond its soft limit if that is larger, CLIENT_OUTPUT_FULL is set and net executes none of its
 * commands until its output has shrunk to half of that. With maxmemory the same happens beyond the client's fair part
 * (output_share.h), whatever its limits are. This bounds the output that a client can cause itself; output from others
 * (MONITOR, messages) and the rest of the current reply are added as before. Replicas are never stopped this way.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLIENT_OUTPUT_LIMITS_H
#define CLIENT_OUTPUT_LIMITS_H

#include "client.h"

typedef struct outputLimit {
    unsigned long long hard_bytes, soft_bytes; /* 0: no limit */
    long long soft_seconds;
} outputLimit;

/* Of NORMAL, REPLICA and PUBSUB; PRIMARY has none. Set by outputLimitsSet(). */
extern outputLimit output_limits[CLIENT_TYPES];
/* No client whose output_memory is less than this can have exceeded a limit, or, as of the last
 * outputAlarmUpdate(), its fair part (output_share.h); OUTPUT_FULL_BYTES without limits. */
extern size_t output_alarm_bytes;
/* Call when unread output may have changed much: a long reply grows, and at each tick. */
void outputAlarmUpdate(void);

/* Large enough that only a client which sends requests and does not read gets there: one that writes all its requests
 * before it reads the first reply must not be stopped, because it would never read. */
#define OUTPUT_FULL_BYTES ((size_t)1 << 30)
/* Replaces OUTPUT_FULL_BYTES, for tests. */
void outputFullSetBytes(size_t bytes);

/* Returns the effective limit of clients of that type. */
outputLimit outputLimitInForce(clientType type);
/* Sets the least value of a replica's limits: the size of the replication backlog, which is kept for all replicas
 * anyway. */
void outputLimitsSetReplicaFloor(unsigned long long bytes);

/* Checks the limits of a client. Call when its output has grown (c->output_memory >= output_alarm_bytes) or shrunk, and
 * from cron, for the seconds of the soft limit. If a limit is exceeded it logs a line, marks the client to be closed
 * and returns true. Otherwise it sets CLIENT_OUTPUT_FULL if necessary, and puts the client on cron's list
 * (clientWatchOutput) if it is above the soft limit or has that flag. */
bool outputLimitCheck(client *c);
/* Limit of unsent output of a client that has never authenticated although it must, whatever the other limits are. */
#define OUTPUT_UNAUTHENTICATED_BYTES 1024
/* Call when such a client sends a request: closes it as outputLimitCheck() does, and returns true, if it exceeds
 * that. */
bool outputLimitCheckUnauthenticated(client *c);
/* Call when a client's output has shrunk or limits have changed. Clears CLIENT_OUTPUT_FULL and returns true if the
 * client may execute commands again. */
bool outputFullEnds(client *c);

/* The functions of the setting client-output-buffer-limit, which use only its name. */
struct setting;
/* Sets the limits from the words "class hard soft seconds", repeated. Classes that are not named keep theirs. Returns
 * false and sets *err, without a change, if a word is invalid. */
bool outputLimitsSet(const struct setting *s, char **words, int count, const char **err) must_check;
/* Returns all three classes on one line, as CONFIG GET shows them: an sds. */
char *outputLimitsGet(const struct setting *s);
/* Appends a line "name class hard soft seconds" to `out`, an sds, for each class that differs from its default (CONFIG
 * REWRITE). */
char *outputLimitsRewrite(const struct setting *s, char *out);

#endif
