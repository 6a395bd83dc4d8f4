/* propagate.h -- passes changes of the dataset on, as commands: to the append-only file and to replicas.
 *
 * A propagation unit is the effect of one command of a client, one served blocked client, one eviction or one expired
 * key. It has items, each a command with its database. call() adds the command as it was sent if it has changed
 * anything, unless its handler has overridden it:
 *
 *   if (propagateInstead(c, "PEXPIREAT")) {              false if there is no sink: that is all
 *       propagateArg(key.name);
 *       propagateNumber(when_ms);
 *       propagateDone();                                 once for each command that replaces it
 *   }
 *   propagateNothing();                                  the command is not propagated
 *
 * Keys that the server removes meanwhile (expired or evicted ones) precede it. A single item is written as it is,
 * several between MULTI and EXEC; EXEC is one unit of all changes of its queue.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_PROPAGATE_H
#define ENGINE_PROPAGATE_H

#include "client.h"

/* --- Sinks -------------------------------------------------------------------------------------------------------- */

enum {
    PROPAGATE_AOF = 1,
    PROPAGATE_REPLICAS = 2,
    PROPAGATE_CHECK = 4, /* in debug builds (propagate_check.c) */
    PROPAGATE_ENDS = 8,  /* no sink: the ends of commands are reported (propagateOnCommandEnd()) */
    PROPAGATE_ALL = PROPAGATE_AOF | PROPAGATE_REPLICAS | PROPAGATE_CHECK
};

/* A command in its wire form ("*2\r\n$4\r\nINCR\r\n..."): the bytes of all pieces, one after the other, usually one
 * piece. Borrowed until the call returns. MULTI and EXEC are items of their own, with dbid -1. */
typedef struct propagateItem {
    int dbid;       /* its database; a sink writes SELECT where its output needs it. -1: none */
    bool ends_unit; /* within a unit no other item intervenes and no loop iteration ends */
    uint32_t count;
    size_t bytes; /* of all pieces */
    const slice *pieces;
} propagateItem;

typedef struct propagateSink {
    uint32_t target; /* one PROPAGATE_ bit */
    /* Copies the bytes that it needs. Cannot fail, and runs no commands. */
    void (*take)(const propagateItem *item);
} propagateSink;

/* Adds `sink`, which is borrowed until it is removed and gets all further items. Each target has at most one sink. */
void propagateAddSink(const propagateSink *sink);
/* Removes a sink, immediately. */
void propagateRemoveSink(const propagateSink *sink);

/* Sinks call this to record the offset in their output at which the last write of the client ends. `target` is
 * PROPAGATE_AOF or PROPAGATE_REPLICAS. */
void propagateNoteWrite(client *c, uint32_t target, uint64_t offset);
/* Returns that offset; 0 if the client has written nothing. */
uint64_t propagateWriteEnd(const client *c, uint32_t target);
/* Call when the dataset is removed and another one is loaded. Neither the log nor the replication stream that follow
 * have the earlier writes of clients, so the offset of these is set to one that is never reached, until the client
 * writes again. */
void propagateLoseWrites(void);

/* Bits of the targets that have a sink. */
extern uint32_t propagate_targets;
/* Returns whether there is a sink. */
static inline bool propagateWanted(void) { return unlikely(propagate_targets != 0); }

/* Call at startup: registers for the removals of the store. */
void propagateInit(void);

/* --- For handlers ------------------------------------------------------------------------------------------------- */

/* Used by the inline functions below. */
void propagateBegin(int dbid, slice name);
void propagateOverridden(void);

/* Begins a command, in the client's database, that is propagated in place of the running one. Then add its arguments
 * and call propagateDone(); nothing between these calls may remove keys. Returns false if there is no sink. */
static inline bool propagateInstead(const client *c, const char *name) {
    if (!propagateWanted()) return false;
    propagateBegin(dbId(c->db), sliceStr(name));
    return true;
}
/* Does the same, with the command's name as the client spelled it. */
static inline bool propagateRewritten(const client *c) {
    if (!propagateWanted()) return false;
    propagateBegin(dbId(c->db), c->argv[0]);
    return true;
}
/* Propagates UNLINK or DEL for a key of the client's database that the running command has deleted by giving it an
 * expire in the past. */
void propagateExpired(const client *c, slice key);
/* Keeps the running command from being propagated, whatever it has changed. */
static inline void propagateNothing(void) {
    if (propagateWanted()) propagateOverridden();
}
/* Adds an argument. `bytes` must stay until the running command has ended, as long arguments are not copied. */
void propagateArg(slice bytes);
/* Adds an argument and copies it. */
void propagateCopied(slice bytes);
/* Add an argument: a word, or a number in decimal digits. */
void propagateWord(const char *word);
void propagateNumber(long long n);
/* Adds the client's arguments from `first` up to but not including `end`. */
void propagateArgs(const client *c, uint32_t first, uint32_t end);
/* Completes the command that propagateInstead() has begun. */
void propagateDone(void);
/* Propagates the running command as it was sent to these targets only, although it changes nothing (PUBLISH). */
void propagateAsSentTo(uint32_t targets);

/* Limits the propagation of commands that run from now on to `targets`, also of what their handlers add. Removals by
 * the store still go to all targets. Returns the previous limit. */
uint32_t propagateLimit(uint32_t targets);

/* --- For effects of commands beside their own (event_stream.c) ---------------------------------------------------- */

/* Sets the function that is called when a command has ended, one of a transaction or a script too; NULL: none. It may
 * change the keyspace, and propagate that by propagateServer(), within the command's unit. Without a command it is
 * called before the next one if a unit is held. */
void propagateOnCommandEnd(void (*fn)(void));
/* Begins a command in database `dbid`, as propagateInstead() does, but beside the running command, and for all sinks.
 * Call only if propagateWanted(). */
void propagateServer(int dbid, const char *name);
/* Call when something will be propagated beside what happens now: at the end of the running command; or, if none runs
 * and the store removes keys, before propagateRelease(), which has to be called in the same loop iteration and ends
 * the unit that is kept open until then. May be called again. */
void propagateHold(void);
void propagateRelease(void);
/* Returns whether a unit is held. */
bool propagateIsHeld(void);

/* --- For call() --------------------------------------------------------------------------------------------------- */

/* Runs a command by calling `run`, which is or calls its handler, and propagates its effect; after the outermost
 * command the unit is complete. Call only if propagateWanted(). */
void propagateRun(client *c, void (*run)(client *c));

/* --- For commands that serve other clients (sliced.h) ------------------------------------------------------------- */

typedef struct propagateOuter {
    unsigned depth;
    uint32_t running;
    bool alone_each;
} propagateOuter;

/* Suspends the unit of the running command, so that commands of other clients are units of their own. Returns false if
 * that is impossible, as something in it waits to be written or was written. */
bool propagateSuspend(propagateOuter *outer) must_check;
/* Ends that. */
void propagateResume(const propagateOuter *outer);

/* --- Debug builds check everything that is propagated (propagate_check.c) ----------------------------------------- */

/* Call at startup: from then on each item is asserted to be a command that its reader knows. Does nothing in release
 * builds. */
void propagateCheckInit(void);

#endif
