/* machine.h -- the cluster's machine: decides what this node does, from events that the caller passes in.
 *
 *     event -> clusterStep(machine, now, event, actions) -> actions
 *
 * The machine has no clock, socket, file, thread or log, and its random numbers follow from its seed: the same events
 * at the same times give the same actions. The caller executes the actions in their order.
 *
 * Threads     the caller holds one lock for each call.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLUSTER_MACHINE_H
#define CLUSTER_MACHINE_H

#include "bus_frame.h"
#include "cluster_node.h"
#include "nodes_file.h"

typedef struct clusterMachine clusterMachine;

/* Both clocks of one moment. Decisions use the monotonic one; frames and the nodes file have wall time. */
typedef struct clusterTime {
    uint64_t mono_ms; /* > 0 */
    int64_t wall_ms;  /* since 1970 */
} clusterTime;
/* Returns the wall time of a moment that is known by its monotonic time; 0 for 0 (never). */
static inline int64_t clusterWallTime(clusterTime now, uint64_t mono_ms) {
    return mono_ms ? now.wall_ms - (int64_t)(now.mono_ms - mono_ms) : 0;
}

/* ---- Settings ---- */

typedef struct clusterConfig {
    uint64_t node_timeout_ms, ping_interval_ms; /* ping interval 0: half of the timeout */
    uint64_t manual_failover_timeout_ms, blacklist_ttl_s;
    uint64_t replica_validity_factor; /* 0: no limit */
    uint64_t replica_ping_period_ms;  /* repl-ping-replica-period: how old the data of a replica is at least */
    unsigned migration_barrier, gossip_percent;
    bool allow_replica_migration, require_full_coverage, replica_no_failover;
    bool protect_data;                 /* a primary that starts without data leaves its slots to a replica */
    bool save_best_effort;             /* goes on when the nodes file cannot be written */
    bool plain_valkey;                 /* for simulations of mixed clusters: does what Valkey 9.1.2 does, and no more */
    bool uses_tls;                     /* tls-cluster: `port` of frames is the TLS port */
    bool no_connects, no_random_pings; /* for tests: no link is opened; no node is pinged because a second has passed */
    uint16_t port, tls_port, bus_port; /* of this node, announced ones first; 0: none */
    uint16_t client_port, client_tls_port;
    char ip[NODE_IP_LEN];                                       /* cluster-announce-ip; empty: learned from links */
    slice hostname, human_name, client_ipv4, client_ipv6, zone; /* borrowed during the call; empty: none */
} clusterConfig;

/* ---- Events ---- */

typedef enum clusterEventKind {
    CLUSTER_TICK,        /* each 100 ms: `local` */
    CLUSTER_LOCAL,       /* the same without a tick, such as when the awaited offset has been reached: `local` */
    CLUSTER_CONFIGURE,   /* settings have changed: `config` */
    CLUSTER_LINK_UP,     /* the connection that CONNECT asked for: `link`, `ip` is the local address, `peer_ip` */
    CLUSTER_LINK_DOWN,   /* a link has been closed, or could not be made: `link` */
    CLUSTER_ACCEPTED,    /* a peer has connected: `link`, `peer_ip`, `ip` is the local address */
    CLUSTER_FRAME,       /* a valid frame on a link: `link`, `frame` */
    CLUSTER_SAVED,       /* version `version` of the nodes file, or a newer one, is on disk */
    CLUSTER_SAVE_FAILED, /* it could not be written: `version` */
    CLUSTER_COMMAND,     /* `command`, `local` (NULL: that of the last event); its REPLY is among the actions */
} clusterEventKind;

/* The state of this server's keyspace and of its replication. */
typedef struct clusterLocal {
    uint64_t offset;            /* replication offset: produced by a primary, applied by a replica */
    uint64_t pause;             /* `pause` of the PAUSE_WRITES in force, so that `offset` is final; 0: none is */
    nodeId follows;             /* the node that replication follows; if it is not the primary, the rest does not
                                 * count */
    bool primary_link_is_up;    /* a replica: it has the dataset and gets the stream */
    bool has_dataset;           /* a replica: `offset` is that of a dataset which this primary has had, or one before */
    uint64_t primary_silent_ms; /* a replica: since the last byte of its primary, or since the link was lost */
    bool is_loading;            /* a dataset is being loaded, from disk or from the primary */
    bool is_empty;              /* no database has a key */
} clusterLocal;

