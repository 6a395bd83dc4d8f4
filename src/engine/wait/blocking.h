/* blocking.h -- clients that wait: for a key (BLPOP, BZPOPMIN, XREAD BLOCK and their kin), or to be told.
 *
 * A handler that finds nothing calls blockForKeys() and returns without a reply. Its record is kept; when one of the
 * keys has something the handler runs again, and calls blockForKeys() again if that was gone already. So a command that
 * waits is the same as one that does not.
 *
 * What is no key (an offset that is to be safe) has an owner who knows when it is there: blockOnOwner(). The owner
 * ends the wait.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_BLOCKING_H
#define ENGINE_BLOCKING_H

#include "client.h"

typedef struct blockingTotals {
    size_t keys;     /* that somebody waits for */
    size_t nokey;    /* of these: whose end somebody waits for as well */
    size_t timeouts; /* clients that wait with a time */
} blockingTotals;
extern blockingTotals blocking_totals;

/* Boot. `unblocked` is told of a client whose commands may go on. */
void blockingInit(void (*unblocked)(client *c));
/* Boot: `set` is told the earliest time, of the wall clock, at which blockingExpire() has something to do. */
void blockingOnDeadline(void (*set)(int64_t wall_ms));

typedef struct blockFor {
    objectTypeId type;  /* what values wake it */
    uint32_t first_key; /* argument */
    uint32_t keys;
    int64_t deadline_ms; /* of the wall clock; 0: none */
    bool until_gone;     /* also woken when a key goes, or becomes another type (XREADGROUP) */
    bool null_bulk;      /* where it may not wait it is answered by a null, not by a null array */
    slice *args;         /* taken: c->argc arguments to run with again (blockingArgs()), in one allocation with the text
                            of those that differ from c->req->argv; NULL: none differs */
} blockFor;
/* The running command waits (CLIENT_BLOCKED), and will run again. Where it may not wait (in a transaction) it is
 * answered as if its time were over. */
void blockForKeys(client *c, const blockFor *what);
/* A wait that its owner ends, by blockingEnd(). */
typedef struct blockOwner {
    void (*reply)(client *c, void *wait);  /* the command's answer as things stand now */
    void (*forget)(client *c, void *wait); /* the wait is over, answered or not: the client may have gone */
} blockOwner;
/* The running command, which may wait, does so (CLIENT_BLOCKED), and does not run again. `wait` is the owner's. */
void blockOnOwner(client *c, const blockOwner *owner, void *wait, int64_t deadline_ms);
/* Whether the running command has waited, and runs again. */
bool blockingRunsAgain(const client *c);
/* The arguments that the first run has left for this one in blockFor; NULL if there are none. c->argv has those that
 * the client has sent, which SLOWLOG shows. */
slice *blockingArgs(const client *c);
/* A run of the command has ended in a wait and has taken `ns`. */
void blockingNoteTime(client *c, uint64_t ns);

/* Something has come for somebody: callServeBlocked() is to be called when the command has ended. */
extern bool blocking_ready;
/* Who waits, in order: the next one whose command is to run again; NULL: no more. Then blockingRun(), the command, and
 * blockingHasRun(). */
client *blockingNext(void);
const parsedCommand *blockingRun(client *c);
void blockingHasRun(client *c);
const parsedCommand *blockingCommand(const client *c); /* that is to run */
/* In place of these, where it may not run now: it waits no longer, for no key and no time, and keeps the command. Who
 * holds it calls blockingRun() when it may; if it must wait again, then until the time it was to wait at first. */
void blockingHold(client *c);
bool blockingIsHeld(const client *c);

/* End the wait: as if its time were over, or by an error. False: it does not wait. */
bool blockingEnd(client *c, const char *error);
#define BLOCKING_EXPIRE_MAX 128
/* End the wait of those whose time is over, at most BLOCKING_EXPIRE_MAX of them. The earliest time of those who go on
 * waiting, which may be over, too; 0: there is none. */
int64_t blockingExpire(int64_t wall_ms);

#endif
