/* primary_session.h -- the stream of the primary, applied; and what the primary is told of it.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPL_PRIMARY_SESSION_H
#define REPL_PRIMARY_SESSION_H

#include "client.h"
#include "connection.h"

/* Boot. `lost`: it has ended, but not by primarySessionLeave(). The stream's offset is where it was applied up to, and
 * with `whole` it can be gone on with there. */
void primarySessionInit(void (*lost)(bool whole));
/* Apply what comes on a connection (takes it), from the stream's offset on. `old_style`: the primary counts nothing,
 * and is told nothing. */
void primarySessionBegin(connection *conn, bool old_style);
bool primarySessionIsOpen(void);
/* It is not to go on. As `whole` above. */
bool primarySessionLeave(void);
/* As if the primary had closed it. */
void primarySessionClose(void);

/* The database in which the primary's next command works, or, without a session, will when there is one. */
int primarySessionDb(void);
void primarySessionSetDb(int db);
/* When the primary was last heard of, monotonic. */
uint64_t primarySessionHeardMs(void);
/* The offset of what has been received. */
uint64_t primarySessionReadOffset(void);
/* Bytes that all sessions have received. */
uint64_t primarySessionInput(void);

/* The offset of what has been applied, as the primary counts: that of an old-style one begins at -1. */
long long primarySessionOffset(void);

/* Tell the primary how far this server is, and with `with_disk` its disk. Nothing without a session. */
void primarySessionAck(bool with_disk);
/* Each tick: the same if that has changed, so that whoever waits for it there does not wait for the next second. */
void primarySessionTell(void);
/* ... and each second in any case. An old-style primary is told nothing that it has not asked for. */
void primarySessionTellAnyway(void);
/* A client wants to know how far this server is: it is told if it is the primary. */
void primarySessionAsked(client *c);

#endif
