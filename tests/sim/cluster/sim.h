/* sim.h -- a world of cluster machines in one process: time, links, disks, datasets, faults and checkers.
 *
 *   sim_main -> sim_run -> sim_operator, sim_faults, sim_server, sim_checks -> sim_node -> sim_net -> sim_world
 *
 * One seed is one run, bit for bit. Each kind of fault draws from a generator of its own, so that a run without one
 * kind is as near as possible to the run with it.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_SIM_H
#define TESTS_SIM_H

#include "dict.h"
#include "hash.h"
#include "heap.h"
#include "machine.h"
#include "panic.h"
#include "rng.h"
#include "zmalloc.h"

#define SIM_KEYS 64       /* keys of the model's dataset; the slots of key k begin at k * 256 */
#define SIM_NODES_MAX 64  /* of a run with faults; the run for cost has more */
#define MS UINT64_C(1000) /* the world's time is in microseconds */
#define SECOND UINT64_C(1000000)

typedef uint64_t simTime;
typedef struct simWorld simWorld;
typedef struct simNode simNode;
typedef struct simConn simConn;

/* Kinds of faults; a seed draws a set of them. */
#define SIM_FAULTS(X)                                                                           \
    X(DELAY, "delay")           /* delays jump */                                               \
    X(RESET, "reset")           /* links are closed */                                          \
    X(REFUSE, "refuse")         /* connections cannot be made for a while */                    \
    X(PARTITION, "partition")   /* two parts of the nodes do not reach each other */            \
    X(ONE_WAY, "one-way")       /* what one part sends does not arrive at the other */          \
    X(HALF_OPEN, "half-open")   /* a link whose other end does not know it any more */          \
    X(STALL, "stall")           /* a process is stopped for a while */                          \
    X(BUSY, "busy")             /* main is busy, the bus is not */                              \
    X(KILL, "kill")             /* kill and restart with what was saved */                      \
    X(DISK_SLOW, "disk-slow")   /* */                                                           \
    X(DISK_FAIL, "disk-fail")   /* */                                                           \
    X(CLOCK, "clock")           /* wall clocks jump, monotonic ones drift */                    \
    X(ADDRESS, "address")       /* a node restarts with another address */                      \
    X(FORGE, "forge")           /* cut, damaged and forged frames */                            \
    X(REPLICATION, "repl")      /* replication links break */                                   \
    X(AMNESIA, "amnesia")       /* datasets are not saved: a restarted node is empty, or old */ \
    X(FAILOVERS, "failovers")   /* CLUSTER FAILOVER, FORCE, at any time */                      \
    X(TAKEOVERS, "takeovers")   /* CLUSTER FAILOVER TAKEOVER, BUMPEPOCH */                      \
    X(REPLICATES, "replicates") /* CLUSTER REPLICATE of other primaries */                      \
    X(MOVES, "moves")           /* slots are moved from one primary to another */               \
    X(MEMBERS, "members")       /* MEET, FORGET */                                              \
    X(RESETS, "resets")         /* CLUSTER RESET, REPLICATE NO ONE */                           \
    X(SLOTS, "slots")           /* ADDSLOTS, DELSLOTS, SETSLOT without sense */                 \
    X(CONFIGURE, "configure")   /* settings change */
enum {
#define X(name, text) FAULT_##name,
    SIM_FAULTS(X)
#undef X
        FAULT_KINDS
};
extern const char *const sim_fault_names[FAULT_KINDS];

typedef struct simOptions {
    uint64_t seed, seeds;
    uint64_t steps;                     /* in all; 0: no limit */
    unsigned seconds;                   /* of real time; 0: no limit */
    unsigned nodes, storm, check_every; /* 0: drawn. storm: seconds of the world */
    uint64_t without;                   /* bits of faults that are not used */
    uint64_t only;                      /* bits of faults that may be used */
    unsigned valkeys;                   /* percent of nodes that stand for Valkey 9.1.2, plus 1; 0: drawn */
    unsigned plant;                     /* a fault of the driver: sim_plants */
    bool trace, quiet, no_shrink, cost, keep_going;
    uint8_t hash_key; /* of dicts: the run must not depend on it */
    /* A second run that prints the last events before a fault. */
    simTime trace_from;
    uint64_t trace_nodes;
} simOptions;

