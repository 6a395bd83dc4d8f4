/* primary_link.h -- a replica's link to its primary: from the wish to follow it to the stream that is applied.
 *
 *   OFF       this server is a primary
 *   CONNECT   to be tried at the next tick, or at once
 *   TALKS     a job connects, shakes hands, asks for the stream, waits for the header of a snapshot
 *   RECEIVES  a job writes the snapshot to disk
 *   LOADS     it is loaded
 *   JOINS     it is loaded, and what was kept of the stream behind it is taken over
 *   UP        the stream is applied
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

/* Boot. */
void primaryLinkInit(aeEventLoop *loop, bool (*hide_user_data)(void));
/* The configuration has been read: who is to follow another is a replica from here on, while the dataset is loaded. */
void primaryLinkPrepare(void);
/* The dataset has been loaded: follow who is configured. */
void primaryLinkBegin(void);
/* A file that was loaded says where its dataset stands: as a replica it goes on from there. */
void primaryLinkRemember(const char *id, uint64_t offset, int stream_db);

bool primaryLinkWanted(void); /* this server is a replica */
bool primaryLinkIsUp(void);
/* Follow another server, or this one anew. */
void primaryLinkFollow(const char *host, long long port);
/* Follow nobody: be a primary. */
void primaryLinkLeave(void);
/* Follow a replica that is asked to be the primary. `answered`, of primaryLinkOnFailover(), hears what it says. */
void primaryLinkFollowForFailover(const char *host, long long port);
void primaryLinkOnFailover(void (*answered)(bool accepted)); /* boot */
/* Boot: `tell` hears, as a line of text for an administrator, of each synchronization that has succeeded. */
void primaryLinkOnSync(void (*tell)(const char *status));
/* CLIENT KILL TYPE primary and the like end the session; this is about the rest of it. */
void primaryLinkTick(void); /* once a second */
/* While a dataset is loaded: the primary hears that this server lives. */
void primaryLinkWhileLoading(void);

/* What INFO and ROLE show. */
typedef struct primaryFigures {
    primaryState state;
    const char *role_word;                 /* of ROLE */
    long long heard_ago_s;                 /* -1: no link */
    long long read_offset, applied_offset; /* 1 before there was a stream, as elsewhere */
    bool syncing;
    long long sync_total, sync_read, sync_heard_ago_s;
    long long down_since_s; /* -1: never up */
    uint64_t input_bytes;   /* of all links */
    size_t kept, kept_peak; /* of the stream, while a snapshot came by another connection */
} primaryFigures;
primaryFigures primaryLinkFigures(void);

/* Entries of GATE_REDIRECT (which CLIENT CAPA redirect arms for a client), GATE_REPLICAS and GATE_STALE. */
gateResult primaryRedirectGate(client *c);
gateResult primaryReadonlyGate(client *c);
gateResult primaryStaleGate(client *c);
/* A setting about replicas has changed. */
void primaryLinkApplySettings(void);

#endif
