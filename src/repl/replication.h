/* replication.h -- the layer for those above it: its startup, its periodic work and its traffic.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPL_REPLICATION_H
#define REPL_REPLICATION_H

#include "ae.h"

/* Initializes the layer. Call once, when the layers below are initialized. */
void replInit(aeEventLoop *loop);

/* Adds the commands of this layer to the command table. Call at startup only. */
void replCommandsRegister(void);
/* In repl_info.c: registers the INFO fields of this layer. Call at startup only. */
void replInfoRegister(void);
/* Bytes received from primaries and sent to replicas since startup, RDBs included. CONFIG RESETSTAT resets the INFO
 * fields, but not these. */
typedef struct replTraffic {
    uint64_t input, output;
} replTraffic;
replTraffic replTrafficNow(void);

/* --- In repl_cron.c --- */
/* Does the periodic work of replication. Call at each tick, on main's own thread. */
void replTick(void);
/* Appends REPLCONF GETACK to the replication stream, so that replicas send acknowledgments at once. */
void replRequestAcks(void);
/* Sets how long the offset of a dual-channel replica is kept after it has received the dataset, if its other connection
 * does not request the replication stream. */
void replSetCursorGrace(uint64_t seconds);
/* Sends replicas the new bytes of the replication stream. Call before output is sent. */
void replFeed(void);

#endif