/* ---- Events ---- */

typedef enum simEventKind {
    /* Of a node: dropped if its incarnation has ended, kept for later while it is stopped. */
    SIM_TICK,
    SIM_ACCEPTED,  /* conn */
    SIM_LINK_UP,   /* conn */
    SIM_LINK_DOWN, /* conn, number: end */
    SIM_FRAME,     /* conn, number: direction, frame */
    SIM_SAVED,     /* number: bits SAVE_..., version; owned: the text */
    SIM_MAIN,      /* action: main executes it */
    SIM_PULL,      /* a replica reads its primary's stream */
    SIM_DIES,      /* the process ends, as its disk has failed */
    SIM_OBEY,      /* command from the replication stream; number: slot, id: node */
    /* Of the world. */
    SIM_CONNECT, /* conn: the request arrives */
    SIM_RESUME,  /* a stopped process goes on */
    SIM_START,   /* a killed node starts again */
    SIM_CLIENT,  /* a client writes; number: which */
    SIM_WAITED,  /* a client's WAIT is over; write */
    SIM_DISTURB, /* a fault begins; number: kind */
    SIM_RELENT,  /* a fault ends; number: kind */
    SIM_OPERATE, /* the operator looks at the cluster */
} simEventKind;

enum { SAVE_WRITES = 1, SAVE_REPORTS = 2 }; /* without SAVE_WRITES the report is a failure */
#define SAVE_EARLY 4                        /* reports success, and writes nothing */

typedef struct simWrite {
    unsigned node, key;
    uint64_t replid, offset, version;
} simWrite;

typedef struct simEvent {
    simTime at;
    uint64_t sequence, number, version;
    simEventKind kind;
    unsigned node, incarnation;
    simConn *conn;     /* counted */
    frameBlock *frame; /* counted */
    void *owned;       /* zfree(): clusterAction, simWrite ... */
} simEvent;

/* ---- Links (sim_net.c) ---- */

typedef struct simLinkEnd {
    unsigned node, incarnation;
    uint64_t number;
    bool open;
} simLinkEnd;

struct simConn {
    unsigned refs;
    simLinkEnd end[2];       /* 0: the one that has connected */
    bool vanishing[2];       /* what that end sends is lost without notice */
    simTime last_arrival[2]; /* of what that end sends */
    frameBlock **stuck[2];   /* own: frames that wait for the end of a partition */
    size_t stuck_count[2], stuck_capacity[2];
};

/* ---- Nodes (sim_node.c) ---- */

typedef struct simLogEntry {
    unsigned key;
    uint64_t version; /* 0: deleted */
    simTime at;
} simLogEntry;

/* The server around a machine: main with its table of owners, dataset and replication. */
typedef struct simServer {
    bool is_primary; /* what main has executed; the machine may be ahead */
    bool has_primary;
    nodeId primary;
    char primary_ip[NODE_IP_LEN];
    uint16_t primary_port;

    uint64_t replid, replid2, replid2_end, offset;
    uint64_t version[SIM_KEYS];
    simLogEntry *log; /* owns: entries with offsets log_start + 1 ... offset */
    size_t log_count, log_capacity;
    uint64_t log_start;

    bool link_is_up, has_dataset, is_loading, pulling;
    unsigned source, source_incarnation; /* of the link */
    simTime contact, sync_until, next_try, loading_until;
    simTime paused_until;
    uint64_t pause;    /* number of the pause in force */
    simTime main_free; /* main is busy until then */
    simTime main_last; /* when the last action in its queue runs */

    /* Main's copy: what clients see. */
    bool view_ok;
    int owner[SIM_KEYS]; /* world's number of the owner; -1: none */
    bool importing[SIM_KEYS];
} simServer;

/* A node's nodes file as it is on disk. */
typedef struct simDisk {
    sds text; /* owns; NULL: there is no file */
    uint64_t current_epoch, last_vote_epoch, my_epoch;
    nodeId id, primary;
    slotSet slots;
    bool is_known;
} simDisk;

