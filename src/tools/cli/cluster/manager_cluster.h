/* manager_cluster.h -- connections to all nodes of a cluster, and what these nodes say.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef MANAGER_CLUSTER_H
#define MANAGER_CLUSTER_H

#include "cli_options.h"
#include "manager_view.h"
#include "server_link.h"

typedef struct managerCluster {
    const cliOptions *options; /* borrowed */
    managerView view;          /* the node of the command line first */
    serverLink **links;        /* owns; one for each node of the view */
    long long databases;       /* of each node; 0: not yet asked */
    managerView lost;          /* nodes that the first one knows and that cannot be reached, as it describes them */
} managerCluster;

/* Connects to a server and logs in, with the options of the command line but for the address. Returns NULL after a
 * line on stderr. */
serverLink *managerConnect(const cliOptions *o, const char *host, int port);

/* Connects to the node and to all nodes that it knows, and asks each for its view. A node that cannot be reached is
 * left out, with a line on stderr. Returns false after a message if the first one cannot be used. managerUnload() frees
 * what there is in either case. */
bool managerLoad(managerCluster *m, const cliOptions *o, const char *host, int port) must_check;
/* Like managerLoad(), for a single node: the others that it knows are not contacted. */
bool managerLoadOne(managerCluster *m, const cliOptions *o, const char *host, int port) must_check;
/* Asks all nodes of the view again. Nodes keep their index. Returns false after a message if one does not answer. */
bool managerRefresh(managerCluster *m) must_check;
/* Moves the nodes and connections of `from` to the end of `m`. */
void managerAppend(managerCluster *m, managerCluster *from);
void managerUnload(managerCluster *m);

/* Sends a command (words ended by NULL) to a node and returns its reply, which may be an error; NULL after a message if
 * the connection is broken. */
replyValue *managerCall(managerCluster *m, int node, const char *word, ...) __attribute__((sentinel));
/* The same for a command that must succeed: returns false after a message with the reason. */
bool managerDo(managerCluster *m, int node, const char *word, ...) must_check __attribute__((sentinel));
/* Counts the keys of each primary (DBSIZE). Returns false after a message. */
bool managerCountKeys(managerCluster *m) must_check;
/* Counts the keys of a slot at each primary into `keys`, one for each node of the view. Returns false after a
 * message. */
bool managerCountSlotKeys(managerCluster *m, int slot, long long *keys) must_check;

/* Stores which slots have an owner in the view of a node. Returns false after a message. */
bool managerAskOwned(managerCluster *m, int node, char *slots) must_check;
/* Returns how many primaries cannot be reached. */
int managerLostPrimaries(const managerCluster *m);

/* Splits "HOST:PORT", in which the host may have brackets or colons. Returns false if the text is not an address. The
 * caller frees *host. */
bool managerAddress(const char *text, sds *host, int *port) must_check;

#endif
