/* primary_link.h -- a replica's link to its primary, from REPLICAOF until the replication stream is applied.
 *
 *   OFF        this server is a primary
 *   CONNECT    there is no connection; the next attempt is made at the next tick or at once
 *   HANDSHAKE  a job connects, performs the handshake, sends PSYNC, and waits for the header of an RDB
 *   RECEIVES   a job writes the RDB to disk
 *   LOADS      the RDB is being loaded
 *   DRAINS     the RDB is loaded; the bytes in the stream buffer are to be applied next
 *   UP         the replication stream is applied
 *
 * Runs on: main; functions that change the link, main's own thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPL_PRIMARY_LINK_H
#define REPL_PRIMARY_LINK_H

#include "ae.h"
#include "client.h"
#include "cluster_types.h"
#include "gates.h"

typedef enum {
    PRIMARY_OFF,
    PRIMARY_CONNECT,
    PRIMARY_HANDSHAKE,
    PRIMARY_RECEIVES,
    PRIMARY_LOADS,
    PRIMARY_DRAINS,
    PRIMARY_UP
} primaryState;

/* Registers the link with main's event loop. Call at startup only. */
void primaryLinkInit(aeEventLoop *loop);
/* Makes this server a replica if its configuration names a primary. Call once when the configuration has been read and
 * before the dataset is loaded. */
void primaryLinkPrepare(void);
/* Connects to the configured primary, or begins to accept writes if there is none. Call when the dataset is loaded. */
void primaryLinkBegin(void);
/* Call when the loaded file has a replication ID, an offset and a database. A replica will request the replication
 * stream from that offset on; a primary continues its own stream there. `node` is the id of the node whose stream it
 * is, or an empty text. */
void primaryLinkRemember(const char *id, uint64_t offset, int stream_db, const char *node);

/* Returns whether this server is a replica, with or without a working link. */
bool primaryLinkIsOn(void);
/* Returns whether the link is in UP. */
bool primaryLinkIsUp(void);
/* Makes this server a replica of `host`, even if it already is a replica, of that server or another. Copies `host`. */
void primaryLinkFollow(const char *host, long long port);
/* Sets, in a cluster, the ids of this node and of the one that the next connections are to reach (none on a primary):
 * connections to another node are closed before a synchronization. With `continues` the stream of that node continues
 * the one of the node before. */
void primaryLinkSetNodes(const nodeId *own, const nodeId *expected, bool continues);
/* Returns, in a cluster, the id of the node whose stream the replication offset is of: this one on a primary, and on a
 * replica the primary with which it was last synchronized. Returns an empty text if none is known. The text is valid
 * until the next call that changes the link. */
const char *primaryLinkStreamNode(void);
/* If the present dataset is kept from the empty one of the primary (keep_dataset.h), takes the primary's at the next
 * attempt, which is made at once, and returns true. */
bool primaryLinkTakeEmpty(void);
/* Makes this server a primary. Does nothing if it is one. */
void primaryLinkLeave(void);
/* Makes this server, which must be a primary, a replica of one of its replicas and asks that one, the target, to become
 * the primary. Its answer goes to the function that was set by primaryLinkOnFailover(). */
void primaryLinkFollowForFailover(const char *host, long long port);
/* Sets the function that is called with the target's answer. Call at startup only. */
void primaryLinkOnFailover(void (*answered)(bool accepted));
/* Sets the function that is called with a status line for the service manager when a synchronization has succeeded.
 * Call at startup only. */
void primaryLinkOnSync(void (*report)(const char *status));
/* Connects if that is due, and ends a link that was silent for repl-timeout. Call once a second. */
void primaryLinkTick(void);
/* Sends the primary a newline at most once a second, so that it does not time this server out. Call while a dataset is
 * loaded. */
void primaryLinkWhileLoading(void);

/* The figures that INFO and ROLE show. */
typedef struct primaryFigures {
    primaryState state;
    const char *role_word;                 /* state of the link as ROLE shows it */
    long long last_input_ago_s;            /* seconds since the last input; -1 unless the link is up */
    long long read_offset, applied_offset; /* 1 before there was a stream, as in Valkey */
    bool has_offset;                       /* the offsets are those of the dataset */
    bool follows_stream;                   /* and are of the stream of the node that it follows (cluster) */
    bool syncing;                          /* the primary has answered that it sends the dataset */
    /* Bytes of the RDB; the total is -1 before its header was read, and 0 if the RDB ends with a mark. */
    long long sync_total, sync_read, sync_input_ago_s;
    long long down_since_s;         /* seconds since the link was lost; -1 if it is up or never was */
    uint64_t input_bytes;           /* received on all links since startup */
    size_t buffered, buffered_peak; /* bytes in the stream buffer of a dual-channel synchronization */
} primaryFigures;
primaryFigures primaryLinkFigures(void);

/* GATE_REDIRECT, which CLIENT CAPA redirect enables for a client: redirects a command that writes, or reads unless the
 * client has sent READONLY, to the primary. During a failover the command waits instead. */
gateResult primaryRedirectGate(client *c);
/* GATE_REPLICAS: refuses writes on a read-only replica, and on a primary with fewer good replicas than
 * min-replicas-to-write. */
gateResult primaryReadonlyGate(client *c);
/* GATE_STALE: refuses commands without CMD_STALE while the link is down and replica-serve-stale-data is off. */
gateResult primaryStaleGate(client *c);
/* Enables or disables the gates, and sets how the store treats expired keys and memory limits, according to the present
 * role and settings. Call when a setting of replicas has changed. */
void primaryLinkApplySettings(void);

#endif
