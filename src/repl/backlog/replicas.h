/* replicas.h -- the connections of those who follow this server, and what each is sent.
 *
 *   (REPLCONF)      said something of itself: a client like others
 *   WAIT_START      asked for the dataset; no child writes it yet
 *   WAIT_END        a child does. What is written meanwhile is kept for it
 *   SEND_FILE       gets the file; with a child that writes to it directly there is no such phase
 *   ONLINE          gets the stream
 *   SNAPSHOT_SENT   asked for the dataset alone, and has it
 *   LOADS_BESIDE    gets the stream, while it loads the dataset from its other connection
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPL_REPLICAS_H
#define REPL_REPLICAS_H

#include "backlog.h"
#include "client.h"

typedef enum {
    REPLICA_NONE,
    REPLICA_WAIT_START,
    REPLICA_WAIT_END,
    REPLICA_SEND_FILE,
    REPLICA_ONLINE,
    REPLICA_SNAPSHOT_SENT,
    REPLICA_LOADS_BESIDE
} replicaPhase;

/* What a snapshot has to be for it. */
typedef struct syncNeeds {
    unsigned version;           /* the server's, 0x00MMmmpp; 0: it has not said */
    bool no_keys, no_functions; /* REPLCONF rdb-filter-only */
} syncNeeds;

typedef struct replicaState {
    client *c; /* borrowed: its */
    replicaPhase phase;
    listNode *node; /* among all with a phase; NULL without one */
    /* What it has said of itself. */
    sds ip;         /* owns; NULL: as the connection has it */
    long long port; /* 0: nothing said */
    bool reads_eof, reads_psync2, skips_checksum, dual_channel;
    bool old_style;     /* SYNC: it acknowledges nothing */
    bool snapshot_only; /* REPLCONF rdb-only */
    syncNeeds needs;
    /* The stream. */
    backlogCursor at;        /* while `has_cursor` */
    bool has_cursor;         /* what lies behind `at` is kept for it */
    bool streams;            /* and sent */
    bool awaits_ack;         /* it will be, when it says that it has loaded the dataset */
    bool has_loaded;         /* it has said so before this server knew that all was sent */
    long long acked, synced; /* offsets that it has told: in memory, on its disk */
    uint64_t acked_ms;       /* monotonic: when it was last heard of */
    uint64_t waits_since_ms; /* WAIT_START */
    /* One that has two connections. */
    bool is_rdb_channel; /* gets the dataset, and has a place for the other meanwhile */
    uint64_t rdb_id;     /* the other: the client that has a place for it; 0: none */
    uint64_t sent_ms;    /* RDB channel: the dataset was sent then */
} replicaState;

/* Boot. */
void replicasInit(void);
/* What is known of a client that says it is a replica; made when there is nothing. */
replicaState *replicaOf(client *c);
/* Returns what is known of it; NULL if the client has never said that it is a replica. */
replicaState *replicaKnown(const client *c);
/* The client asks for the dataset, or the stream: from now on it is one of them. */
void replicaBegin(replicaState *r);
/* All with a phase, in the order in which they came. */
list *replicasAll(void);
size_t replicasCount(void);
/* "ip:port", as it announces itself. */
const char *replicaName(const replicaState *r);
/* As it announces itself, or its connection's. */
void replicaAddress(const replicaState *r, char *ip, size_t size);

/* Its place is at `offset`, which is kept from now on. False: it is not there any more. */
bool replicaSetCursor(replicaState *r, uint64_t offset) must_check;
/* The one with that client id that has a place for its other connection; NULL. */
replicaState *replicaWithCursorFor(uint64_t rdb_id);
/* How many have. */
size_t replicasWaitingPsync(void);
void replicaDropCursor(replicaState *r);
/* It is sent all from its place on. */
void replicaStartStream(replicaState *r);
/* It has the dataset, and is shown as online; with `awaits_ack` the stream waits until it has loaded it. */
void replicaOnline(replicaState *r, bool awaits_ack);
/* It is sent the stream, and gets the dataset by another connection. */
void replicaLoadsBeside(replicaState *r);
/* Before output leaves: what is new goes to all who are sent the stream. */
void replicasFeed(void);
/* What is kept for the one that is furthest behind, in bytes. */
size_t replicasKeptForOne(void);
/* Bytes of output that went to all there have been. */
uint64_t replicasSent(void);
/* It has told how far it is (-1: nothing of its disk). An offset on its disk that is
 * beyond the end of the stream is of another stream, and is ignored. */
void replicaAck(replicaState *r, long long offset, long long synced);
/* All must come again, under another name of the stream. */
void replicasDisconnect(void);
/* Those that are online and have acknowledged at least so much; on their disk. */
size_t replicasAcked(uint64_t offset);
size_t replicasSynced(uint64_t offset);
/* Whether each that is online has acknowledged all; and say in the log who has not, and how many have. */
bool replicasHaveAll(void);
void replicasLogLag(void);
/* Who hears of acknowledgements. Boot only. */
void replicasOnAck(void (*fn)(void));
/* Online, and heard of in the last min-replicas-max-lag seconds. */
size_t replicasGood(void);
/* One has gone, which was still to be sent the dataset. Boot only. */
void replicasOnClose(void (*fn)(replicaState *r));
/* As INFO has it. */
const char *replicaPhaseName(replicaPhase phase);

#endif
