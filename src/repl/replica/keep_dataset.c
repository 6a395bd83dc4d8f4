/* keep_dataset.c -- whether a replica keeps its dataset rather than take the empty one of a primary that has lost it.
 *
 * A primary that starts without its files has an empty dataset and a new replication ID. Its replicas may have the last
 * copy of the data. So a replica with keys refuses such a dataset (replica-keep-from-empty), unless an operator has
 * named the primary since the link was last up: REPLICAOF says that its dataset is wanted, whatever it is.
 *
 *   refused --> the primary has keys; REPLICAOF again; or the time has passed --> its dataset is taken
 *
 * The time is counted for each identity, because a primary that crashes and starts again and again would otherwise
 * use it up.
 *
 * Not here    finding out that an RDB is empty (snapshot_peek.c), the next attempt (primary_link.c).
 * Owns        the decision about the present primary.
 * Threads     main.
 * Invariants  1. While `now`, `from` is the replication ID that was refused last, and there is no consent.
 * Tests       tests/unit/repl/replica/keep_dataset_test.c, tests/repl/keep_from_empty.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "keep_dataset.h"

#include "clock.h"
#include "db.h"
#include "log.h"
#include "panic.h"
#include "repl_settings.h"
#include "repl_stream.h"

#include <string.h>
#include <strings.h>

static struct {
    bool consent, now;
    char from[REPL_ID_BYTES + 1]; /* "" without a refusal */
    uint64_t since_ms;            /* monotonic: the first refusal of `from` */
} keep;

static void keepCheck(void) { debugAssert(!keep.now || (*keep.from && !keep.consent)); }

void keepDatasetConsent(void) {
    keep.consent = true;
    keep.now = false;
}

void keepDatasetForget(void) {
    keep.consent = keep.now = false;
    *keep.from = '\0';
}

void keepDatasetYields(void) { keep.now = false; }

bool keepDatasetHasKeys(void) {
    for (int i = 0; i < dbCount(); i++)
        if (dbSize(dbGet(i))) return true;
    return false;
}

bool keepDatasetMatters(void) {
    keepCheck();
    return repl_settings.keep_from_empty_s > 0 && !keep.consent && keepDatasetHasKeys();
}

static bool isNewIdentity(const char *id) {
    const replIds *own = replicationIds();
    return *id && strcasecmp(id, own->id) && strcasecmp(id, own->id2);
}

static uint64_t waited(void) { return clockMonotonicMs() - keep.since_ms; }

static unsigned long long countKeys(void) {
    unsigned long long keys = 0;
    for (int i = 0; i < dbCount(); i++) keys += dbSize(dbGet(i));
    return keys;
}

static void beginKeeping(const char *id) {
    debugAssert(strlen(id) == REPL_ID_BYTES);
    memcpy(keep.from, id, sizeof(keep.from));
    keep.since_ms = clockMonotonicMs();
    serverLog(LL_WARNING,
              "The primary %s:%lld has a new replication ID and an empty dataset: it may have lost its data. This "
              "replica keeps its %llu keys. It takes the dataset of the primary when that has keys, on 'REPLICAOF %s "
              "%lld', or after %lld seconds (replica-keep-from-empty). To make the data the primary's again, promote "
              "this replica with REPLICAOF NO ONE.",
              repl_settings.primary_host, repl_settings.primary_port, countKeys(), repl_settings.primary_host,
              repl_settings.primary_port, repl_settings.keep_from_empty_s);
}

bool keepDatasetFrom(const char *id) {
    assertMainRole();
    keep.now = false;
    if (!keepDatasetMatters() || !isNewIdentity(id)) return false;
    if (strcmp(id, keep.from)) {
        beginKeeping(id);
    } else if (waited() >= (uint64_t)repl_settings.keep_from_empty_s * 1000) {
        serverLog(LL_WARNING,
                  "The primary still has an empty dataset after %lld seconds (replica-keep-from-empty): this replica "
                  "takes it, and its %llu keys are removed.",
                  repl_settings.keep_from_empty_s, countKeys());
        return false;
    }
    keep.now = true;
    keepCheck();
    return true;
}

keepFigures keepDatasetFigures(void) {
    keepCheck();
    return (keepFigures){.keeps = keep.now,
                         .since_s = keep.now ? (long long)(waited() / 1000) : -1,
                         .until_ms = keep.since_ms + (uint64_t)repl_settings.keep_from_empty_s * 1000};
}