typedef enum clusterCommandKind {
    CLUSTER_MEET,             /* ip, port, bus_port */
    CLUSTER_FORGET,           /* node */
    CLUSTER_REPLICATE,        /* node; is_empty of `local` counts */
    CLUSTER_REPLICATE_NO_ONE, /* */
    CLUSTER_ADD_SLOTS,        /* slots */
    CLUSTER_DEL_SLOTS,        /* slots */
    CLUSTER_FLUSH_SLOTS,      /* */
    CLUSTER_SET_MIGRATING,    /* slot, node */
    CLUSTER_SET_IMPORTING,    /* slot, node */
    CLUSTER_SET_STABLE,       /* slot */
    CLUSTER_SET_OWNER,        /* slot, node; slot_has_keys */
    CLUSTER_SET_OPEN_SLOTS,   /* open: a replica has loaded the dataset of its primary, which has these open slots */
    CLUSTER_TAKE_SLOTS,       /* slots: an agreed import has ended, they are this node's now */
    CLUSTER_PING_NODE,        /* node: HEARD follows when it has answered a ping that is sent from now on */
    CLUSTER_BUMP_EPOCH,       /* */
    CLUSTER_SET_CONFIG_EPOCH, /* epoch */
    CLUSTER_RESET,            /* hard */
    CLUSTER_FAILOVER,         /* force, takeover */
    CLUSTER_PUBLISH,          /* channel, message, shard */
    CLUSTER_SEND_MODULE,      /* node or none for all; module_id, module_type, message */
} clusterCommandKind;

typedef struct clusterCommand {
    clusterCommandKind kind;
    nodeId node;
    const char *ip; /* borrowed */
    uint16_t port, bus_port;
    slice name;            /* of SETSLOT, borrowed: the node as the client has named it; NULL: `node` */
    const slotSet *slots;  /* borrowed */
    const uint16_t *order; /* borrowed: `slots` in the order in which they are checked; NULL: from the lowest on */
    size_t order_count;
    const char *refusal; /* borrowed: the reply to a mistake that is found after all others; NULL: none */
    unsigned slot;
    uint64_t epoch;
    bool hard, force, takeover, shard, slot_has_keys;
    bool only_checks;     /* SETSLOT: the reply is that to the command, which changes nothing */
    const openSlot *open; /* borrowed */
    size_t open_count;
    bool from_primary;      /* SETSLOT and FAILOVER in the replication stream: a replica executes it */
    slice channel, message; /* borrowed */
    uint64_t module_id;
    uint8_t module_type;
} clusterCommand;

/* A link of the bus has a number that is never used again. The machine numbers those that it asks for, from 1 on; the
 * caller those that it accepts, from CLUSTER_LINK_ACCEPTED + 1 on. An event with a number that the machine does not
 * know any more is ignored. */
#define CLUSTER_LINK_ACCEPTED (UINT64_C(1) << 63)

typedef struct clusterEvent {
    clusterEventKind kind;
    uint64_t link, version;
    const char *ip, *peer_ip; /* borrowed; NULL: not known */
    const busFrame *frame;    /* borrowed */
    const clusterLocal *local;
    const clusterConfig *config;
    const clusterCommand *command;
} clusterEvent;

/* ---- Actions ---- */

/* A frame that may be on its way to several peers at once. */
typedef struct frameBlock {
    uint32_t references; /* changed by one thread at a time */
    sds bytes;           /* owns */
} frameBlock;
void frameBlockRelease(frameBlock *b);

typedef enum clusterActionKind {
    CLUSTER_CONNECT,        /* connect to `ip`:`port` as `link`; LINK_UP or LINK_DOWN follows. With `text`, try the
                             * addresses of that host name instead: nothing answers at `ip` */
    CLUSTER_CLOSE,          /* close `link`; no event follows */
    CLUSTER_SEND,           /* send `frame` on `link`; the reference is the caller's */
    CLUSTER_DELIVER,        /* a peer's PUBLISH, PUBLISH_SHARD or MODULE frame is for this server: that of the event */
    CLUSTER_VIEW_CHANGED,   /* owners of slots, nodes, or the state of the cluster: copy them */
    CLUSTER_HEARD,          /* `node` has answered the ping that PING_NODE asked for */
    CLUSTER_BECOME_PRIMARY, /* stop replicating, keep the dataset */
    CLUSTER_FOLLOW,         /* replicate `node` at `ip`:`port`; `same_shard`: the present offset counts there */
    CLUSTER_FLUSH,          /* delete the dataset */
    CLUSTER_PAUSE_WRITES,   /* until RESUME_WRITES, or `ms` from now; then report a CLUSTER_LOCAL with this `pause` */
    CLUSTER_RESUME_WRITES,  /* */
    CLUSTER_REPLY,          /* `text`: the reply to the command, "+..." or "-ERR ..." without CRLF */
    CLUSTER_LOG,            /* `text`, at `level` (LL_... of log.h) */
} clusterActionKind;

