/* slot_table.h -- cluster mode: which node serves each slot, as far as commands and redirections need it.
 *
 * This is main's own copy: the cluster layer calls the setters when its view has changed, and then slotsChanged()
 * (slot_check.h). A command whose slot passes slotIsServed() needs no other look.
 *
 * A node is named by an index that the cluster layer chooses, from 1; 0 is no node.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_SLOT_TABLE_H
#define ENGINE_SLOT_TABLE_H

#include "cluster_types.h"

/* Whether this server is a node of a cluster. Const after startup; set by slotsEnable() (slot_check.h). */
extern bool slots_enabled;

/* For slotIsServed(): a bit for each slot, and one for -1, which is always set. They are found by the number without
 * sign, which needs no test; the bits between are not used. */
#define SLOT_WORDS (65536 / 64)
extern uint64_t slots_served[SLOT_WORDS];
/* Returns whether commands of the slot, as a record names it, run here without further questions: this node owns it, it
 * is not open, and the cluster is up; or they have none (-1). No slot is served without cluster mode. */
static inline bool slotIsServed(int16_t slot) { return slots_served[(uint16_t)slot / 64] >> ((uint16_t)slot % 64) & 1; }

/* Why no commands are executed. */
typedef enum {
    SLOTS_UP,
    SLOTS_DOWN_COVERAGE, /* a slot is not served by any node, and cluster-require-full-coverage is set */
    SLOTS_DOWN_MINORITY  /* this node does not reach the majority of primaries */
} slotsState;

typedef struct slotNode {
    nodeId id;
    char ip[NODE_IP_LEN];                  /* ends with NUL; empty: not known */
    char client_ipv4[NODE_IP_LEN];         /* shown to clients in place of `ip`; empty: none */
    char client_ipv6[NODE_IP_LEN];         /* the same for clients that use IPv6 */
    const char *hostname;                  /* owned by the table; NULL: none */
    uint16_t port, tls_port;               /* 0: none */
    uint16_t client_port, client_tls_port; /* shown to clients in place of these; 0: none */
    uint16_t primary;                      /* index of its primary; 0: it is one itself */
    bool failed;
} slotNode;

/* Sets what is known of a node; copies `n` and its hostname. NULL: there is no such node any more; it must not own a
 * slot. */
void slotTableSetNode(uint16_t index, const slotNode *n);
/* Returns the node; NULL if there is none with this index. Borrowed until its next slotTableSetNode(). */
const slotNode *slotTableNode(uint16_t index);
/* Returns whether a node has this id. A pass over the nodes. */
bool slotTableKnows(slice id);
/* Sets which node this one is. */
void slotTableSetMyself(uint16_t index);
/* Sets the owner of a slot; 0: it has none. */
void slotTableSetOwner(unsigned slot, uint16_t node);
/* Sets the nodes to which a slot is migrating and from which it is imported, here or at this replica's primary; 0: it
 * is not. The slot is open if one of them is set. */
void slotTableSetOpen(unsigned slot, uint16_t migrating_to, uint16_t importing_from);
void slotTableSetState(slotsState state);
/* Forgets all nodes, owners and open slots. */
void slotTableClear(void);

/* One slot as this node sees it. */
typedef struct slotView {
    uint16_t owner, migrating_to, importing_from; /* indexes of nodes; 0: none */
    bool mine;                                    /* this node owns it */
    bool followed;                                /* the primary of this node owns it */
    bool replica;                                 /* this node is a replica */
    slotsState state;                             /* of the cluster */
} slotView;
slotView slotTableLook(unsigned slot);

/* Returns the last slot of a walk over the keys of neighbouring slots that begins at `slot`: those after it that have
 * the same owner, if that is this node or its primary; `slot` itself if it has another owner, as a slot that is
 * imported has. A pass over these slots. */
unsigned slotTableRunEnd(unsigned slot);

/* --- The address of a node as clients see it (slot_endpoint.c) ---------------------------------------------------- */

/* How the client that asks is connected. */
typedef struct slotAsker {
    bool tls, ipv6;
} slotAsker;

/* Returns the address of a node for such a client; empty if it is not known. Borrowed from the node. */
const char *slotNodeAddress(const slotNode *n, slotAsker asker);
/* Returns what redirections and CLUSTER SLOTS name a node by (cluster-preferred-endpoint-type): its address, its
 * hostname or "?", or "", which clients read as the host that they are connected to. */
const char *slotNodeEndpoint(const slotNode *n, slotAsker asker);
/* Returns the port that such a client uses. */
uint16_t slotNodePort(const slotNode *n, slotAsker asker);

#endif
