/* tracking.h -- client-side caching: clients hear when keys change that they may have cached.
 *
 * A client with CLIENT TRACKING hears of the keys that it has read, each once, or with BCAST of all keys with its
 * prefixes. docs/design/tracking.md says how that is kept.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_TRACKING_H
#define ENGINE_TRACKING_H

#include "client.h"
#include "tracking_prefixes.h"

enum {
    TRACKING_BCAST = 1,
    TRACKING_OPTIN = 2,
    TRACKING_OPTOUT = 4,
    TRACKING_NOLOOP = 8,
    TRACKING_CACHING = 16, /* CLIENT CACHING was called for the next command */
    TRACKING_BROKEN = 32,  /* the client that messages should go to has gone */
};

/* Of each client that has had tracking on at some time. */
typedef struct trackingState {
    uint32_t reader; /* its number in the table of keys */
    uint32_t mode;   /* TRACKING_ */
    uint64_t redirect;
    client *c; /* borrowed: belongs to it */
    prefixList prefixes;
    sds waiting; /* owns: what it is to hear when its running command has ended; NULL for nothing */
    struct trackingState *prev, *next; /* of those with tracking on */
} trackingState;

typedef struct trackingTotals {
    size_t keys, items, prefixes;
} trackingTotals;

/* Whether a key is remembered for anybody: without, trackingPrefetch() has nothing to do. */
extern bool tracking_has_keys;

/* Boot: clients leave when they are freed or RESET. `running` tells whose command runs; NULL: nobody's. */
void trackingInit(client *(*running)(void));

/* Returns the state of a client that has had tracking on at some time, else NULL. */
trackingState *trackingOf(const client *c);
/* Tracking is on from now on in this mode (TRACKING_BCAST to TRACKING_NOLOOP), also if it was on before; messages go to
 * the client with the id `redirect`, or, 0, to the client itself. */
void trackingOn(client *c, uint32_t mode, uint64_t redirect);
/* BCAST: more prefixes; no two of them and of those that the client has overlap. False: no memory. */
bool trackingAddPrefixes(client *c, const slice *prefixes, size_t count) must_check;
void trackingOff(client *c);

/* A command of the client has run (CLIENT_TRACKING is set): remember what it has read. */
void trackingRemember(client *c);
/* The same for a command that a program of the client has run. */
void trackingRememberProgram(client *c, serverDb *db, const parsedCommand *req);
/* A command of the client has ended, by whatever way (CLIENT_TRACKING is set): CLIENT CACHING is for one. */
void trackingCommandEnded(client *c);
/* In place of pushesRelease(): also what the client has done itself is told. */
void trackingReleasePushes(client *c);
/* Ask for what trackingRemember() or a change will touch of the key: first for where it is remembered, and, when that
 * has had time to come, for what stands there. */
void trackingPrefetch(uint64_t hash);
void trackingPrefetchReaders(uint64_t hash);
/* Tell what BCAST clients are to hear (tracking_prefix_news). Not within a command, but for one that lets others in
 * between. */
void trackingSendInvalidations(void);
/* Cron: forget keys that are more than tracking-table-max-keys. */
void trackingTick(void);

trackingTotals trackingGetTotals(void);
size_t trackingMemory(void); /* of the table of keys, and of the numbers in it */

#endif
