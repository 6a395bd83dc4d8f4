/* stream_apply.h -- the stream of the primary, applied; and what the primary is told of it.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPL_STREAM_APPLY_H
#define REPL_STREAM_APPLY_H

#include "client.h"
#include "connection.h"

/* Boot. `lost`: it has ended, but not by streamApplyLeave(). The stream's offset is where it was applied up to, and
 * with `whole` it can be gone on with there. */
void streamApplyInit(void (*lost)(bool whole));
/* Apply what comes on a connection (takes it), from the stream's offset on. `old_style`: the primary counts nothing,
 * and is told nothing. */
void streamApplyBegin(connection *conn, bool old_style);
bool streamApplyIsOpen(void);
/* It is not to go on. As `whole` above. */
bool streamApplyLeave(void);
/* As if the primary had closed it. */
void streamApplyClose(void);

/* The database in which the primary's next command works, or, without a session, will when there is one. */
int streamApplyDb(void);
void streamApplySetDb(int db);
/* When the primary was last heard of, monotonic. */
uint64_t streamApplyHeardMs(void);
/* The offset of what has been received. */
uint64_t streamApplyReadOffset(void);
/* Bytes that all sessions have received. */
uint64_t streamApplyInput(void);

/* The offset of what has been applied, as the primary counts: that of an old-style one begins at -1. */
long long streamApplyOffset(void);

/* Tell the primary how far this server is, and with `with_disk` its disk. Nothing without a session. */
void streamApplyAck(bool with_disk);
/* Each tick: the same if that has changed, so that whoever waits for it there does not wait for the next second. */
void streamApplyAckChanges(void);
/* ... and each second in any case. An old-style primary is told nothing that it has not asked for. */
void streamApplyAckAnyway(void);
/* A client wants to know how far this server is: it is told if it is the primary. */
void streamApplyAsked(client *c);

#endif
