/* command_record.h -- makes records (parsedCommand) of arguments: for connections, and for all code that executes
 * commands without one (transactions, scripts, the append-only file, the replication stream on a replica).
 *
 * A record lies in an arena that its maker owns, together with its argument vector and keys. Its arguments point to
 * bytes that live as long as the record. recordDetach() makes a record that stands alone.
 *
 * Runs on: any thread; an arena and a cache belong to one thread. The command table does not change after startup.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_COMMAND_RECORD_H
#define ENGINE_COMMAND_RECORD_H

#include "request.h"

/* Memory that is freed as a whole: a first piece that the caller provides, and further pieces that the arena
 * allocates. */
typedef struct recordArena {
    char *at;                   /* next free byte */
    size_t left;                /* free bytes from there on */
    struct recordChunk *chunks; /* owns */
} recordArena;

/* Starts an arena with the `bytes` at `first`, which is aligned to 16 and stays the caller's. Does not free the pieces
 * that the arena owned before: call recordArenaFree() first. */
void recordArenaInit(recordArena *a, void *first, size_t bytes);
/* Frees all pieces but the first. */
void recordArenaFree(recordArena *a);
/* Returns the size in bytes of all pieces but the first. */
size_t recordArenaMemory(const recordArena *a);
/* Allocates memory that is aligned to 16. Never returns NULL. */
void *recordArenaAlloc(recordArena *a, size_t bytes);
/* Reserves capacity for a record of `argc` arguments with its keys, so that making it allocates no more memory. Returns
 * false if there is no memory. */
bool recordArenaPrepare(recordArena *a, size_t argc) must_check;

/* The command that a thread has looked up last: clients often send the same command again. Initialize to zero. */
typedef struct recordCache {
    bool own_names;                     /* const: names unknown to clients are also
                                         * looked up by commandLookupByOwnName() */
    const struct serverCommand *recent; /* borrowed; the command called `name`, which has no subcommands; or NULL */
    size_t name_len;
    char name[16];
} recordCache;

/* Returns an empty record of `argc` arguments. The caller fills in argv and, as far as it knows them, wire, wire_len
 * and REQ_INLINE; then it calls recordComplete(). */
parsedCommand *recordCreate(recordArena *a, size_t argc);
/* Completes a record: looks the command up, checks its arity, extracts and hashes its keys, hashes the fields or
 * members that it looks up in the first key's value, finds the slot if slots are on, and builds the value of a SET-like
 * command as an object of thread `owner`. Errors of the request become REQ_ flags. Key flags are those of the key spec,
 * also where they vary with the arguments. Returns the bytes that the value added; the value takes over the allocation
 * of a large argument, whose bytes do not count (request.h). */
size_t recordComplete(recordArena *a, recordCache *cache, parsedCommand *p, unsigned owner);
/* Does the same for a command that is read from a file, by a thread that owns no values. */
size_t recordCompleteStored(recordArena *a, recordCache *cache, parsedCommand *p);

/* Marks a record whose cost is to be measured. Moves its keys, so that a new requestSample precedes them, and returns
 * the sample. The record must have keys and must not have been handed over yet. */
requestSample *recordSample(recordArena *a, parsedCommand *p);

/* Returns a copy of the record in one allocation of its own: arguments in their wire form, keys, hashes and flags. The
 * value and large arguments move to it. Returns NULL if there is no memory; then `p` is unchanged. */
parsedCommand *recordDetach(parsedCommand *p) must_check;
/* Frees a detached record, and its value unless a handler has taken it. NULL is allowed. */
void recordFree(parsedCommand *p);
/* Returns the bytes that a detached record uses, its value included. */
size_t recordMemory(const parsedCommand *p);

/* Sets whether records get their slot and REQ_CROSS_SLOT (cluster mode). Call at startup, with keyHashSetSlots(). */
void recordSetSlots(bool on);

#endif
