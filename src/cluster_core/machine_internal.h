/* machine_internal.h -- the state of the cluster's machine, and what its files do for each other.
 *
 * Nodes are named by seats (an index into `nodes`), links by numbers. A pointer to a node is valid until nodeForget().
 *
 * A frame must say nothing of this node that is not on disk: a header is made of `told`, the state that the saved
 * nodes file has, less the slots that a primary has given up since. A change is made in memory first and counted by
 * machineChanged(); what waits for the disk holds the version that it needs.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLUSTER_MACHINE_INTERNAL_H
#define CLUSTER_MACHINE_INTERNAL_H

#include "dict.h"
#include "log.h"
#include "machine.h"
#include "panic.h"
#include "rng.h"
#include "zmalloc.h"

#include <stdio.h>

#define CLUSTER_NODES_MAX 16384 /* seats; seat 0 is none */
#define OPERATION_TIMEOUT_MS 2000

/* A link of the bus. */
typedef struct clusterLink {
    uint64_t number;
    uint16_t seat; /* of the node at its other end; 0: not known yet */
    nodeId peer;   /* inbound: sender of its last frame with a header; none: there was none */
    bool is_inbound, is_up;
    bool reads_extensions;                            /* frames that came on it had BUS_MARK_EXTENSIONS */
    char peer_ip[NODE_IP_LEN], local_ip[NODE_IP_LEN]; /* empty: not known */
} clusterLink;

/* A node that is not to be added again until a time. */
typedef struct forgottenNode {
    nodeId id;
    uint64_t until_ms;
} forgottenNode;

/* The content of headers about this node. */
typedef struct toldState {
    uint64_t current_epoch, config_epoch;
    nodeId id, primary, shard;
    slotSet slots; /* of this node, or of its primary */
    bool is_replica;
} toldState;

typedef enum electionStage {
    ELECTION_NONE,
    ELECTION_DELAYED,   /* waits for start_ms */
    ELECTION_WAIT_DISK, /* the new epoch is not on disk yet: version */
    ELECTION_RUNS,      /* votes come in */
} electionStage;

typedef struct electionState {
    electionStage stage;
    uint64_t start_ms; /* time of the request for votes, or when it was made */
    uint64_t epoch, version;
    unsigned rank, failed_rank;
    bool force_vote;
    slotSet voters_seats; /* seats that have voted: CLUSTER_NODES_MAX bits */
    unsigned votes;
    uint64_t last_ms; /* start_ms of the last attempt that has failed; 0: none */
    uint64_t why_logged_ms;
    int why; /* last reason why there is no failover, as logged */
} electionState;

typedef struct manualFailover {
    uint64_t end_ms;  /* 0: none runs */
    bool by_me;       /* a replica: this one takes over. Otherwise a primary whose replica does */
    uint16_t replica; /* a primary: seat of that replica */
    uint64_t pause;   /* a primary: number of its PAUSE_WRITES */
    bool is_paused;   /* a primary: main has executed it, and frames say so */
    bool has_offset, can_start, force;
    uint64_t primary_offset; /* a replica: where its primary has stopped */
} manualFailover;

/* A vote that leaves once version `version` of the nodes file is on disk. */
#define VOTES_WAITING_MAX 16 /* in as many epochs: when many shards fail at once, so many requests come at once */
typedef struct waitingVote {
    uint64_t version, epoch;
    nodeId node;
} waitingVote;

/* Slots that this node has imported by SETSLOT from nodes of one shard, not long ago. */
#define RECENT_IMPORTS_MAX 8 /* shards: of more at once, the one that was imported from last is remembered */
typedef struct recentImport {
    nodeId shard;
    slotSet slots;
    uint64_t until_ms; /* 0: unused */
} recentImport;

