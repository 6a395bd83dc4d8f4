/* cluster.h -- this server as a node of a cluster: its start and end, and what main asks of the cluster's machine.
 *
 * Runs on: main; functions that start or stop the node, main's own thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLUSTER_CLUSTER_H
#define CLUSTER_CLUSTER_H

#include "ae.h"
#include "bus_thread.h"
#include "client.h"
#include "machine.h"
#include "slot_table.h"

/* Adds the commands and INFO fields of this layer. Call at startup only. */
void clusterCommandsRegister(void);
void clusterInfoRegister(void);

/* Const after clusterPrepare(). */
static inline bool clusterIsEnabled(void) { return slots_enabled; }

/* With cluster-enabled: locks and reads the nodes file and makes the machine; a replica knows its primary from then on.
 * Call at startup before the dataset is loaded. Returns false, after a log line, if this server cannot be a node. */
bool clusterPrepare(aeEventLoop *loop) must_check;
/* Starts the bus: other nodes are reached and reach this one. Call when the dataset is loaded. Returns false, after a
 * log line, on failure. */
bool clusterBegin(void) must_check;
/* Writes what the nodes file has to have, and ends the bus. Call at shutdown. */
void clusterEnd(void);
/* Call once in each loop iteration, and at each tick. */
void clusterRuns(void);
void clusterTick(void);

/* Gives the machine the running command of a client, and executes the actions that are main's. The client gets the
 * machine's reply when the nodes file on disk has what the command changed: it is blocked until then. A client that
 * must not block lets main wait, but for the client of the link to a primary, which needs no reply. */
void clusterRun(client *c, const clusterCommand *command);
/* Gives the machine a command that no client waits for, executes main's actions and returns the reply, which the caller
 * frees. Call on main's own thread. */
sds clusterRunAlone(const clusterCommand *command);
/* Gives the machine a command that needs no reply; main executes its actions at its next wakeup. */
void clusterRunLater(const clusterCommand *command);
/* Returns the version that the nodes file must have for a reply of now; 0 if the file on disk has it. */
uint64_t clusterVersionToSave(void);
/* Sets the function that is called at each tick, and when a version has been saved or clusterWake() was called: with
 * the last version that is on disk or could not be written, on main's own thread. Startup only. */
void clusterOnWakeup(void (*fn)(uint64_t tried_version));
/* Has it called soon. */
void clusterWake(void);
/* Replies to the client as the machine says ("+OK", "-ERR ..."). */
void clusterAddReply(client *c, slice reply);
/* Lock the machine for reading: no step runs until clusterUnlock(). */
const clusterMachine *clusterLock(void);
void clusterUnlock(void);
/* Writes the nodes file and waits for the disk. Returns 0 or errno. */
int clusterSaveNow(void) must_check;
const busStats *clusterBusCounters(void);
/* Like busListLinks(). */
size_t clusterLinks(busLinkFigures **list);
clusterTime clusterNow(void);

/* The switches of DEBUG, for tests of clusters. Call clusterSwitch() after a change; it has no effect without cluster
 * mode. */
typedef struct clusterSwitches {
    int dropped_type; /* see busDropFrames() */
    bool drop_closes, no_connects, no_random_pings;
} clusterSwitches;
extern clusterSwitches cluster_switches;
void clusterSwitch(void);
/* Closes the link to a node, the link from it, or both, as if the node had. Returns false if it is not known. */
bool clusterCloseLinks(const nodeId *id, bool to, bool from);

/* --- In cluster_actions.c: what the machine decides is done with the keyspace and with replication ------------------
 * */

/* Keeps keys of these slots although other nodes own them. */
void clusterKeepKeys(const slotSet *slots);
/* Executes an action that is main's, but for a reply. */
void clusterExecute(const clusterAction *a);
/* Call when actions have been executed: copies the machine's view for redirections if it has changed. */
void clusterActionsDone(void);
/* Returns what this server's keyspace and replication are doing. */
clusterLocal clusterLocalNow(void);
/* Makes this server a replica of its primary in the nodes file, if that is known. Call before the dataset is loaded. */
void clusterActionsInit(aeEventLoop *loop, const clusterMachine *m);

#endif
