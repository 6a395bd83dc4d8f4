/* repl_stream.h -- this server's stream of writes: its name, how long it is, and its last bytes.
 *
 * A primary makes it of what is propagated; a replica gets it from its primary, and has the same name, offsets and
 * bytes, so that others can go on with either. Names are forty hexadecimal digits. A server that leaves one stream for
 * another remembers up to where both were the same (the second name).
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
    char id2[REPL_ID_BYTES + 1]; /* zeros: none */
    long long id2_until;         /* the first offset that is not the same, as the protocol counts (from 1); -1: none */
} replIds;

/* Boot: a name that nobody has had. */
void replStreamInit(void);
const replIds *replicationIds(void);
/* Another name, and no second one. */
void replStreamNewId(void);
/* A name of its own from here on, the one so far is the second: this server goes its own way. */
void replStreamLeave(void);
/* The stream goes on under the name that its primary tells; the one so far becomes the second. */
void replStreamContinueAs(const char *id);
/* The dataset is at `offset` of the stream `id`, nothing else is known, and nothing is kept. */
void replStreamFollow(const char *id, uint64_t offset);
/* A file that this server begins with was at that place of that stream: what is written now goes on behind it. */
void replStreamResume(const char *id, uint64_t offset);

/* Bytes of the stream that this dataset has. */
uint64_t replStreamOffset(void);
/* The last ones; only while they are kept. */
bool replStreamIsKept(void);
backlog *replStreamBacklog(void);
void replStreamKeep(void);
void replStreamDrop(void);
/* repl-backlog-size has changed. */
void replStreamApplySize(void);

/* --- A primary's --- */
/* What is propagated goes into the stream while it is kept, or no longer. */
void replStreamTakeWrites(bool on);
/* Tell once when a write takes the stream beyond `offset`, within the turn that does; UINT64_MAX: no more. */
void replStreamSetAlarm(uint64_t offset);
void replStreamOnAlarm(void (*fn)(void)); /* boot only */
/* Add a command of the server's own, which is of no database. */
void replStreamAppend(slice wire);
/* The next write says which database it is for. */
void replStreamForgetDb(void);
int replStreamDb(void); /* -1: the next write says it */

/* --- A replica's --- */
/* Bytes of a command that has run. What is not committed is taken back by replStreamRollback(). */
void replStreamForward(slice wire);
void replStreamCommit(uint64_t offset);
void replStreamRollback(void);

#endif
