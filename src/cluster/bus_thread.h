/* bus_thread.h -- the bus: a thread that has the links to other nodes, and steps the machine for what happens on them.
 *
 *      bus thread                                 main
 *      frames, links, ticks                       commands, saved files
 *           |  step, under one lock                    |  busStep()
 *           v                                          v
 *      CONNECT, CLOSE, SEND, LOG <-- the machine --> all other actions: busTakeActions(), after a wakeup
 *
 * Actions of all steps are executed in the order of the steps, on either side. Pings are answered while main executes a
 * long command; if main has not run its loop for the node timeout, the bus neither reads nor steps until it does.
 *
 * Runs on: main starts, stops and configures the bus; the rest as each function says.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLUSTER_BUS_THREAD_H
#define CLUSTER_BUS_THREAD_H

#include "bus_links.h"

typedef struct clusterBus clusterBus;

/* The machine, as the bus sees it. The first two are called under the bus's lock, by the bus thread and by callers of
 * busStep(). */
typedef struct busHandler {
    void *arg;
    /* Takes an event and appends actions, as clusterStep() does. */
    void (*step)(void *arg, clusterTime now, const clusterEvent *event, clusterActions *actions);
    /* Returns whether the node at the other end of an accepted link is known. */
    bool (*knows_peer)(void *arg, uint64_t link);
    /* Sets *event to the next event of another source, such as a saved file, and returns whether there is one. Called
     * by the bus thread, without the lock, in each loop iteration; busWakeup() begins one. May be NULL. */
    bool (*next_event)(void *arg, clusterEvent *event);
} busHandler;

typedef struct busPlan {
    busHandler handler;
    busSettings settings;
    const int *listeners; /* borrowed: listening sockets, which the bus takes over */
    size_t listener_count;
    /* Borrowed until busStop(), or NULL: wakes main's loop, for a sign of life or because actions wait. */
    const aeWakeup *main_wakeup;
    const char *cpulist; /* see threadSetCpuAffinity() */
} busPlan;

/* Starts the thread. Returns NULL with errno on failure; the sockets are the caller's then. */
clusterBus *busStart(const busPlan *plan);
/* Ends the thread, closes all links and frees the bus with the actions that were not taken. */
void busStop(clusterBus *b);
/* Returns the wakeup of the bus thread, for the source of next_event(). Borrowed from the bus. */
const aeWakeup *busWakeup(const clusterBus *b);
/* Puts other settings into force. Takes references to the TLS contexts. */
void busConfigure(clusterBus *b, const busSettings *settings);

/* Has the bus close its listening sockets and accept on these, which it takes over; if there are none, it accepts
 * nothing until the next call. Main. */
void busListen(clusterBus *b, const int *listeners, size_t count);
/* Returns whether the bus has listening sockets; false when it has closed those from before a busListen() without any,
 * so that their addresses are free. Any thread. */
bool busIsListening(const clusterBus *b);

/* Steps the machine. Sets *actions, which must be empty, to the actions for main of all steps until this one, this one
 * included; with NULL they stay for busTakeActions(), and main is woken. Waits for one running step at most. Any thread
 * but the bus's; `actions` only on main. */
void busStep(clusterBus *b, const clusterEvent *event, clusterActions *actions);
/* Sets *actions, which must be empty, to the actions for main that wait. Call after the wakeup. In a DELIVER `frame`
 * has the bytes of the frame. Main. */
void busTakeActions(clusterBus *b, clusterActions *actions);
/* Keep the machine as it is between the two calls, so that it can be read. Any thread. */
void busLockMachine(clusterBus *b);
void busUnlockMachine(clusterBus *b);

/* For tests of clusters. busDropFrames() drops received frames of a type (BUS_PING ...) before the machine sees them:
 * none of them is stepped after its return. A number that is no type drops none. With `close_links` the link of such a
 * frame is closed as well. busCloseLink() closes a link as if its peer had, if there is one of that number: the machine
 * does not know it any more after its return. Any thread but the bus's. */
#define BUS_DROP_NONE (-1)
#define BUS_DROP_ALL (-2)
void busDropFrames(clusterBus *b, int type, bool close_links);
void busCloseLink(clusterBus *b, uint64_t link);

/* Call once in each loop iteration. Main. */
void busMainRuns(clusterBus *b);
/* Sets the local state of the next ticks. Never waits: while the bus thread is reading the last one, nothing changes.
 * Main. */
void busPublishLocal(clusterBus *b, const clusterLocal *local);

/* Any thread. */
const busStats *busCounters(const clusterBus *b);
/* Like busLinksList(). Any thread. */
size_t busListLinks(clusterBus *b, busLinkFigures **list);

#endif