struct clusterMachine {
    clusterTime now; /* of this step */
    clusterConfig config;
    sds texts[5]; /* own: what the slices of config point to */
    rng random;
    clusterActions *actions; /* of this step; borrowed */
    clusterLocal local;
    bool offset_is_void; /* it counts writes that this node's primary need not have: see readLocal() */

    /* Nodes and links. */
    clusterNode **nodes; /* owns: by seat; nodes[0] is NULL */
    unsigned seats;      /* seats in use or free: nodes[1..seats-1] */
    unsigned node_count; /* this one included */
    dict *by_id, *links; /* own; entries of `links` are clusterLink */
    clusterNode *myself;
    uint64_t last_link, gossip_round;
    forgottenNode *forgotten; /* owns */
    size_t forgotten_count, forgotten_capacity;

    /* Slots. */
    uint16_t owner[CLUSTER_SLOTS], migrating[CLUSTER_SLOTS], importing[CLUSTER_SLOTS]; /* seats; 0: none */
    slotSet unclaimed;     /* slots that their owner's last frame did not claim */
    uint64_t unclaimed_ms; /* when the last one was added; 0: there is none */
    unsigned slots_assigned, open_slots;
    recentImport imports[RECENT_IMPORTS_MAX];

    /* Epochs, and the nodes file. */
    uint64_t current_epoch, last_vote_epoch;
    uint64_t own_epoch;              /* a replica: the config epoch that it had as a primary; 0: none since the start */
    uint64_t version, saved_version; /* of the nodes file: in memory, on disk */
    uint64_t first_version;          /* older ones are of the node before a hard reset */
    toldState told, saving;          /* on disk; in the text that is being written */
    uint64_t saving_version;
    uint64_t announce_version; /* tell all nodes once this version is on disk; 0: no need */
    uint64_t promote_version;  /* become primary once this version is on disk; 0: no */
    waitingVote votes[VOTES_WAITING_MAX];
    unsigned vote_count;

    /* State of the cluster. */
    bool ok, minority;
    unsigned size; /* primaries with slots */
    uint64_t started_ms, ok_after_ms;
    uint64_t minority_ms; /* since when a majority that was reached is not any more; 0: it is */
    uint64_t ran_ms;      /* the last step */
    bool had_majority;    /* since the start */
    bool view_changed;    /* this step has changed what main has a copy of */

    electionState election;
    manualFailover manual;
    uint64_t writes_paused_until_ms; /* 0: they are not paused */
    uint64_t last_pause;             /* number of the last PAUSE_WRITES */
    uint64_t second_ms;              /* last tick of a full second */

    /* A primary without data (data_protection.c). */
    bool may_protect;         /* it has started with slots and replicas, and its dataset is not known yet */
    uint64_t silent_until_ms; /* no frame leaves; 0: frames leave */
};

/* ---- machine.c: the step, actions, versions ---- */