struct simNode {
    unsigned index, incarnation, stops;
    bool alive, stopped;
    bool is_valkey; /* it behaves as recorded of Valkey 9.1.2 */
    bool ip_is_announced;
    char hostname[32]; /* empty: none */
    clusterMachine *machine;
    clusterActions actions;
    char ip[NODE_IP_LEN];
    uint16_t port, bus_port;
    uint64_t steps, frames_sent, bytes_sent;

    /* Clocks: mono = mono_base + (world - started) * (1 + drift). */
    simTime started;
    uint64_t mono_base;
    double drift;
    int64_t wall_offset_ms;

    simConn **out, **in; /* own counts: by link number */
    size_t out_count, out_capacity, in_count, in_capacity;
    uint64_t links_accepted;

    simDisk disk;
    bool saving, disk_fails;
    sds saving_text; /* owns */
    uint64_t saving_version;
    simTime disk_delay, save_again; /* extra time; after a failure */
    simServer saved_server;         /* what a restart finds of the dataset; its log is NULL */

    simServer server;
    simEvent *backlog; /* owns: while stopped */
    size_t backlog_count, backlog_capacity;

    /* Cached after each step. */
    nodeId id, primary_id;
    bool is_replica;

    /* Of the checkers. */
    uint64_t my_epoch_seen, epoch_seen; /* greatest in frames of this id */
    uint64_t promoted_epoch;            /* its config epoch when its machine made itself a primary */
    simTime *heard;                     /* owns: by node, mono ms of the last frame read */
    simTime *voting_since;              /* owns: mono ms since when it is a primary with slots in this node's view */
    bool epoch_may_fall;
    uint64_t connects_in_tick, open_ends;
    char reply[256];
    bool has_reply;
};

/* ---- The world (sim_world.c) ---- */

typedef enum simPhase {
    PHASE_CREATE,
    PHASE_JOIN,
    PHASE_REPLICATE,
    PHASE_SETTLE,
    PHASE_STORM,
    PHASE_HEAL,
    PHASE_DRILL,
    PHASE_RECOVER,
    PHASE_END
} simPhase;
extern const char *const sim_phase_names[];

typedef struct simVote {
    nodeId voter, target;
    uint64_t epoch;
} simVote;

typedef struct simStats {
    uint64_t steps, frames, bytes, writes, split_writes, acked_all, acked_majority, redirections, refused;
    uint64_t promotions, promotions_without_data, wiped, lost, lost_majority, kills, commands, syncs, partial_syncs,
        elections, votes, saves;
    uint64_t damaged_frames, connects;
    simTime settle_max, heal_max, drill_max;
} simStats;

struct simWorld {
    const simOptions *options;
    uint64_t seed, hash;
    simTime now;
    uint64_t sequence;
    heap events;
    simNode *nodes; /* owns */
    unsigned count, primaries;
    uint8_t *blocked; /* owns: [from * count + to]: number of partitions that cut it */
    rng draw, draw_valkeys, net, disk, client, operator_, fault[FAULT_KINDS];

    /* Drawn by the seed. */
    uint64_t faults; /* bits */
    clusterConfig config;
    simTime delay, jitter, storm_length, fault_gap[FAULT_KINDS];
    simTime save_time, pull_interval;
    unsigned clients;
    simTime client_gap;
    bool storm_from_start, all_have_names;
    bool is_mixed; /* some nodes are of Valkey */

    /* Changed by faults. */
    simTime extra_delay;
    bool refuses;
    uint64_t next_address;
    bool healed;
    struct {
        bool *side;
        bool one_way;
    } cut[4]; /* own: partitions that run */

    /* The operator. */
    simPhase phase;
    simTime phase_began, agreed_since;
    unsigned drill, drill_node, drill_old;
    simTime operated;
    uint64_t drill_lost;
    nodeId drill_candidate; /* the last node that has requested votes in a drill, and in which epoch */
    uint64_t drill_epoch;
    bool drill_is_split; /* another one has requested them in the same epoch */
    uint64_t move_slot;
    unsigned move_step, move_from, move_to;

