/* replicas.h -- the replicas of this server: their phases and offsets, and sending them the replication stream.
 *
 *   NONE            has sent REPLCONF only, and is an ordinary client
 *   WAIT_START      has requested the dataset; no child writes it yet
 *   WAIT_END        a child writes the dataset; commands that run meanwhile stay in the backlog for this replica
 *   SEND_FILE       receives the file; there is no such phase if the child writes to the connection (diskless)
 *   ONLINE          receives the replication stream
 *   SNAPSHOT_SENT   has requested the RDB alone (rdb-only), and has received it
 *   LOADS_BESIDE    receives the replication stream while its second connection receives the dataset (dual channel)
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPL_REPLICAS_H
#define REPL_REPLICAS_H

#include "backlog.h"
#include "client.h"
#include "cluster_types.h"

typedef enum {
    REPLICA_NONE,
    REPLICA_WAIT_START,
    REPLICA_WAIT_END,
    REPLICA_SEND_FILE,
    REPLICA_ONLINE,
    REPLICA_SNAPSHOT_SENT,
    REPLICA_LOADS_BESIDE
} replicaPhase;

/* The requirements of a replica for a snapshot. */
typedef struct syncNeeds {
    unsigned version;           /* the replica's version, 0x00MMmmpp; 0 if it has not announced one */
    bool no_keys, no_functions; /* REPLCONF rdb-filter-only */
} syncNeeds;

typedef struct replicaState {
    client *c; /* borrowed: the connection's session */
    replicaPhase phase;
    listNode *node; /* in the list of replicas; NULL without a phase */
    /* Announced by REPLCONF. */
    sds ip;         /* owns; NULL for the address of the connection */
    long long port; /* 0 if it has not announced one */
    bool reads_eof, reads_psync2, skips_checksum, dual_channel;
    nodeId node_id;     /* in a cluster; none if it has not announced one */
    bool old_style;     /* used SYNC: it sends no acknowledgments */
    bool snapshot_only; /* REPLCONF rdb-only */
    syncNeeds needs;
    /* The replication stream. */
    backlogCursor at;        /* the next byte to send; valid while `has_cursor` */
    bool has_cursor;         /* the bytes from `at` on stay in the backlog for this replica */
    bool streams;            /* ... and are sent to it */
    bool awaits_ack;         /* they are sent once it reports that it has loaded the dataset */
    bool has_loaded;         /* it has reported that before this server noticed the end of the transfer */
    long long acked, synced; /* offsets that it has acknowledged: applied, and on its disk (-1 before the first) */
    uint64_t acked_ms;       /* monotonic: its last acknowledgment or change of phase */
    uint64_t waits_since_ms; /* monotonic: the start of WAIT_START */
    /* Of write_throttle.c, while much is kept for it. */
    uint64_t received, received_ms; /* offset that it had received, and since when (monotonic) */
    size_t kept_at_limit;           /* of a closed connection: bytes kept for it, if that was beyond its output limit */
    /* A dual-channel replica. */
    bool is_rdb_channel; /* this connection gets the dataset, and keeps an offset for the other one */
    uint64_t rdb_id;     /* the other connection: client ID of the RDB channel that keeps its offset; 0 without one */
    uint64_t sent_ms;    /* RDB channel, monotonic: when the dataset was sent */
} replicaState;

/* Call once, at startup. */
void replicasInit(void);
/* Returns the client's replica state, and creates it if there is none. */
replicaState *replicaOf(client *c);
/* Returns the client's replica state, or NULL if it has sent neither REPLCONF nor PSYNC. */
replicaState *replicaFind(const client *c);
/* Makes the client, which has requested the dataset or the replication stream, a replica: adds it to the list and sets
 * CLIENT_REPLICA. The caller sets its phase. */
void replicaBegin(replicaState *r);
/* Returns the replica with a phase that connected next after `r`: the first one if that is NULL, and NULL after the
 * last. A loop over all is `for (replicaState *r = NULL; (r = replicasNext(r)) != NULL;)`. */
replicaState *replicasNext(const replicaState *r);
size_t replicasCount(void);
/* Returns "ip:port" as the replica announces itself, for the log. Valid until the next call. */
const char *replicaName(const replicaState *r);
/* Writes the IP address that the replica announces, or that of its connection, to `ip`. */
void replicaAddress(const replicaState *r, char *ip, size_t size);

/* Sets the replica's cursor to `offset`: from now on the backlog keeps the bytes after it. Returns false if the backlog
 * does not have them any more. */
bool replicaSetCursor(replicaState *r, uint64_t offset) must_check;
/* Returns the RDB channel with that client ID, if it has a cursor for its other connection, or NULL. */
replicaState *replicaWithCursorFor(uint64_t rdb_id);
/* Returns the number of RDB channels that have one. */
size_t replicasWaitingPsync(void);
/* Removes the cursor, if there is one, and stops the stream. */
void replicaDropCursor(replicaState *r);
/* Begins to send the replication stream, from the cursor on. */
void replicaStartStream(replicaState *r);
/* Sets the phase to ONLINE. The stream begins at once, or with `awaits_ack` when the replica has loaded the dataset. */
void replicaOnline(replicaState *r, bool awaits_ack);
/* Sets the phase to LOADS_BESIDE and begins to send the stream. */
void replicaLoadsBeside(replicaState *r);
/* Adds new bytes of the replication stream to the output of all replicas that receive it, and trims the backlog. Call
 * before output is sent. */
void replicasFeed(void);
/* Returns the offset up to which the replica has received the stream, or a lower one while it has other output. */
uint64_t replicaReceived(const replicaState *r);
/* Returns the bytes that the replica which is furthest behind has not received. */
size_t replicasKeptForOne(void);
/* Returns the bytes that were sent to all replicas since startup. */
uint64_t replicasSent(void);
/* Records an acknowledgment: the offset that is applied, and the one on the replica's disk (-1 without one). Ignores
 * the latter beyond the end of the stream: it belongs to another stream. */
void replicaAck(replicaState *r, long long offset, long long synced);
/* Closes the connections of all replicas: they have to reconnect, because the replication ID has changed. */
void replicasDisconnect(void);
/* Returns the number of online replicas that have acknowledged at least `offset`. */
size_t replicasAcked(uint64_t offset);
/* Returns the number of online replicas of that version (as in syncNeeds) or a newer one that have not acknowledged
 * `offset`. */
size_t replicasWithout(uint64_t offset, unsigned version);
/* Returns the number of online replicas that have it on their disk. */
size_t replicasSynced(uint64_t offset);
/* Returns whether each online replica has acknowledged the whole stream. */
bool replicasHaveAll(void);
/* Logs each online replica that has not, and how many have. */
void replicasLogLag(void);
/* Adds a function that is called for each acknowledgment; there may be two. Call at startup only. */
void replicasOnAck(void (*fn)(void));
/* Returns the number of online replicas that have sent an acknowledgment in the last min-replicas-max-lag seconds. */
size_t replicasGood(void);
/* Sets the function that is called when the connection of a replica with a phase is closed. Call at startup only. */
void replicasOnClose(void (*fn)(replicaState *r));
/* Returns the name of a phase as INFO shows it. */
const char *replicaPhaseName(replicaPhase phase);

#endif