typedef struct clusterAction {
    clusterActionKind kind;
    uint64_t link, ms, pause;
    frameBlock *frame; /* owns a reference */
    nodeId node;
    char ip[NODE_IP_LEN];
    uint16_t port;
    bool same_shard;
    int level;
    sds text; /* owns */
} clusterAction;

/* Actions of one or more steps. Initialize to zero. */
typedef struct clusterActions {
    clusterAction *list; /* owns */
    size_t count, capacity;
} clusterActions;
/* Frees what the actions own, and keeps the list's memory; clusterActionsFree() frees it as well. An action whose frame
 * or text has been taken must have NULL there. */
void clusterActionsClear(clusterActions *a);
void clusterActionsFree(clusterActions *a);

/* ---- The machine ---- */

/* Creates a machine for a node without a nodes file, or with `file`, which must have passed nodesFileParse(). A new
 * node gets a random id. Equal seeds, settings and events give equal runs. */
clusterMachine *clusterCreate(uint64_t seed, clusterTime now, const clusterConfig *config, const nodesFile *file);
void clusterFree(clusterMachine *m);

/* Takes an event and appends actions. Its cost is bounded by the event, not by what has happened before. */
void clusterStep(clusterMachine *m, clusterTime now, const clusterEvent *event, clusterActions *actions);

/* ---- The nodes file ---- */

/* Returns whether the nodes file on disk is older than the machine: then the caller saves clusterFileText(), one save
 * at a time, and reports SAVED or SAVE_FAILED with its version. Frames that must not leave before it is on disk wait
 * in the machine. */
bool clusterMustSave(const clusterMachine *m);
/* Returns the version that has all which the machine knows now; 0 if the file on disk has it. */
uint64_t clusterUnsavedVersion(const clusterMachine *m);
/* Returns the text of the nodes file, and its version in *version. The caller frees it. */
sds clusterFileText(clusterMachine *m, clusterTime now, uint64_t *version);

/* ---- Reading ---- */

const clusterNode *clusterMyself(const clusterMachine *m);
/* Return the nodes one by one, this one included: the first for NULL, and NULL at the end. */
const clusterNode *clusterNodeNext(const clusterMachine *m, const clusterNode *n);
const clusterNode *clusterNodeById(const clusterMachine *m, const nodeId *id); /* NULL if it is not known */
const clusterNode *clusterNodeBySeat(const clusterMachine *m, unsigned seat);  /* NULL if it is free */
const clusterNode *clusterOwner(const clusterMachine *m, unsigned slot);       /* NULL if it has none */
/* Returns whether the node at the other end of a link is known. */
bool clusterKnowsPeer(const clusterMachine *m, uint64_t link);
/* Return the node to which a slot of this node is being moved, or from which it comes; NULL: none. */
const clusterNode *clusterMigratingTo(const clusterMachine *m, unsigned slot);
const clusterNode *clusterImportingFrom(const clusterMachine *m, unsigned slot);
unsigned clusterFailureReports(const clusterMachine *m, const clusterNode *n, clusterTime now);

typedef struct clusterSummary {
    bool ok;
    bool minority; /* not ok, because this node does not reach a majority */
    bool protects; /* not ok, because replicas may have the data that this primary has lost: none may synchronize */
    unsigned slots_assigned, slots_ok, slots_suspected, slots_failed;
    unsigned nodes_suspected, nodes_failed, voting_suspected, voting_failed;
    unsigned known_nodes, size; /* size: primaries with slots */
    uint64_t current_epoch, my_epoch, last_vote_epoch;
} clusterSummary;
clusterSummary clusterSummarize(const clusterMachine *m);

/* Checks the machine's invariants; for tests and debug builds. Panics. */
void clusterCheck(const clusterMachine *m);

#endif
