/* stream_apply.h -- applies the replication stream of the primary, and sends acknowledgments.
 *
 * While the link is up it is a client with the flag CLIENT_PRIMARY, whose requests are the stream.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPL_STREAM_APPLY_H
#define REPL_STREAM_APPLY_H

#include "client.h"
#include "connection.h"

/* Call at startup. `lost` is called when the link has ended, but not by streamApplyLeave(). The replication offset is
 * then that of the last command applied; `whole` is false if the primary has violated the protocol, so that the stream
 * cannot be continued from there. */
void streamApplyInit(void (*lost)(bool whole));
/* Begins to apply the bytes that arrive on `conn` (takes ownership), which follow the replication offset. `old_style`
 * (after SYNC): the primary expects no acknowledgments. */
void streamApplyBegin(connection *conn, bool old_style);
/* Returns whether there is a link. */
bool streamApplyIsOpen(void);
/* Ends the link, which must exist. Returns `whole` as described above. */
bool streamApplyLeave(void);
/* Closes the connection of the link, as if the primary had closed it: `lost` will be called. */
void streamApplyClose(void);

/* Returns the database of the primary's next command. */
int streamApplyDb(void);
/* Sets the database in which the next link begins. */
void streamApplySetDb(int db);
/* Returns when bytes of the primary last arrived (monotonic). */
uint64_t streamApplyLastInputMs(void);
/* Returns the replication offset up to which bytes were received. */
uint64_t streamApplyReadOffset(void);
/* Returns the bytes that all links have received since startup. */
uint64_t streamApplyInput(void);

/* Returns the offset that is applied, as the primary counts; after SYNC the count begins at -1. */
long long streamApplyOffset(void);

/* Sends the primary the offset that is applied, and, if `with_disk` and there is a log, the one on the disk. Does
 * nothing without a link. */
void streamApplyAck(bool with_disk);
/* Acknowledges if the offset has changed. Call at each tick, so that clients of the primary that use WAIT need not wait
 * for the next second. */
void streamApplyAckChanges(void);
/* Acknowledges, unless the link was begun by SYNC. Call once a second. */
void streamApplyAckAnyway(void);
/* Handles REPLCONF GETACK: acknowledges if `c` is the client of the link. */
void streamApplyOnGetack(client *c);

#endif
