/* stream.h -- this server's stream of writes: its name, how long it is, and its last bytes.
 *
 * A primary makes it of what is propagated; a replica gets it from its primary, and has the same name, offsets and
 * bytes, so that others can go on with either. Names are forty hexadecimal digits. A server that leaves one stream for
 * another remembers up to where both were the same (the second name).
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPL_STREAM_H
#define REPL_STREAM_H

#include "backlog.h"

#define REPL_ID_BYTES 40

typedef struct streamName {
    char id[REPL_ID_BYTES + 1];
    char id2[REPL_ID_BYTES + 1]; /* zeros: none */
    long long id2_until;         /* the first offset that is not the same, as the protocol counts (from 1); -1: none */
} streamName;

/* Boot: a name that nobody has had. */
void streamInit(void);
const streamName *streamNames(void);
/* Another name, and no second one. */
void streamRename(void);
/* A name of its own from here on, the one so far is the second: this server goes its own way. */
void streamLeave(void);
/* The stream goes on under the name that its primary tells; the one so far becomes the second. */
void streamContinueAs(const char *id);
/* The dataset is at `offset` of the stream `id`, nothing else is known, and nothing is kept. */
void streamFollow(const char *id, uint64_t offset);
/* A file that this server begins with was at that place of that stream: what is written now goes on behind it. */
void streamResume(const char *id, uint64_t offset);

/* Bytes of the stream that this dataset has. */
uint64_t streamOffset(void);
/* The last ones; only while they are kept. */
bool streamIsKept(void);
backlog *streamBacklog(void);
void streamKeep(void);
void streamDrop(void);
/* repl-backlog-size has changed. */
void streamApplySize(void);

/* --- A primary's --- */
/* What is propagated goes into the stream while it is kept, or no longer. */
void streamTakeWrites(bool on);
/* Tell once when a write takes the stream beyond `offset`, within the turn that does; UINT64_MAX: no more. */
void streamSetAlarm(uint64_t offset);
void streamOnAlarm(void (*fn)(void)); /* boot only */
/* Add a command of the server's own, which is of no database. */
void streamSay(slice wire);
/* The next write says which database it is for. */
void streamForgetDb(void);
int streamDb(void); /* -1: the next write says it */

/* --- A replica's --- */
/* Bytes of a command that has run. What is not committed is taken back by streamRollback(). */
void streamForward(slice wire);
void streamCommit(uint64_t offset);
void streamRollback(void);

#endif
