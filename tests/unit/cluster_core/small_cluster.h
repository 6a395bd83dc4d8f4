/* small_cluster.h -- a few machines of a cluster that reach each other at once, for unit tests.
 *
 * Bytes of frames are decoded as from a socket. Files are saved when the test says so, or at once.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_SMALL_CLUSTER_H
#define TESTS_SMALL_CLUSTER_H

#include "machine.h"

#define SMALL_NODES 10

typedef struct smallNode {
    clusterMachine *m;
    clusterConfig config;
    clusterLocal local;
    bool is_cut;     /* no connection reaches it or leaves it */
    bool disk_waits; /* nothing is saved */
    bool disk_fails; /* nothing can be saved; tried again each tick */
    bool save_failed;
    bool main_waits; /* main does not execute PAUSE_WRITES */
    sds file;        /* text of its nodes file; NULL: none yet */
    unsigned became_primary, followed, delivered, paused, resumed, sent[BUS_TYPES];
    busHeader last_sent[BUS_TYPES]; /* headers of the last frames that are not light */
    nodeId follows;
    uint64_t last_pause; /* number of the last PAUSE_WRITES */
    sds reply, log;      /* of the last command; all lines */
} smallNode;

/* A connection: node `a` has made it as link `a_link`, node `b` accepted it as `b_link`. */
typedef struct smallLink {
    int a, b;
    uint64_t a_link, b_link;
} smallLink;

typedef struct smallCluster {
    clusterTime now;
    int count;
    smallNode nodes[SMALL_NODES];
    smallLink *links;
    size_t link_count, link_capacity;
    uint64_t accepted;
} smallCluster;

/* Starts `count` nodes that do not know each other; node i listens at 10.0.0.<i + 1>. */
void smallInit(smallCluster *c, int count);
void smallFree(smallCluster *c);
/* Lets `ms` pass in ticks of 100 ms. */
void smallRun(smallCluster *c, uint64_t ms);
/* Gives a node a command and returns its reply. */
const char *smallCommand(smallCluster *c, int node, clusterCommand command);
/* Gives a node an event and executes the actions. */
void smallStep(smallCluster *c, int node, const clusterEvent *e);
/* Passes the node its `config`, which the test has changed. */
void smallConfigure(smallCluster *c, int node);
/* Has all nodes meet node 0, and gives each of the first `primaries` an equal part of the slots. */
void smallJoin(smallCluster *c, int primaries);
/* Makes node `node` a replica of node `of`, with its dataset up to `offset`. */
void smallReplicate(smallCluster *c, int node, int of, uint64_t offset);
/* Gives node `to` a frame on the link that node `from` has made. */
void smallReceive(smallCluster *c, int to, int from, const busFrame *f);
/* Cuts a node off, or lets it be reached again. */
void smallCut(smallCluster *c, int node, bool cut);
/* Returns the record that node `of` has of node `about`; NULL: it does not know it. */
const clusterNode *smallRecord(smallCluster *c, int of, int about);
/* Ends a node and starts it again with its file. */
void smallRestart(smallCluster *c, int node);

#endif
