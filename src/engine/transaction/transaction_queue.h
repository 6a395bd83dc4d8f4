/* transaction_queue.h -- a client in MULTI: its queue, the keys it watches, and the gates of its commands.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_TRANSACTION_QUEUE_H
#define ENGINE_TRANSACTION_QUEUE_H

#include "command_table.h"
#include "gates.h"

/* --- WATCH: which clients watch which keys (watch.c) -------------------------------------------------------------- */

/* A watched key counts as changed when it is written to, created or deleted, or has expired: then every client that
 * watches it gets CLIENT_DIRTY_CAS and watches nothing any more, unless its whole database was emptied. A key that had
 * expired when it was watched counts as absent: its deletion is no change. */

/* The keys that one client watches; part of the client's transaction state. Initialize to zero. */
typedef struct watchList {
    struct watcher *first; /* owns */
    size_t count, bytes;
    client *c; /* borrowed */
} watchList;

typedef struct watchTotals {
    size_t clients, keys; /* clients that watch keys; keys that are watched */
} watchTotals;
extern watchTotals watch_totals;

/* Watches a key of the client's database. Does nothing if the client watches it already. */
void watchKey(watchList *w, client *c, hashedKey key);
/* Ends the watching of all keys of the list. */
void watchForget(watchList *w);
/* Returns whether a key has expired that was present when the client began to watch it. */
bool watchHasExpired(const watchList *w);

/* --- MULTI (transaction_queue.c) ---------------------------------------------------------------------------------- */

typedef struct multiState {
    watchList watched;
    parsedCommand **queue; /* owns the array, and the records as the drawing in transaction_queue.c says */
    size_t capacity;
    uint32_t count, detached;
    uint32_t cmd_flags; /* each is a flag of some queued command */
    uint32_t cmd_lacks; /* each is a flag that some queued command does not have */
    size_t bytes;       /* bytes of the queued requests */
    size_t memory;      /* bytes of detached records */
    bool main_thread;   /* a queued command runs on main's own thread only */
} multiState;

/* Call at startup, after commandTableSeal(). */
void transactionQueueInit(void);

/* Returns the client's state; creates it if there is none. */
multiState *transactionState(client *c);
/* Returns the same, or NULL if the client has run neither MULTI nor WATCH. */
multiState *transactionOf(const client *c);
/* Begins a transaction (MULTI). */
void transactionBegin(client *c);
/* Ends a transaction, executed or not: frees the queue and forgets the watched keys. Does nothing for a client that has
 * run neither MULTI nor WATCH. */
void transactionEnd(client *c);

/* The functions of GATE_TRANSACTION, which refuses commands that are not allowed in MULTI, and of GATE_QUEUE, which
 * queues the others. Both gates are enabled for clients in MULTI. */
gateResult transactionGate(client *c);
gateResult queueGate(client *c);

/* Drops the queue of a client in MULTI one of whose commands was refused: its EXEC will fail. */
void transactionRefused(client *c);
/* Returns whether the running command is EXEC. */
bool transactionIsExec(const client *c);
/* Refuses EXEC, in MULTI or not, with `error` ("-OOM ..." or a text without a code), and ends the transaction. Monitors
 * are shown the EXEC, as they were shown its MULTI. */
void transactionRefuseExec(client *c, const char *error);
/* Adds a gate's error as the reply to the running command; calls transactionRefuseExec() if that is EXEC. */
void transactionRefuse(client *c, const char *error);
/* Returns whether the running command lacks this flag or, if it is EXEC, some queued command does. */
bool transactionLacks(const client *c, uint32_t flag);
/* Returns the flags of the running command; for EXEC together with those of all queued commands. */
uint32_t transactionFlags(const client *c);
/* Does the same as transactionFlags(), which it calls only for a client in MULTI. */
static inline uint32_t commandFlagsNow(const client *c) {
    return unlikely(c->flags & CLIENT_MULTI) ? transactionFlags(c) : commandFlags(c->cmd, c->argv, c->argc);
}

/* Returns the bytes of the queued requests. */
size_t transactionBytes(const client *c);

/* Copies the queued records that lie in the client's first request block. Call before the block goes back to its
 * reader. If there is no memory the transaction will fail. */
void transactionLeaveBlock(client *c);

#endif
