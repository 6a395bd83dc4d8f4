/* bus_fixture.h -- a bus whose machine is a fake, and a peer that is a plain socket.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BUS_FIXTURE_H
#define BUS_FIXTURE_H

#include "bus_thread.h"

#include <stdatomic.h>

typedef struct fakeEvent {
    clusterEventKind kind;
    uint64_t link, version;
    unsigned type; /* of a frame */
    char ip[NODE_IP_LEN], peer_ip[NODE_IP_LEN];
    clusterLocal local;
} fakeEvent;

/* A bus and its fake machine. A command of kind CLUSTER_SEND_MODULE has the actions in `actions` as its effect. */
typedef struct fakeNode {
    clusterBus *bus;
    aeWakeup main_wakeup;
    int port;
    _Atomic uint64_t saved; /* version that next_event() reports once; 0: none */
    /* under the bus's lock */
    fakeEvent *events; /* owns */
    size_t event_count, event_capacity;
    clusterActions effect; /* of the next COMMAND */
    bool knows_all;        /* peers are known after their first frame */
    bool answers_pings;
    bool delivers;   /* messages are for this server */
    uint64_t closes; /* link that the next frame on it closes; 0: none */
} fakeNode;

busSettings fakeSettings(void);
/* Starts a node that listens on 127.0.0.1, or on ::1, at a port that the system chooses. */
void fakeStart(fakeNode *n, const busSettings *settings, bool ipv6);
void fakeStop(fakeNode *n);

/* Waits until there are `count` events of a kind, for up to some seconds. Returns the last one of them; its kind is -1
 * if there are fewer. */
fakeEvent fakeWait(fakeNode *n, clusterEventKind kind, size_t count);
size_t fakeCount(fakeNode *n, clusterEventKind kind);
/* Waits until a counter has reached a value. */
bool fakeWaitCounter(const _Atomic uint64_t *counter, uint64_t value);

/* Steps of main, whose other actions are dropped. */
void fakeConnect(fakeNode *n, uint64_t link, const char *ip, int port);
void fakeClose(fakeNode *n, uint64_t link);
void fakeSend(fakeNode *n, uint64_t link, sds frame); /* takes ownership of the frame */
void fakeStep(fakeNode *n, const clusterAction *effect, size_t count, clusterActions *actions);

sds pingFrame(busType type);
sds publishFrame(size_t len, char fill);

/* A peer. Reads and writes block, for 5 seconds at most. */
int peerConnect(int port);
int peerListen(int *port);
void peerWrite(int fd, const void *bytes, size_t len);
/* Reads a frame. Returns its type, or -1 at the end of input or after the time. */
int peerRead(int fd);
bool peerIsClosed(int fd);

int openDescriptors(void);

#endif
