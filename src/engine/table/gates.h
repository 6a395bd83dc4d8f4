/* gates.h -- gates: the checks that may keep a command from running, in a fixed order, each with one check function.
 *
 * A gate is checked only while it is enabled, for all clients or for one: an ordinary command of an ordinary client
 * costs one branch for all gates together. Their order is the order in which clients expect the errors.
 *
 * A layer that needs a check of its own adds a gate where its error belongs in that order. There may be 32 gates, as
 * each has a bit in gates_enabled and in client.gates.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_GATES_H
#define ENGINE_GATES_H

#include "client.h"

typedef enum {
    GATE_AUTH,           /* client not authenticated: NOAUTH; checked for unknown commands, too */
    GATE_PROTECTED,      /* command disabled for this client (DEBUG, MODULE) */
    GATE_TRANSACTION,    /* command not allowed in MULTI */
    GATE_ACL,            /* not permitted to the user: NOPERM */
    GATE_CLUSTER,        /* another node serves the slot: MOVED, ASK, CROSSSLOT, CLUSTERDOWN, TRYAGAIN */
    GATE_REDIRECT,       /* this server is a replica, and the client follows redirections: REDIRECT */
    GATE_MEMORY,         /* maxmemory: evict keys, or OOM */
    GATE_DISK,           /* the last save or append failed: MISCONF */
    GATE_REPLICAS,       /* too few good replicas: NOREPLICAS; a write on a replica: READONLY */
    GATE_SUBSCRIBED,     /* RESP2 subscribers may use few commands */
    GATE_STALE,          /* a replica that has lost its primary: MASTERDOWN */
    GATE_LOADING,        /* the dataset is being loaded: LOADING */
    GATE_BUSY,           /* a long job serves other clients meanwhile (yield.h): BUSY and similar errors */
    GATE_REPLICA_CLIENT, /* replicas and monitors may not access keys */
    GATE_PAUSE,          /* CLIENT PAUSE: postponed */
    GATE_QUEUE,          /* in MULTI: queued instead of executed */
    GATE_STAGES
} gateStage;

typedef enum {
    GATE_PASSED,
    GATE_REFUSED,        /* the check function has replied with an error */
    GATE_DIVERTED,       /* the check function has replied, and it is no error (QUEUED) */
    GATE_POSTPONED,      /* the command remains the next to run; the check function's layer resumes the client */
    GATE_FOR_MAIN_THREAD /* POSTPONED until main's own thread has the main role */
} gateResult;

/* The check function of a gate. Reads c->cmd (NULL in GATE_AUTH for an unknown command), c->req and the client. */
typedef gateResult gateFn(client *c);

/* Sets the check function of a gate; each gate has at most one. Call at startup. */
void gateSet(gateStage stage, gateFn *fn);
/* Sets the check function that scripts' commands use in place of the other one, because their errors differ. Call at
 * startup. */
void gateSetForScript(gateStage stage, gateFn *fn);
/* Enables or disables a gate for all clients. */
void gateEnable(gateStage stage, bool on);
/* Enables or disables a gate for this client. Independent of gateEnable(): a gate is checked if either enables it. */
void gateEnableClient(client *c, gateStage stage, bool on);

/* A bit for each gate that is enabled for all clients. */
extern uint32_t gates_enabled;

/* Checks the enabled gates in their order, from `first` to `last`, until one does not return GATE_PASSED, and returns
 * its result. GATE_PROTECTED counts as enabled for commands with CMD_PROTECTED. */
gateResult gatesRun(client *c, gateStage first, gateStage last);
/* Does the same for a command of a script, whose client is `self`. Checks the enabled ones of `stages` (a bit each) in
 * the order in which scripts expect the errors: GATE_MEMORY, GATE_ACL, GATE_CLUSTER and GATE_STALE with the functions
 * of gateSetForScript(), then GATE_PROTECTED, GATE_DISK and GATE_REPLICAS. The script's own command has passed the
 * others, which are not checked again. */
gateResult gatesRunForScript(client *self, unsigned stages);

/* The error of GATE_STALE. */
#define STALE_ERROR "-MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."
/* Returns whether the dataset is outdated and not served. */
static inline bool gateStaleIsEnabled(void) { return unlikely(gates_enabled & 1u << GATE_STALE); }

/* Returns whether any gate is enabled for this client's ordinary commands. */
static inline bool gatesEnabledFor(const client *c) { return (gates_enabled | c->gates) != 0; }

#endif
