/* manager_view.h -- a cluster as its nodes describe it in their replies to CLUSTER NODES.
 *
 * Each node is asked, and is believed about itself: which slots it owns, and which it is moving. Its view of the others
 * is kept as its opinion, so that opinions can be compared.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef MANAGER_VIEW_H
#define MANAGER_VIEW_H

#include "hash.h"
#include "sds.h"

#define MANAGER_ID_LEN 40

enum {
    NODE_MYSELF = 1 << 0,
    NODE_PRIMARY = 1 << 1,
    NODE_REPLICA = 1 << 2,
    NODE_FAILED = 1 << 3,  /* flag "fail" */
    NODE_UNKNOWN = 1 << 4, /* in handshake, or without an address */
};

/* A slot that its node is moving: importing it from `other`, or migrating it to `other`. */
typedef struct openSlot {
    int slot;
    bool importing;
    char other[MANAGER_ID_LEN + 1];
} openSlot;

typedef struct managerNode {
    char id[MANAGER_ID_LEN + 1];
    char primary_id[MANAGER_ID_LEN + 1]; /* "" for a primary */
    sds host;                            /* owns; "" if the node does not know its own address */
    sds address;                         /* owns: at which other nodes reach it; NULL: like host */
    sds hostname;                        /* owns; NULL if none is announced */
    int port, bus_port;
    unsigned flags;
    unsigned long long epoch;
    char slots[HASH_SLOTS / 8]; /* a bit per slot, as in bits.h */
    int slot_count;
    openSlot *open; /* owns */
    size_t open_count;
    sds opinion;    /* owns: which slots each node owns, in the order of ids; NULL until the node was asked */
    size_t knows;   /* nodes that it knows, itself included, once asked */
    int replicas;   /* of a primary: how many nodes of the view are its replicas */
    long long keys; /* -1 until counted */
} managerNode;

typedef struct managerView {
    managerNode *nodes; /* owns */
    size_t count;
} managerView;

/* Parses a reply to CLUSTER NODES: one node for each line. Returns false if a line is malformed; the view is empty
 * then. managerViewFree() frees the view in either case. */
bool managerViewParse(managerView *v, slice text) must_check;
void managerViewFree(managerView *v);
void managerNodeFree(managerNode *n); /* what the node owns, not the node itself */

/* Returns the index of the node with this id, or of the one that says so of itself; -1 if there is none. */
int managerFind(const managerView *v, const char *id);
int managerFindMyself(const managerView *v);
/* Counts the replicas of each primary. */
void managerCountReplicas(managerView *v);
/* Returns the opinion of the node whose reply `v` was parsed from. The caller frees it. */
sds managerOpinion(const managerView *v);

bool managerOwns(const managerNode *n, int slot);
void managerSetSlot(managerNode *n, int slot, bool owned);
static inline bool managerIsPrimary(const managerNode *n) { return n->flags & NODE_PRIMARY; }
/* Returns what the node is doing with the slot; NULL if it is not open there. */
const openSlot *managerOpenSlot(const managerNode *n, int slot);

static inline const char *managerAddressOf(const managerNode *n) { return n->address ? n->address : n->host; }

/* Appends a set of slots as ranges: "[0-5460],[5462]"; nothing if it is empty. */
sds managerCatSlots(sds out, const char *slots);

#endif
