/* output_limits.h -- client-output-buffer-limit: who is sent away for not reading.
 *
 * What counts is the memory that unsent output costs, from CLIENT_OUTPUT_GRACE bytes on: blocks as they were allocated,
 * and each reference to a value at its full size.
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

/* Check a client whose output has grown (c->output_memory >= output_alarm_bytes) or shrunk, or in cron, for the soft
 * limit's time: closes it asynchronously, with a log line, when a limit is broken. True if it did. */
bool outputLimitCheck(client *c);

/* Take "class hard soft seconds", repeated, as words; classes not named keep what they have. False with *err: nothing
 * changed. */
bool outputLimitsSet(char **words, int count, const char **err) must_check;
/* All three classes on one line, as CONFIG GET shows them. */
sds outputLimitsGet(void);
/* A line "`name` class hard soft seconds" for each class that differs from its default, appended to `s` (CONFIG
 * REWRITE). */
sds outputLimitsCatLines(sds s, const char *name);

#endif
