/* blocking.h -- blocked clients: they wait for a key (BLPOP, BZPOPMIN, XREAD BLOCK ...), or for an owner.
 *
 * A handler that finds nothing calls blockForKeys() and returns without a reply. Its record is kept; when one of the
 * keys has a value the handler runs again, and calls blockForKeys() again if another client has taken the value. So the
 * handler of a command that waits is the same as that of one that does not.
 *
 * A wait for something else than a key (WAIT: an offset that is to be safe) has an owner, which ends it:
 * blockOnOwner().
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_BLOCKING_H
#define ENGINE_BLOCKING_H

#include "client.h"

typedef struct blockingTotals {
    size_t keys;     /* keys that at least one client waits for */
    size_t nokey;    /* of these, keys whose deletion would also wake a client */
    size_t timeouts; /* clients that wait with a deadline */
} blockingTotals;
extern blockingTotals blocking_totals;

/* Call at startup. `unblocked` is called with a client whose wait has ended and whose next commands may run. */
void blockingInit(void (*unblocked)(client *c));
/* Call at startup. `set` is called with the earliest time, of the wall clock, at which blockingExpire() is to be
 * called. */
void blockingOnDeadline(void (*set)(int64_t wall_ms));

typedef struct blockFor {
    objectTypeId type;  /* a value of this type wakes the client */
    uint32_t first_key; /* index of the first key among the arguments */
    uint32_t keys;
    int64_t deadline_ms; /* by the wall clock; 0: none */
    int64_t again_ms;    /* by the wall clock: the command runs again then, also if no key is ready; 0: it does not */
    bool until_deleted;  /* also woken when a key is deleted, or gets another type (XREADGROUP) */
    bool null_bulk;      /* if the client must not block, the reply is a null bulk instead of a null array */
    slice *args;         /* ownership passes: c->argc arguments to run with again (blockingArgs()), in one
                          * allocation with the text of those that differ from c->req->argv; NULL if none differs */
} blockFor;
/* Blocks the client of the running command (CLIENT_BLOCKED) until a key is ready; then the command runs again. A client
 * that must not block (in a transaction) gets the reply of a timeout. Takes ownership of what->args. */
void blockForKeys(client *c, const blockFor *what);
/* The owner of a wait, which ends it by blockingEnd(). */
typedef struct blockOwner {
    void (*reply)(client *c, void *wait);  /* adds the command's reply */
    void (*forget)(client *c, void *wait); /* frees `wait`; the client has its reply, or is being freed */
    bool any_role;                         /* the wait goes on when this server becomes a replica */
} blockOwner;
/* Blocks the client of the running command, which must be allowed to block (CLIENT_BLOCKED); the command does not run
 * again. `wait` is handed to the owner's functions. */
void blockOnOwner(client *c, const blockOwner *owner, void *wait, int64_t deadline_ms);
/* Returns whether the blocked client's wait goes on when this server becomes a replica. */
bool blockingForAnyRole(const client *c);
/* Returns whether the running command runs again after a wait. */
bool blockingRunsAgain(const client *c);
/* Returns the arguments that the first run has given in blockFor.args; NULL if it has given none. c->argv has those of
 * the client, which SLOWLOG shows. Call while the command runs again. */
slice *blockingArgs(const client *c);
/* Adds `ns` to the run time of the client's blocked command. */
void blockingNoteTime(client *c, uint64_t ns);

/* Set while a key that clients wait for is ready: call callServeBlocked() when the command has ended. */
extern bool blocking_ready;
/* Returns the next client whose command is to run again, in the order in which they are served; NULL if there is none.
 * Then call blockingRun(), run the command that it returns, and call blockingHasRun(). */
client *blockingNext(void);
const parsedCommand *blockingRun(client *c);
void blockingHasRun(client *c);
/* Returns the command that is to run again. */
const parsedCommand *blockingCommand(const client *c);
/* Puts a client on hold instead of these three calls if its command may not run now: it waits for no key and no
 * deadline, and keeps the command. The caller runs the command later, from blockingRun() on. If that blocks again the
 * first deadline counts. */
void blockingHold(client *c);
/* Returns whether the client is on hold. */
bool blockingIsHeld(const client *c);

/* Ends the wait, with the reply of a timeout or of the owner, or with `error`. Returns false if the client is not
 * blocked. */
bool blockingEnd(client *c, const char *error);
#define BLOCKING_EXPIRE_MAX 128
/* Ends the waits whose deadline has passed, and marks those whose command is to run again by now, at most
 * BLOCKING_EXPIRE_MAX of them. Returns the earliest time that is left, which may have passed as well; 0 if there is
 * none. */
int64_t blockingExpire(int64_t wall_ms);

/* --- The timeout argument of blocking commands -------------------------------------------------------------------- */

/* Parses argument `index`, seconds that may have decimals, into a deadline as in blockFor; 0: without end. Returns
 * false after an error reply. */
bool getTimeoutFromArg(client *c, uint32_t index, int64_t *deadline_ms) must_check;
/* Does the same for whole milliseconds. */
bool getTimeoutMsFromArg(client *c, uint32_t index, int64_t *deadline_ms) must_check;

#endif
