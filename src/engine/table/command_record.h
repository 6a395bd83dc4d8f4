/* command_record.h -- what makes a record (parsedCommand) of arguments, for whoever has some: connections, and all that
 * executes commands without one (transactions, programs, the append-only file, a replica's stream).
 *
 * A record lies in an arena that its maker owns, together with its argument vector and keys; its arguments point to
 * bytes that live as long. recordDetach() makes one that stands alone.
 *
 * Runs on: any thread; an arena and a cache belong to one. The command table does not change after boot.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_COMMAND_RECORD_H
#define ENGINE_COMMAND_RECORD_H

#include "request.h"

/* Memory that is given back as a whole: a first piece that somebody lends, and pieces of its own behind it. */
typedef struct recordArena {
    char *at;                   /* free from here on ... */
    size_t left;                /* ... so many bytes */
    struct recordChunk *chunks; /* owns */
} recordArena;

/* Start with the `bytes` at `first`, which is aligned to 16. What the arena owned must have been freed. */
void recordArenaInit(recordArena *a, void *first, size_t bytes);
/* Give back all pieces but the first. */
void recordArenaFree(recordArena *a);
/* Bytes of all pieces but the first. */
size_t recordArenaMemory(const recordArena *a);
/* Aligned to 16; never NULL. */
void *recordArenaAlloc(recordArena *a, size_t bytes);
/* Room for a record of so many arguments and its keys: making it takes no more memory. False: there is none. */
bool recordArenaPrepare(recordArena *a, size_t argc) must_check;

/* What a thread has looked up last: clients send the same command again and again. Starts as zeroes. */
typedef struct recordCache {
    bool own_names;                     /* const: a name that clients do not know may be a command's own
                                           (commandLookupByOwnName()) */
    const struct serverCommand *recent; /* borrowed; the command called `name`, which has no subcommands */
    size_t name_len;
    char name[16];
} recordCache;

/* A record with room for `argc` arguments, which the caller fills in (argv), and wire, wire_len and REQ_INLINE as far
 * as it knows them; then recordComplete(). */
parsedCommand *recordCreate(recordArena *a, size_t argc);
/* Look the command up, check its arity, extract and hash its keys, and the fields or members that it looks up in the
 * first one's value, find the slot if slots are on, and build the value of a SET-like command, as made by thread
 * `owner`. What is wrong with the request becomes a REQ_ flag. Where the flags of a key spec vary with the arguments,
 * the record has those of the spec. Returns the bytes that building the value took: a large argument is taken
 * (request.h). */
size_t recordComplete(recordArena *a, recordCache *cache, parsedCommand *p, unsigned owner);
/* The same for what is read from a file, by threads that own nothing. */
size_t recordCompleteStored(recordArena *a, recordCache *cache, parsedCommand *p);

/* The record is picked: what it costs is wanted. Its keys move, behind a requestSample, which is returned. Only a
 * record with keys that has not been handed over. */
requestSample *recordSample(recordArena *a, parsedCommand *p);

/* A record in one allocation of its own: copies of the arguments in their wire form, keys, hashes, flags; the value
 * and large arguments move to it. NULL when memory is refused (`p` is as before). */
parsedCommand *recordDetach(parsedCommand *p) must_check;
/* Free a detached record and the value that nobody has taken from it. NULL is fine. */
void recordFree(parsedCommand *p);
/* Bytes that a detached record costs, its value included. */
size_t recordMemory(const parsedCommand *p);

/* Fill in slot and REQ_CROSS_SLOT from now on (cluster mode). Boot only. */
void recordSetSlots(bool on);

#endif
