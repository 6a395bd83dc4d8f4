/* output_limits.c -- limits for clients that do not read their replies: they are closed, or not served until they read.
 *
 * The server keeps the output of a client that does not read. Beyond the hard limit the client is closed at once,
 * beyond the soft limit after it has stayed there for longer than allowed. Without a hard limit its own commands wait,
 * and with maxmemory they wait beyond its fair part in any case (output_share.h).
 *
 * Not here    the closing itself (net drains client_state.closing); how commands wait, and when cron checks clients
 *             without traffic (net).
 * Owns        the limits, and the least of them (output_alarm_bytes), which keeps the check off the hot path.
 * Threads     main.
 * Invariants  (clientCheck() asserts it)
 *             1. CLIENT_OUTPUT_FULL is set only while the client has output, so that an event will clear it: its
 *                blocks come back, or it is closed.
 *             2. A client that is not about to be closed and has CLIENT_OUTPUT_FULL or soft_limit_since is on cron's
 *                list (clientWatchOutput).
 * Tests       tests/unit/client/output_limits_test.c, tests/unit/net/session/command_batch_test.c,
 *             tests/engine/limits.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "output_limits.h"
#include "client_describe.h"
#include "log_limit.h"
#include "output_share.h"
#include "panic.h"
#include "setting.h"
#include <errno.h>
#include <stdlib.h>

#define MIB (1024ull * 1024)

#define DEFAULT_LIMITS                                                                                      \
    {                                                                                                       \
        [CLIENT_TYPE_REPLICA] = {256 * MIB, 64 * MIB, 60}, [CLIENT_TYPE_PUBSUB] = { 32 * MIB, 8 * MIB, 60 } \
    }

static const outputLimit default_limits[CLIENT_TYPES] = DEFAULT_LIMITS;
outputLimit output_limits[CLIENT_TYPES] = DEFAULT_LIMITS;
size_t output_alarm_bytes = 8 * MIB + CLIENT_OUTPUT_GRACE;

static size_t least_limit = 8 * MIB + CLIENT_OUTPUT_GRACE; /* of all limits: output_alarm_bytes is never more */
static size_t full_bytes = OUTPUT_FULL_BYTES;
static unsigned long long replica_floor;

static bool softLimitExceeded(client *c, const outputLimit *limit, size_t bytes) {
    if (limit->soft_bytes == 0 || bytes < limit->soft_bytes) {
        c->soft_limit_since = 0;
        return false;
    }
    if (c->soft_limit_since == 0) {
        c->soft_limit_since = clockTicks();
        return false;
    }
    return (long long)(clockTicksToNs(clockTicks() - c->soft_limit_since) / 1000000000ull) > limit->soft_seconds;
}

/* Returns the memory of output from which on a client's commands wait, whatever others have. With a hard limit there is
 * none, because that limit closes the client. */
static size_t fullFromLimits(clientType type) {
    const outputLimit *limit = &output_limits[type];
    if (limit->hard_bytes) return SIZE_MAX;
    /* If commands waited below the soft limit, no client would ever exceed it. */
    size_t soft = limit->soft_bytes < SIZE_MAX / 2 ? (size_t)limit->soft_bytes + 2 * CLIENT_OUTPUT_GRACE : SIZE_MAX;
    return limit->soft_bytes && soft > full_bytes ? soft : full_bytes;
}

/* Returns the memory of output from which on a client's commands wait. */
static size_t fullFrom(clientType type) {
    if (type != CLIENT_TYPE_NORMAL && type != CLIENT_TYPE_PUBSUB) return SIZE_MAX;
    size_t part = outputFairPart(), full = fullFromLimits(type);
    return part < full ? part : full;
}

void outputAlarmUpdate(void) {
    size_t part = outputFairPart();
    output_alarm_bytes = part < least_limit ? part : least_limit;
}

static void setFull(client *c) {
    c->flags |= CLIENT_OUTPUT_FULL;
    client_state.output_full++;
    client_state.output_waits++;
    LOG_LIMITED(LL_NOTICE, 1, "clients that wait until they read their output",
                "Client id=%llu addr=%s is not served until it reads: %zu bytes of its output are unread.",
                (unsigned long long)c->id, c->peer, c->output_memory);
}

bool outputFullEnds(client *c) {
    assertMainRole();
    if (!(c->flags & CLIENT_OUTPUT_FULL) || c->output_memory > fullFrom(clientTypeOf(c)) / 2) return false;
    c->flags &= ~CLIENT_OUTPUT_FULL;
    client_state.output_full--;
    return true;
}

static void closeForLimit(client *c) {
    sds info = clientCatInfo(sdsEmpty(), c);
    clientCloseAsap(c);
    client_state.output_limit_disconnections++;
    LOG_LIMITED(LL_WARNING, LOG_LIMIT_FEW, "clients that reached their output buffer limit",
                "Client %s scheduled to be closed ASAP for overcoming of output buffer limits.", info);
    sdsFree(info);
}

outputLimit outputLimitInForce(clientType type) {
    outputLimit limit = output_limits[type];
    if (type != CLIENT_TYPE_REPLICA) return limit;
    if (limit.hard_bytes && limit.hard_bytes < replica_floor) limit.hard_bytes = replica_floor;
    if (limit.soft_bytes && limit.soft_bytes < replica_floor) limit.soft_bytes = replica_floor;
    return limit;
}

