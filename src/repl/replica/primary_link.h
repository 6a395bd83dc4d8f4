/* primary_link.h -- a replica's link to its primary, from the decision to follow it until its stream is applied.
 *
 *   OFF       this server is a primary
 *   CONNECT   the link is to be made, at the next tick or at once
 *   TALKS     a job connects, shakes hands, asks for the replication stream, and waits for the header of an RDB
 *   RECEIVES  a job writes the RDB to disk
 *   LOADS     the RDB is loaded
 *   JOINS     the RDB is loaded; the part of the stream that came meanwhile is about to be taken over
 *   UP        the replication stream is applied
 *
 * Runs on: main; what changes the link, main's own thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPL_PRIMARY_LINK_H
#define REPL_PRIMARY_LINK_H

#include "ae.h"
#include "client.h"
#include "gates.h"

typedef enum {
    PRIMARY_OFF,
    PRIMARY_CONNECT,
    PRIMARY_TALKS,
    PRIMARY_RECEIVES,
    PRIMARY_LOADS,
    PRIMARY_DRAINS,
    PRIMARY_UP
} primaryState;

/* Registers the link with main's event loop. Boot only. `hide_user_data` returns whether names of keys stay out of the
 * log. */
void primaryLinkInit(aeEventLoop *loop, bool (*hide_user_data)(void));
/* Makes this server a replica if its configuration names a primary. Call once when the configuration has been read and
 * before the dataset is loaded. */
void primaryLinkPrepare(void);
/* Begins to follow the configured primary, or to take writes if there is none. Call when the dataset is loaded. */
void primaryLinkBegin(void);
/* Takes over the replication ID, the offset and the database of the stream that a loaded file names. A replica asks its
 * primary for what follows that offset. */
void primaryLinkRemember(const char *id, uint64_t offset, int stream_db);

/* Returns whether this server is a replica, with or without a working link. */
bool primaryLinkWanted(void);
/* Returns whether the link is in UP. */
bool primaryLinkIsUp(void);
/* Makes this server a replica of `host`, also if it is one of another server or of the same one. Copies `host`. */
void primaryLinkFollow(const char *host, long long port);
/* Makes this server a primary. Does nothing if it is one. */
void primaryLinkLeave(void);
/* Makes this server, which must be a primary, a replica of one of its replicas and asks that one to become the primary.
 * Its answer goes to the function that was set by primaryLinkOnFailover(). */
void primaryLinkFollowForFailover(const char *host, long long port);
/* Sets the function that is called with the target's answer. Boot only. */
void primaryLinkOnFailover(void (*answered)(bool accepted));
/* Sets the function that is called with a status line for the administrator when a synchronization has succeeded. Boot
 * only. */
void primaryLinkOnSync(void (*tell)(const char *status));
/* Connects if that is due, and ends a link that was silent for repl-timeout. Call once a second. */
void primaryLinkTick(void);
/* Sends the primary a newline at most once a second, so that it does not time this server out. Call while a dataset is
 * loaded. */
void primaryLinkWhileLoading(void);

/* The figures that INFO and ROLE show. */
typedef struct primaryFigures {
    primaryState state;
    const char *role_word;                 /* of ROLE */
    long long heard_ago_s;                 /* -1: no link */
    long long read_offset, applied_offset; /* 1 before there was a stream, as in Valkey */
    bool syncing;
    long long sync_total, sync_read, sync_heard_ago_s;
    long long down_since_s; /* seconds since the link was lost; -1: it was never up */
    uint64_t input_bytes;   /* received by all links so far */
    size_t kept, kept_peak; /* bytes in the stream buffer of a dual-channel synchronization */
} primaryFigures;
primaryFigures primaryLinkFigures(void);

/* The functions of GATE_REDIRECT (CLIENT CAPA redirect enables it for a client), GATE_REPLICAS and GATE_STALE. */
gateResult primaryRedirectGate(client *c);
gateResult primaryReadonlyGate(client *c);
gateResult primaryStaleGate(client *c);
/* Enables or disables the gates, and sets how the store treats expired keys, for the present role and settings. Call
 * when a setting about replicas has changed. */
void primaryLinkApplySettings(void);

#endif
