/* propagate.h -- what others get of a change: the append-only file, and those who follow this server.
 *
 * A unit is what one command of a client, one served waiter, one eviction or one expired key did; it has items, each a
 * command with its database. call() adds the command as it was sent when it has changed something, unless its handler
 * has said what stands for it:
 *
 *   if (propagateInstead(c, "PEXPIREAT")) {              nobody listens: false, and that is all
 *       propagateArg(key.name);
 *       propagateNumber(when_ms);
 *       propagateDone();                                 once for each command in its place
 *   }
 *   propagateNothing();                                  what it has changed is its own affair
 *
 * What the server removes meanwhile (keys whose time is over, evicted ones) stands before it. One item is written bare,
 * several between MULTI and EXEC; EXEC is one unit of all that its queue did.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_PROPAGATE_H
#define ENGINE_PROPAGATE_H

#include "client.h"

/* --- Who takes it ----------------------------------------------------------------------------------------------- */

enum {
    PROPAGATE_AOF = 1,
    PROPAGATE_REPLICAS = 2,
    PROPAGATE_CHECK = 4, /* of debug builds (propagate_check.h) */
    PROPAGATE_ALL = PROPAGATE_AOF | PROPAGATE_REPLICAS | PROPAGATE_CHECK
};

/* A command in its wire form ("*2\r\n$4\r\nINCR\r\n..."): the bytes of all pieces, one behind the other, as a rule one
 * piece. Borrowed until the call returns. MULTI and EXEC are items of their own, with dbid -1. */
typedef struct propagateItem {
    int dbid;       /* the database that it works in: a sink writes SELECT where its stream needs it. -1: none */
    bool ends_unit; /* between the items of a unit no other one comes, and no turn ends */
    uint32_t count;
    size_t bytes; /* of all pieces */
    const slice *pieces;
} propagateItem;

typedef struct propagateSink {
    uint32_t target; /* one of them */
    /* Takes what it wants to keep; cannot fail, and runs no commands. */
    void (*take)(const propagateItem *item);
} propagateSink;

/* From the next unit on `sink`, which stays where it is, is told; until it is taken off again. One for each target. */
void propagateAddSink(const propagateSink *sink);
void propagateRemoveSink(const propagateSink *sink);

/* A sink notes the offset at which the last write of the client ends, in what it makes of the items. Of PROPAGATE_AOF
 * and PROPAGATE_REPLICAS. */
void propagateNoteWrite(client *c, uint32_t target, uint64_t offset);
/* Returns that offset; 0 if the client has written nothing. */
uint64_t propagateWriteEnd(const client *c, uint32_t target);
/* Call when the dataset is removed and another one loaded: the writes of clients are in neither the log nor the stream
 * that follow, so their offsets are set to one that neither reaches, until they write again. */
void propagateLoseWrites(void);

/* Targets with a sink. */
extern uint32_t propagate_armed;
static inline bool propagateWanted(void) {
    return unlikely(propagate_armed != 0);
}

/* Boot: hears of what the store removes. */
void propagateInit(void);

/* --- What handlers say ------------------------------------------------------------------------------------------- */

/* For the inlines below. */
void propagateBegin(int dbid, slice name);
void propagateOverridden(void);

/* A command in place of the running one begins, in the client's database. Then its arguments and propagateDone(),
 * without anything between them that could remove keys. False: nobody wants to know. */
static inline bool propagateInstead(const client *c, const char *name) {
    if (!propagateWanted()) return false;
    propagateBegin(dbId(c->db), sliceStr(name));
    return true;
}
/* The same, with the name as the client spelled it. */
static inline bool propagateRewritten(const client *c) {
    if (!propagateWanted()) return false;
    propagateBegin(dbId(c->db), c->argv[0]);
    return true;
}
/* A key of the client's database has gone because the running command gave it a time that is over: UNLINK or DEL. */
void propagateExpired(const client *c, slice key);
/* The running command is not propagated, whatever it has changed. */
static inline void propagateNothing(void) {
    if (propagateWanted()) propagateOverridden();
}
/* `bytes` stay until the command has ended: long ones are not copied. */
void propagateArg(slice bytes);
/* Bytes that do not. */
void propagateCopied(slice bytes);
void propagateWord(const char *word);
void propagateNumber(long long n);
/* Arguments of the client from `first` up to `end`. */
void propagateArgs(const client *c, uint32_t first, uint32_t end);
void propagateDone(void);
/* The running command is sent on as it came, to some only, although it changes nothing (PUBLISH). */
void propagateAsSentTo(uint32_t targets);

/* What runs from now on goes to these targets only, whatever its handlers say; what the store removes goes to all.
 * Returns what was in force. */
uint32_t propagateLimit(uint32_t targets);

/* --- For call() -------------------------------------------------------------------------------------------------- */

/* Run a command by `run`, its handler or what calls that. What stands for it is added; behind the outermost command the
 * unit is complete. While somebody wants to know. */
void propagateRun(client *c, void (*run)(client *c));

#endif