    /* The model. */
    uint64_t last_version, last_replid;
    uint64_t accepted[SIM_KEYS], acked[SIM_KEYS], acked_majority[SIM_KEYS];
    simTime acked_at[SIM_KEYS];
    bool exempt[SIM_KEYS]; /* its slot has been moved by hand, or its data has been dropped by command */
    bool data_may_go;      /* datasets have been lost by amnesia or by command */
    bool epochs_may_clash; /* epochs have been raised without a vote by command */
    bool members_change;   /* FORGET, RESET */
    slotSet deleted;       /* slots that a command has taken from their owner */
    bool slots_may_go;     /* slots have been removed by command */

    uint64_t step_ns; /* spent in steps; measured by the run for cost only */
    simVote *votes;
    size_t vote_count, vote_capacity; /* own: all votes that have left */

    struct {
        bool found;
        const char *rule;
        char text[400];
        simTime at;
        uint64_t nodes;
    } fault_found;
    simStats stats;
};

uint64_t worldBelow(rng *r, uint64_t n);
bool worldChance(rng *r, double p);
simTime worldBetween(rng *r, simTime from, simTime to);
/* Adds an event; takes over what it owns. Returns it for tests of its time only. */
void worldAt(simWorld *w, simTime at, simEvent e);
void worldRelease(simEvent *e);
/* Notes the first fault that a checker finds. */
void simFault(simWorld *w, uint64_t nodes, const char *rule, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
bool simTraces(const simWorld *w, unsigned node);
void simTrace(simWorld *w, const simNode *n, const char *format, ...) __attribute__((format(printf, 3, 4)));
void worldHash(simWorld *w, const void *bytes, size_t len);
static inline bool worldHas(const simWorld *w, unsigned kind) { return (w->faults >> kind & 1) != 0; }
static inline uint64_t nodeBit(unsigned index) { return index < 64 ? UINT64_C(1) << index : 0; }

/* ---- sim_net.c ---- */
/* Connects to an address, or to a host name that is not NULL. */
void netConnect(simWorld *w, simNode *n, uint64_t number, const char *ip, uint16_t port, const char *name);
void netClose(simWorld *w, simNode *n, uint64_t number);
void netSend(simWorld *w, simNode *n, uint64_t number, frameBlock *frame); /* takes the reference */
/* Ends both ends of a link; each that is open hears of it. */
void netReset(simWorld *w, simConn *c);
/* The process of a node has ended: its links end, with or without a sign to the others. */
void netKilled(simWorld *w, simNode *n, bool silently);
/* Returns whether no frame of the storm, which delayed it, is still on its way: newer ones arrive behind it. */
bool netIsCalm(const simWorld *w);
void netHandle(simWorld *w, simEvent *e);
void netHeal(simWorld *w);
simTime netDelay(simWorld *w);
bool netReaches(const simWorld *w, unsigned from, unsigned to);
simConn *netPick(simWorld *w, rng *r); /* a link that is open at both ends; NULL: none */
void netUnblock(simWorld *w);          /* delivers what partitions have held back */
void netRelease(simConn *c);
simNode *netNodeAt(simWorld *w, const char *ip, uint16_t port, bool bus);
simConn *netConnOf(const simNode *n, uint64_t number);

/* ---- sim_node.c ---- */
clusterTime nodeTime(const simWorld *w, const simNode *n);
void nodeInit(simWorld *w, simNode *n);
void nodeStart(simWorld *w, simNode *n);
void nodeKill(simWorld *w, simNode *n, bool silently);
void nodeStep(simWorld *w, simNode *n, const clusterEvent *e);
/* Has a node execute an operator's command. Returns the reply, valid until the next call; NULL if the node is down. */
const char *nodeCommand(simWorld *w, simNode *n, const clusterCommand *c);
void nodeHandle(simWorld *w, simEvent *e);
void nodeResume(simWorld *w, simNode *n);
/* Stops a process for some time. */
void nodeStop(simWorld *w, simNode *n, simTime wait);
/* Has an event of a node wait until it is not stopped any more. */
void nodeDefer(simNode *n, simEvent *e);
void nodeEnd(simNode *n);
clusterConfig nodeConfig(const simWorld *w, const simNode *n);
simNode *nodeOfId(simWorld *w, const nodeId *id); /* returns NULL if there is none */

/* ---- sim_server.c ---- */
void serverStart(simWorld *w, simNode *n);
void serverKilled(simWorld *w, simNode *n);
clusterLocal serverLocal(const simWorld *w, const simNode *n);
void serverQueue(simWorld *w, simNode *n, const clusterAction *a);
void serverHandle(simWorld *w, simEvent *e);
void serverMoveKeys(simWorld *w, simNode *from, simNode *to, unsigned slot);
void serverClient(simWorld *w, simEvent *e);
void serverWaited(simWorld *w, simEvent *e);
/* Sends a SETSLOT of a primary to its replicas. */
void serverObey(simWorld *w, simNode *n, const clusterCommand *c);

/* ---- sim_faults.c ---- */
void faultsDraw(simWorld *w);
void faultsBegin(simWorld *w);
void faultsHandle(simWorld *w, simEvent *e);
void faultsHeal(simWorld *w);

/* ---- sim_operator.c ---- */
void operatorLook(simWorld *w);
void operatorDisturb(simWorld *w, unsigned kind);

/* ---- sim_checks.c ---- */
void checkSend(simWorld *w, simNode *n, uint64_t link, const frameBlock *frame);
void checkStep(simWorld *w, simNode *n, bool view_changed);
void checkTick(simWorld *w, simNode *n);
void checkHeard(simWorld *w, simNode *n, const nodeId *sender);
void checkFile(simWorld *w, simNode *n);
void checkMemory(simWorld *w, simNode *n); /* after a restart */
void checkPromotion(simWorld *w, simNode *n);
void checkBecomesPrimary(simWorld *w, simNode *n); /* the machine asks for it */
/* Returns NULL if all nodes agree, else why not, valid until the next call; *nodes: bits of the nodes concerned. */
const char *checkAgreement(simWorld *w, uint64_t *nodes);
void checkEnd(simWorld *w);

/* ---- sim_run.c ---- */
/* Runs one seed; the result is in *w, which the caller frees by simEnd(). */
void simRun(simWorld *w, const simOptions *o, uint64_t seed);
void simEnd(simWorld *w);
void simInit(simWorld *w, const simOptions *o, uint64_t seed);
void simNext(simWorld *w); /* passes the next event */
void simDispatch(simWorld *w, simEvent *e);
int simCost(const simOptions *o);

#define SIM_PLANTS(X)                                                      \
    X(NONE, "none")                                                        \
    X(SAVED_EARLY, "SAVED before the file is on disk")                     \
    X(EPOCH_LOST, "a restart loses currentEpoch")                          \
    X(VOTE_LOST, "a restart loses lastVoteEpoch")                          \
    X(FILE_TORN, "a kill leaves half a nodes file")                        \
    X(FILE_STALE, "saves are reported, and never written")                 \
    X(VOTES_LOST, "VOTE is never delivered")                               \
    X(PONG_LOST, "node 0 never gets a PONG from node 1")                   \
    X(PAUSE_IGNORED, "main does not pause writes")                         \
    X(RESUME_IGNORED, "main never resumes writes before the time")         \
    X(FOLLOW_IGNORED, "main keeps its old primary")                        \
    X(PROMOTION_IGNORED, "main stays a replica")                           \
    X(VIEW_STALE, "main keeps its table of owners")                        \
    X(CLOCK_STANDS, "the monotonic clock of node 0 stands still")          \
    X(CLOSE_IGNORED, "CLOSE does not close")                               \
    X(LINK_DOWN_LOST, "LINK_DOWN is never reported")                       \
    X(ID_DOUBLED, "two nodes start with one nodes file")                   \
    X(FRAME_DAMAGED, "a byte of slots is flipped in each hundredth frame") \
    X(OFFSET_ZERO, "replicas report no dataset")
enum {
#define X(name, text) PLANT_##name,
    SIM_PLANTS(X)
#undef X
        PLANT_KINDS
};
extern const char *const sim_plant_texts[PLANT_KINDS];
static inline bool planted(const simWorld *w, unsigned plant) { return w->options->plant == plant; }

#endif
