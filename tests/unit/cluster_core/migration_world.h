/* migration_world.h -- a few nodes that move slots: their machines, and a model of keys, connections and clients.
 *
 * A slot has one key, whose value is a version. Messages of a connection arrive in their order, when the test says so.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_MIGRATION_WORLD_H
#define TESTS_MIGRATION_WORLD_H

#include "slot_jobs.h"
#include "small_cluster.h"

#define MOVING_NODES 3
#define MOVING_SLOTS 12 /* slots that have keys; the first of node 0 */

typedef struct movingMessage {
    enum { MOVING_ESTABLISH, MOVING_AUTH, MOVING_LINE, MOVING_WORD, MOVING_KEY } kind;
    slotJobWord word;
    nodeId name;
    const char *line;
    int slot, version; /* version 0: deleted */
} movingMessage;

typedef struct movingQueue {
    movingMessage *list; /* owns */
    size_t first, end, capacity;
} movingQueue;

/* The connection of an export, number `job` at `source`; `import`: the target's number, 0: not established yet. */
typedef struct movingLink {
    int source, target;
    uint64_t job, import;
    bool is_closed; /* by the source: what it has sent still arrives */
    movingQueue to_target, to_source;
} movingLink;

/* A grant as it is on disk. */
typedef struct movingRecord {
    nodeId name, target;
    slotSet slots;
} movingRecord;

typedef struct movingNode {
    slotJobs *jobs;
    slotJobsConfig config;
    int keys[MOVING_SLOTS]; /* version of the slot's key; 0: no key */
    slotSet hidden, fenced;
    uint64_t walks;                   /* job; 0: none */
    int walked;                       /* its slots below this one were sent */
    uint64_t passes_on[MOVING_SLOTS]; /* job that gets the writes to a slot; 0: none, or its key was not sent yet */
    int finished;                     /* FINISHED actions */
    sds reply;
    bool wrong_password;
    bool disk_waits; /* grants are not written */
    movingRecord records[8];
    int record_count;
} movingNode;

typedef struct movingWorld {
    smallCluster cluster;
    movingNode nodes[MOVING_NODES];
    movingLink links[8];
    int link_count;
    int versions;              /* given so far */
    int written[MOVING_SLOTS]; /* last version whose write was acknowledged to a client */
    bool connects;             /* connections can be made */
} movingWorld;

void movingInit(movingWorld *w);
void movingFree(movingWorld *w);
/* Gives a node an event; executes the actions. */
void movingStep(movingWorld *w, int node, const slotJobsEvent *e);
/* Sends MIGRATESLOTS for slots `first` to `last`. Returns the reply. */
const char *movingMigrate(movingWorld *w, int from, int to, unsigned first, unsigned last);
/* Delivers the next message of a link to one side. Returns false if there is none. */
bool movingDeliver(movingWorld *w, int link, bool to_target);
/* Lets time pass, in ticks of 100 ms, and delivers all messages. */
void movingRun(movingWorld *w, uint64_t ms);
/* Sends one more key of the walk of a node; returns false if it does not walk. */
bool movingWalk(movingWorld *w, int node);
/* A client writes to a slot at a node. Returns whether the write was acknowledged. */
bool movingWrite(movingWorld *w, int node, int slot);
/* Breaks a link: both sides learn of it. */
void movingBreak(movingWorld *w, int link);
/* Ends a node and starts it again with its files: the log has its imports, the disk its grants. */
void movingRestart(movingWorld *w, int node);
/* Returns the newest job of a node. */
const slotJob *movingJob(const movingWorld *w, int node);
/* Checks what must hold at each moment: one node at most takes writes to a slot. */
void movingCheck(movingWorld *w);
/* Checks what must hold when all is at rest: each slot has one owner, which has its key; no other has it. */
void movingCheckRest(movingWorld *w);

#endif
