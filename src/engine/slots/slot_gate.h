/* slot_gate.h -- whether a command of a cluster's client is served here: one decision for all kinds of commands.
 *
 * A plain command, one that is queued in MULTI, EXEC with its whole queue, a command of a script, and a blocked client
 * whose slot may have left are all asked about in the same words. The answer depends on the question and on the table
 * of slots, and on nothing that was asked before.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_SLOT_GATE_H
#define ENGINE_SLOT_GATE_H

#include "sds.h"
#include "slot_table.h"

/* The keys of a question: how many exist, how many do not (each as often as it is named), whether two differ. */
typedef struct slotKeys {
    size_t present, missing;
    bool differ;
} slotKeys;

typedef struct slotQuestion {
    int slot;            /* of the first key; -1: there is no key */
    bool cross_slot;     /* another key has another slot */
    bool writes;         /* CMD_WRITE */
    bool shard_channels; /* some of the keys are shard channels */
    bool changes_db;     /* MOVE, or COPY to another database */
    bool migrates;       /* MIGRATE */
    bool asking;         /* the client has sent ASKING, or the command implies it */
    bool readonly;       /* the client has sent READONLY */
    bool waits;          /* it is blocked until a key is written: reads are of no use to it */
    /* Counts the keys; called at most once, and only if the slot is open. NULL: they do not matter, because the command
     * does not run now. */
    slotKeys (*count)(const void *arg);
    const void *arg;
} slotQuestion;

typedef enum {
    SLOT_SERVED,     /* here */
    SLOT_CROSS,      /* CROSSSLOT */
    SLOT_UNASSIGNED, /* CLUSTERDOWN: no node owns the slot */
    SLOT_TRY_AGAIN,  /* TRYAGAIN: some of the keys have moved */
    SLOT_DOWN,       /* CLUSTERDOWN */
    SLOT_DOWN_READS, /* CLUSTERDOWN: only reading commands are executed */
    SLOT_ASK,        /* ASK: the node to which the slot is migrating */
    SLOT_MOVED       /* MOVED: the owner */
} slotVerdict;

typedef struct slotAnswer {
    slotVerdict verdict;
    uint16_t node; /* of SLOT_ASK and SLOT_MOVED */
} slotAnswer;

/* Decides whether the command is served here. The order of the checks is that of Valkey's errors. */
slotAnswer slotDecide(const slotQuestion *q);
/* Returns the error reply of an answer other than SLOT_SERVED, for a client that is connected in this way. The caller
 * frees it. */
sds slotErrorText(slotAnswer answer, int slot, slotAsker asker) must_check;

#endif
