/* repl_stream.h -- this server's replication stream: its ID, its offset and its last bytes.
 *
 * A primary makes the stream of the commands that it propagates. A replica receives it from its primary and keeps the
 * same ID, offsets and bytes, so that other replicas can continue with either server. A replication ID is forty
 * hexadecimal digits. A server that leaves one stream for another keeps the ID of the first (the second ID) with the
 * offset up to which both streams are the same.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPL_REPL_STREAM_H
#define REPL_REPL_STREAM_H

#include "backlog.h"

#define REPL_ID_BYTES 40

typedef struct replIds {
    char id[REPL_ID_BYTES + 1];
    char id2[REPL_ID_BYTES + 1]; /* the second ID; zeros without one */
    long long id2_until;         /* the first offset that differs, counted from 1 as in the protocol; -1 without one */
} replIds;

/* Sets a new random ID. Call at startup. */
void replStreamInit(void);
const replIds *replicationIds(void);
/* Sets a new random ID, and removes the second ID. */
void replStreamNewId(void);
/* Begins a stream of this server's own at the present offset: sets a random ID; the present one becomes the second. */
void replStreamLeave(void);
/* Takes over a new ID of the primary's stream, which continues; the present ID becomes the second. */
void replStreamContinueAs(const char *id);
/* Call when the dataset is that of the stream `id` at `offset`: takes over both, removes the second ID, and begins an
 * empty backlog there. */
void replStreamFollow(const char *id, uint64_t offset);
/* Call when a primary has loaded a file that was written at `offset` of the stream `id`: sets the offset, makes `id`
 * the second ID, and begins an empty backlog there. */
void replStreamResume(const char *id, uint64_t offset);

/* Returns the number of bytes of the stream that the dataset includes. */
uint64_t replStreamOffset(void);
/* Returns whether there is a backlog. */
bool replStreamIsKept(void);
/* Returns the backlog, which must exist. */
backlog *replStreamBacklog(void);
/* Begins an empty backlog at the present offset, unless there is one. */
void replStreamKeep(void);
/* Frees the backlog, if there is one. */
void replStreamDrop(void);
/* Applies a changed repl-backlog-size. */
void replStreamApplySize(void);

/* --- For a primary --- */
/* Sets whether propagated commands are appended to the stream while there is a backlog. */
void replStreamTakeWrites(bool on);
/* Calls the alarm function once, when a write moves the offset beyond `offset`; UINT64_MAX cancels that. */
void replStreamSetAlarm(uint64_t offset);
/* Sets the alarm function. Call at startup only. */
void replStreamOnAlarm(void (*fn)(void));
/* Appends a command of the server itself, which belongs to no database. Does nothing unless writes are appended. */
void replStreamAppend(slice wire);
/* Makes the next write be preceded by a SELECT of its database. */
void replStreamForgetDb(void);
/* Returns the database that is selected in the stream, or -1 if the next write selects one. */
int replStreamDb(void);

/* --- For a replica --- */
/* Appends the bytes of a command that has run. They count from replStreamCommit() on. */
void replStreamForward(slice wire);
/* Moves the offset to `offset`, which must be the end of the bytes that were appended. */
void replStreamCommit(uint64_t offset);
/* Removes the bytes that were appended and not committed. */
void replStreamRollback(void);

#endif