void outputLimitsSetReplicaFloor(unsigned long long bytes) {
    assertMainRole();
    replica_floor = bytes;
}

bool outputLimitCheck(client *c) {
    assertMainRole();
    const outputLimit limit = outputLimitInForce(clientTypeOf(c));
    size_t bytes = clientQueuedOutput(c);

    if (c->flags & (CLIENT_CLOSE_ASAP | CLIENT_FAKE)) return false;
    bool hard = limit.hard_bytes && bytes >= limit.hard_bytes;
    bool soft = softLimitExceeded(c, &limit, bytes);
    if (!hard && !soft) {
        if (!(c->flags & CLIENT_OUTPUT_FULL) && c->output_memory >= fullFrom(clientTypeOf(c))) setFull(c);
        if (c->soft_limit_since || c->flags & CLIENT_OUTPUT_FULL) clientWatchOutput(c);
        return false;
    }
    closeForLimit(c);
    return true;
}

bool outputLimitCheckUnauthenticated(client *c) {
    assertMainRole();
    if (clientQueuedOutput(c) <= OUTPUT_UNAUTHENTICATED_BYTES || c->flags & (CLIENT_CLOSE_ASAP | CLIENT_FAKE))
        return false;
    closeForLimit(c);
    return true;
}

/* ---- The setting ------------------------------------------------------------------------------------------------ */

static void findAlarm(void) {
    unsigned long long least = full_bytes - CLIENT_OUTPUT_GRACE;
    for (int t = 0; t < CLIENT_TYPES; t++) {
        const outputLimit *l = &output_limits[t];
        if (l->hard_bytes && l->hard_bytes < least) least = l->hard_bytes;
        if (l->soft_bytes && l->soft_bytes < least) least = l->soft_bytes;
    }
    least_limit = least + CLIENT_OUTPUT_GRACE;
    outputAlarmUpdate();
}

void outputFullSetBytes(size_t bytes) {
    assertMainRole();
    serverAssert(bytes > CLIENT_OUTPUT_GRACE);
    full_bytes = bytes;
    findAlarm();
}

/* Valkey reads seconds into an int of C: a larger number wraps around. */
static bool parseSeconds(const char *word, long long *out) {
    char *end;
    int seconds = (int)strtoll(word, &end, 10);
    if (*end != '\0' || seconds < 0) return false;
    *out = seconds;
    return true;
}

bool outputLimitsSet(const setting *s, char **words, int count, const char **err) {
    assertMainRole();
    unused(s);
    outputLimit limits[CLIENT_TYPES];

    if (count % 4 != 0) {
        *err = "Wrong number of arguments in buffer limit configuration.";
        return false;
    }
    memcpy(limits, output_limits, sizeof(limits));
    for (int i = 0; i < count; i += 4) {
        int type = clientTypeByName(sliceStr(words[i]));
        outputLimit l;
        if (type < 0 || type == CLIENT_TYPE_PRIMARY) {
            *err = "Invalid client class specified in buffer limit configuration.";
            return false;
        }
        if (!memory2ull(words[i + 1], strlen(words[i + 1]), &l.hard_bytes) ||
            !memory2ull(words[i + 2], strlen(words[i + 2]), &l.soft_bytes) ||
            !parseSeconds(words[i + 3], &l.soft_seconds)) {
            *err = "Error in hard, soft or soft_seconds setting in buffer limit configuration.";
            return false;
        }
        limits[type] = l;
    }
    memcpy(output_limits, limits, sizeof(limits));
    findAlarm();
    return true;
}

char *outputLimitsGet(const setting *s) {
    assertMainRole();
    unused(s);
    sds out = sdsEmpty();
    for (int t = CLIENT_TYPE_NORMAL; t <= CLIENT_TYPE_PUBSUB; t++) {
        const outputLimit *l = &output_limits[t];
        out = sdsCatPrintf(out, "%s%s %llu %llu %lld", t ? " " : "", clientTypeName((clientType)t), l->hard_bytes,
                           l->soft_bytes, l->soft_seconds);
    }
    return out;
}

/* Appends a number of bytes in the largest unit that divides it. */
static sds catBytes(sds s, unsigned long long bytes) {
    if (bytes && bytes % (1024 * MIB) == 0) return sdsCatPrintf(s, "%llugb", bytes / (1024 * MIB));
    if (bytes && bytes % MIB == 0) return sdsCatPrintf(s, "%llumb", bytes / MIB);
    if (bytes && bytes % 1024 == 0) return sdsCatPrintf(s, "%llukb", bytes / 1024);
    return sdsCatPrintf(s, "%llu", bytes);
}

char *outputLimitsRewrite(const setting *s, char *out) {
    assertMainRole();
    for (int t = CLIENT_TYPE_NORMAL; t <= CLIENT_TYPE_PUBSUB; t++) {
        const outputLimit *l = &output_limits[t], *d = &default_limits[t];
        if (l->hard_bytes == d->hard_bytes && l->soft_bytes == d->soft_bytes && l->soft_seconds == d->soft_seconds)
            continue;
        out = sdsCatPrintf(out, "%s %s ", s->name, clientTypeName((clientType)t));
        out = sdsCat(catBytes(out, l->hard_bytes), " ");
        out = catBytes(out, l->soft_bytes);
        out = sdsCatPrintf(out, " %lld\n", l->soft_seconds);
    }
    return out;
}
