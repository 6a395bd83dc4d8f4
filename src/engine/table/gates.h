/* gates.h -- what may keep a command from running: named stages in a fixed order, each with one entry.
 *
 * A stage is asked only when it is armed, for all clients or for one: an ordinary command on an ordinary client pays
 * one branch for all of them together. The order is the one in which clients know the errors.
 *
 * A layer that needs a check of its own adds a stage where its error belongs in that order. There may be 32 stages, a
 * bit of gates_armed and client.gates each.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_GATES_H
#define ENGINE_GATES_H

#include "client.h"

typedef enum {
    GATE_AUTH,           /* a client that has not authenticated: NOAUTH; also of commands that do not exist */
    GATE_PROTECTED,      /* a command that is switched off for this client (DEBUG, MODULE) */
    GATE_TRANSACTION,    /* a command that does not go into MULTI */
    GATE_ACL,            /* what the user may not do: NOPERM */
    GATE_CLUSTER,        /* another node serves the slot: MOVED, ASK, CROSSSLOT, CLUSTERDOWN, TRYAGAIN */
    GATE_REDIRECT,       /* a replica, and the client goes where it is told: REDIRECT */
    GATE_MEMORY,         /* maxmemory: evict, or OOM */
    GATE_DISK,           /* the last save or append failed: MISCONF */
    GATE_REPLICAS,       /* too few good replicas: NOREPLICAS; a write on a replica: READONLY */
    GATE_SUBSCRIBED,     /* RESP2 subscribers know few commands */
    GATE_STALE,          /* a replica that has lost its primary: MASTERDOWN */
    GATE_LOADING,        /* the dataset is being read: LOADING */
    GATE_BUSY,           /* a long job lets others in between (yield.h): BUSY and the like */
    GATE_REPLICA_CLIENT, /* a client that is sent the dataset, or the commands, does not ask for keys */
    GATE_PAUSE,          /* CLIENT PAUSE: postponed */
    GATE_QUEUE,          /* in MULTI: queued instead of executed */
    GATE_STAGES
} gateStage;

typedef enum {
    GATE_PASSED,
    GATE_REFUSED,        /* the entry has answered with an error */
    GATE_DIVERTED,       /* the entry has answered, and nothing is wrong (QUEUED) */
    GATE_POSTPONED,      /* the command stays the next to run; the entry knows when */
    GATE_FOR_MAIN_THREAD /* the same, until main's own thread acts as main */
} gateResult;

/* Looks at c->cmd (NULL in GATE_AUTH for a command that does not exist), c->req and the client. */
typedef gateResult gateFn(client *c);

/* Give a stage its entry; each has at most one. Boot only. */
void gateSet(gateStage stage, gateFn *fn);
/* Give a stage the entry that commands of scripts ask in place of the other: they know another error. Boot only. */
void gateSetForScript(gateStage stage, gateFn *fn);
/* Ask the stage for every client, or no longer. */
void gateArm(gateStage stage, bool on);
/* Ask the stage for this client. Both are independent: a stage is asked when either says so. */
void gateArmClient(client *c, gateStage stage, bool on);

/* Stages armed for all clients, a bit each. */
extern uint32_t gates_armed;

/* Ask the armed stages in their order, from `first` to `last`, until one does not pass; for a command that may be
 * switched off (CMD_PROTECTED) GATE_PROTECTED counts as armed. */
gateResult gatesAsk(client *c, gateStage first, gateStage last);
/* The same for a command of a script, whose client is `self`. Asks the armed ones of `stages` (a bit each) in the order
 * in which scripts know the errors: GATE_MEMORY, GATE_ACL and GATE_STALE by entries of their own, then GATE_PROTECTED,
 * GATE_CLUSTER, GATE_DISK and GATE_REPLICAS. The others have let the script's caller pass, and are not asked again. */
gateResult gatesAskForScript(client *self, unsigned stages);

/* The dataset is an old one, which is not served (GATE_STALE), and its error. */
#define STALE_ERROR "-MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."
static inline bool gateStaleIsArmed(void) {
    return unlikely(gates_armed & 1u << GATE_STALE);
}

/* Whether there is anything to ask for this client's ordinary commands. */
static inline bool gatesArmedFor(const client *c) {
    return (gates_armed | c->gates) != 0;
}

#endif