/* Appends an action and returns it, zeroed but for the kind. */
clusterAction *machineAct(clusterMachine *m, clusterActionKind kind);
void machineLog(clusterMachine *m, int level, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Returns a random number below n > 0. */
uint64_t machineRandom(clusterMachine *m, uint64_t n);
/* Call when something has changed that the nodes file holds. Returns the version that has it. */
uint64_t machineChanged(clusterMachine *m);
/* Call when something has changed that clients see: owners, roles, addresses, the state. */
static inline void machineViewChanged(clusterMachine *m) { m->view_changed = true; }
/* Fills in what headers would say now if all were on disk. */
void machineTell(const clusterMachine *m, toldState *told);
/* Sends all nodes a PONG once the present version is on disk, at once if it is. */
void machineAnnounce(clusterMachine *m);

/* Returns whether this node stands for one of Valkey 9.1.2 in a simulation: what goes beyond that is left out. */
static inline bool isPlain(const clusterMachine *m) { return m->config.plain_valkey; }

static inline bool nodeHas(const clusterNode *n, unsigned flags) { return (n->flags & flags) != 0; }
static inline bool nodeIsMyself(const clusterNode *n) { return nodeHas(n, NODE_MYSELF); }
static inline bool nodeIsPrimary(const clusterNode *n) { return nodeHas(n, NODE_PRIMARY); }
static inline bool nodeIsReplica(const clusterNode *n) { return nodeHas(n, NODE_REPLICA); }
static inline bool nodeIsVoting(const clusterNode *n) { return nodeIsPrimary(n) && n->slot_count; }
/* A ping is sent to a node, or its link is being made: it is to answer from now on, unless an earlier one waits. */
static inline void nodeAsked(const clusterMachine *m, clusterNode *n) {
    if (!n->ping_sent_ms) n->ping_sent_ms = n->asked_ms = m->now.mono_ms;
}
static inline bool nodeIsOut(const clusterNode *n) { return nodeHas(n, NODE_SUSPECTED | NODE_FAILED); }

/* ---- node_table.c: nodes, seats, links, forgotten ids ---- */

#define EACH_NODE(m, n)                                   \
    for (unsigned seat_ = 1; seat_ < (m)->seats; seat_++) \
        for (clusterNode *n = (m)->nodes[seat_]; n != NULL; n = NULL)

static inline clusterNode *nodeAt(const clusterMachine *m, unsigned seat) { return m->nodes[seat]; }
/* Adds a node with that id, or with a random one if `id` is NULL. Returns NULL if there are CLUSTER_NODES_MAX. */
clusterNode *nodeAdd(clusterMachine *m, const nodeId *id, unsigned flags);
void nodeRelease(clusterNode *n); /* its memory only */
/* Removes a node, its links and all that names it: slots, reports, replicas. It must not be this one. */
void nodeForget(clusterMachine *m, clusterNode *n);
clusterNode *nodeById(const clusterMachine *m, const nodeId *id); /* NULL if it is not known */
void nodeRename(clusterMachine *m, clusterNode *n, const nodeId *id);
nodeId nodeRandomId(clusterMachine *m);
/* Has main replicate this node's primary at its present address. */
void nodeFollow(clusterMachine *m, const clusterNode *primary, bool same_shard);
/* Make a node a primary, or a replica of the node at `primary` (0: not known yet). Count replicas, and keep the flag
 * NODE_MIGRATE_TO. Slots, epochs and shards are the caller's. Return whether anything has changed. */
bool nodeSetPrimary(clusterMachine *m, clusterNode *n);
bool nodeSetReplica(clusterMachine *m, clusterNode *n, unsigned primary);
/* Sets a text of a node (&n->hostname ...). Returns whether it has changed. Empty: none. */
bool nodeSetText(sds *field, slice text);
/* Takes over another address. Closes the links to the old one; main follows its primary there. Returns whether it has
 * changed. */
bool nodeSetAddress(clusterMachine *m, clusterNode *n, const char *ip, uint16_t port, uint16_t tls_port,
                    uint16_t bus_port);
/* Returns the name in log lines, "ID (HUMAN NAME)", valid until the fourth next call in this thread. */
const char *nodeName(const clusterNode *n);

clusterLink *linkByNumber(const clusterMachine *m, uint64_t number); /* NULL if it is not known */
clusterLink *linkAdd(clusterMachine *m, uint64_t number, clusterNode *n, bool is_inbound);
/* Forgets a link; linkClose() has it closed as well. */
void linkForget(clusterMachine *m, clusterLink *l);
void linkClose(clusterMachine *m, clusterLink *l);
static inline clusterLink *linkTo(const clusterMachine *m, const clusterNode *n) {
    return n->link_out ? linkByNumber(m, n->link_out) : NULL;
}

/* Keeps an id from being added again for some seconds; drops entries whose time has passed. */
void forgottenAdd(clusterMachine *m, const nodeId *id, uint64_t seconds);
bool forgottenHas(clusterMachine *m, const nodeId *id);
void forgottenDrop(clusterMachine *m, const nodeId *id);

/* ---- bus_send.c: frames that this node sends ---- */

/* Send a frame of that type with gossip and extensions on a link. */
void sendPing(clusterMachine *m, clusterLink *l, busType type);
/* Send a PONG to all nodes with a link, or to those of this node's shard only. */
void broadcastPong(clusterMachine *m, bool own_shard_only);
void sendUpdate(clusterMachine *m, clusterLink *l, const clusterNode *about);
void broadcastFail(clusterMachine *m, const clusterNode *failed);
/* Send VOTE_REQUEST (to all), VOTE, FAILOVER_START: frames without a body. `marks` are BUS_MARK_... */
void broadcastVoteRequest(clusterMachine *m, unsigned marks);
void sendBare(clusterMachine *m, clusterLink *l, busType type, unsigned marks);
/* Sends a message of PUBLISH, PUBLISH_SHARD or MODULE in the light or the full form. */
void sendPublish(clusterMachine *m, const clusterCommand *c);
void sendModule(clusterMachine *m, const clusterCommand *c);

/* ---- handshake.c: links, MEET, identity and addresses ---- */

/* Each tick: connects, gives up handshakes, pings, reopens links that hang. */
void linksTick(clusterMachine *m);
/* Pings a node now, unless a ping waits for its answer or there is no link. */
void handshakePing(clusterMachine *m, clusterNode *n);
void linkUp(clusterMachine *m, clusterLink *l);
/* Finds the node of an inbound link that was not known when the link's last frame with a header came. */
void linkFindPeer(clusterMachine *m, clusterLink *l);
/* Starts a handshake with an address unless one runs. Returns false if the table is full. */
bool handshakeStart(clusterMachine *m, const char *ip, uint16_t port, uint16_t tls_port, uint16_t bus_port, bool meet);
/* Handles PING, PONG and MEET. `sender` may be NULL: not known. */
void frameOfPing(clusterMachine *m, clusterLink *l, clusterNode *sender, const busFrame *f);

/* ---- gossip.c ---- */
void gossipRead(clusterMachine *m, clusterNode *sender, const busFrame *f);

/* ---- failure.c: suspicion, reports, FAIL, the state of the cluster ---- */

/* Each step: notices that this process has not run for a while. */
void failureNoticeStop(clusterMachine *m);
/* Each tick: suspects nodes whose ping has not been answered. */
void failureTick(clusterMachine *m);
/* A report of `reporter` by gossip: it suspects `n`, or it does not any more. */
void failureReportAdd(clusterMachine *m, clusterNode *n, const clusterNode *reporter);
void failureReportRemove(clusterMachine *m, clusterNode *n, const clusterNode *reporter);
/* Drops reports of that reporter about all nodes (it is forgotten). */
void failureReportsForget(clusterMachine *m, unsigned seat);
/* Marks a node as failed because a peer or the quorum says so. */
void failureMark(clusterMachine *m, clusterNode *n);
/* A node has answered: it is not suspected any more, and not failed if nothing speaks against that. */
void failureAnswered(clusterMachine *m, clusterNode *n);
/* Computes `ok`, `minority` and `size` anew. Call once per step in which something has changed, and each tick. */
void stateUpdate(clusterMachine *m);
static inline unsigned quorum(const clusterMachine *m) { return m->size / 2 + 1; }

/* ---- ownership.c: slots and epochs ---- */

/* Each tick: slots that no node claims have no owner. */
void ownershipTick(clusterMachine *m);
/* Sets the owner of a slot (0: none), with counts and bitmaps. A slot that is open stays open. */
void slotSetOwner(clusterMachine *m, unsigned slot, unsigned seat);
void slotsRelease(clusterMachine *m, clusterNode *n); /* all slots of a node become unassigned */
/* Gives the slots that a node claims to its successor, and releases the others. Open slots that name the node name the
 * successor. */
void slotsMove(clusterMachine *m, clusterNode *from, clusterNode *to);
/* This node takes a slot from a node of that shard, whose other nodes may not know: see defendImports(). */
void slotImported(clusterMachine *m, unsigned slot, const nodeId *shard);
/* Makes the set of slots that a node owns and claims. */
void slotsClaimed(const clusterMachine *m, const clusterNode *n, slotSet *slots);
void slotClose(clusterMachine *m, unsigned slot); /* neither migrating nor importing */
/* Reads a frame's epochs, and the role, primary, shard and slots of its sender. */
void ownershipRead(clusterMachine *m, clusterNode *sender, const busFrame *f);
void updateRead(clusterMachine *m, clusterNode *sender, const busFrame *f);
/* Sees an epoch of another node: the current one is never below it. */
void epochSeen(clusterMachine *m, uint64_t epoch);
/* Gives this node a new config epoch without a vote, unless its own is the greatest already. Returns whether it did. */
bool epochBump(clusterMachine *m);
/* Make this node a replica of `primary`, or an empty primary (its shard is the caller's): the actions too, and all
 * nodes hear of it. */
void becomeReplicaOf(clusterMachine *m, clusterNode *primary);
void becomeEmptyPrimary(clusterMachine *m);

/* ---- election.c, manual_failover.c, replica_migration.c ---- */

void electionTick(clusterMachine *m);  /* also when a node has been marked as failed */
void electionSaved(clusterMachine *m); /* a version is on disk: request votes, send a vote, take over */
/* The nodes file could not be written (saving_version), and `told` is as if it were: the votes and the request for
 * votes that waited for it do not leave; a takeover goes on. */
void electionSaveFailed(clusterMachine *m);
/* Forgets the election, its retry time, and a takeover that is not on disk. Call when this node gets another role or
 * primary. */
void electionReset(clusterMachine *m);
void electionForgetVoter(clusterMachine *m, unsigned seat); /* its node is forgotten */
void voteRequested(clusterMachine *m, clusterNode *sender, const busFrame *f);
void voteReceived(clusterMachine *m, clusterNode *sender, const busFrame *f);
/* A header was seen during an election: a primary with an epoch as great ends it. */
void electionSaw(clusterMachine *m, const busHeader *h);
/* Takes over the slots of this node's primary under the config epoch that has been set: in memory at once; main and the
 * other nodes hear of it when it is on disk. */
void electionTakeOver(clusterMachine *m);

void manualTick(clusterMachine *m);
/* Ends a manual failover, and resumes writes that are paused for it. When this node gets another role or primary, call
 * it after the action that says so. */
void manualReset(clusterMachine *m);
/* A link of this node to `n` is up: a request that may have been lost is sent again. */
void manualLinkUp(clusterMachine *m, const clusterNode *n);
void manualRequested(clusterMachine *m, clusterNode *sender); /* FAILOVER_START */
void manualSawPaused(clusterMachine *m, clusterNode *sender, const busHeader *h);
/* This node has voted for that replica: its claim of the slots may be on the way. */
void manualVoted(clusterMachine *m, const clusterNode *replica);
/* CLUSTER FAILOVER; with from_primary and `node`, for that replica only. Returns the error reply, "-ERR ...", or NULL.
 * */
const char *manualStart(clusterMachine *m, const clusterCommand *c);

void replicaMigrationTick(clusterMachine *m);

/* ---- data_protection.c ---- */

/* A report of main has come: if it is the first one about a loaded dataset, a primary without data becomes silent. */
void protectionBegin(clusterMachine *m);
void protectionTick(clusterMachine *m);

/* ---- machine_commands.c, machine_file.c ---- */
void machineCommand(clusterMachine *m, const clusterCommand *c);
/* Gives a machine that has only this node the nodes, slots and epochs of a file; they count as saved. */
void machineLoad(clusterMachine *m, const nodesFile *file);

#endif
