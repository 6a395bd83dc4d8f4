/* tracking.h -- client-side caching: notifies clients when keys change that they may have cached.
 *
 * A client with CLIENT TRACKING is notified once of each key that it has read, or with BCAST of all keys with its
 * prefixes. Design: docs/design/tracking.md.
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
    TRACKING_CACHING = 16, /* CLIENT CACHING was called; it applies to the next command */
    TRACKING_BROKEN = 32,  /* the client that messages are redirected to is closed */
};

/* State of a client that has had tracking on at some time. */
typedef struct trackingState {
    uint32_t reader; /* the client's number in the table of keys */
    uint32_t mode;   /* TRACKING_ */
    uint64_t redirect;
    client *c; /* borrowed: the client that owns this */
    prefixList prefixes;
    sds waiting; /* owns: names of changed keys, sent when its running command has ended; NULL if none */
    struct trackingState *prev, *next; /* in the list of clients with tracking on */
} trackingState;

typedef struct trackingTotals {
    size_t keys, items, prefixes;
} trackingTotals;

/* Set while the table has keys. Otherwise trackingPrefetch() need not be called. */
extern bool tracking_has_keys;

/* Call at startup: tracking ends when a client is freed or reset (RESET). `running` returns the client whose command is
 * running, or NULL. */
void trackingInit(client *(*running)(void));

/* Returns the state of a client that has had tracking on at some time, else NULL. */
trackingState *trackingOf(const client *c);
/* Turns tracking on in this mode (TRACKING_BCAST to TRACKING_NOLOOP), also if it is on already. Messages go to the
 * client with the id `redirect`; 0: to the client itself. */
void trackingOn(client *c, uint32_t mode, uint64_t redirect);
/* Adds prefixes in BCAST mode; no two of these and of those that the client has may overlap. Returns false if there is
 * no memory. */
bool trackingAddPrefixes(client *c, const slice *prefixes, size_t count) must_check;
/* Turns tracking off, if it is on, and drops the client's prefixes. */
void trackingOff(client *c);

/* Call after a command of a client with CLIENT_TRACKING, or of a script of the client: adds the keys that it has read
 * to the table. */
void trackingRemember(client *c, serverDb *db, const parsedCommand *req);
/* Call when a command of a client with CLIENT_TRACKING has ended, whether or not it has run: CLIENT CACHING applies to
 * one command. */
void trackingCommandEnded(client *c);
/* Call instead of pushesRelease(): also sends the client the invalidations that its own command has caused. */
void trackingReleasePushes(client *c);
/* Prefetches the key's line in the table, which trackingRemember() or a change of the key will touch. */
void trackingPrefetch(uint64_t hash);
/* Prefetches the readers that the line refers to. Call when that has had time to arrive. */
void trackingPrefetchReaders(uint64_t hash);
/* Sends invalidations to BCAST clients (tracking_prefix_news). Do not call within a command, except one that lets
 * others run meanwhile (yield.h). */
void trackingSendInvalidations(void);
/* Call from cron: removes keys beyond tracking-table-max-keys from the table and invalidates them. */
void trackingTick(void);

/* Returns the sizes of the table of keys and the number of prefixes. */
trackingTotals trackingGetTotals(void);
size_t trackingMemory(void); /* bytes of the table of keys and of the readers' numbers */

#endif
