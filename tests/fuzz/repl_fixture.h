/* repl_fixture.h -- a server with commands and replication but no port, for fuzz targets that use sockets.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_FUZZ_REPL_FIXTURE_H
#define TESTS_FUZZ_REPL_FIXTURE_H

#include "acl.h"
#include "apply_faults.h"
#include "auth.h"
#include "bio.h"
#include "call.h"
#include "command_defs.h"
#include "command_table.h"
#include "connection_cmds.h"
#include "db.h"
#include "engine.h"
#include "gates.h"
#include "io_threads.h"
#include "log.h"
#include "monitor.h"
#include "net.h"
#include "net_settings.h"
#include "panic.h"
#include "pause.h"
#include "stream_apply.h"
#include "propagate.h"
#include "psync.h"
#include "pubsub.h"
#include "replication.h"
#include "repl_settings.h"
#include "replicas.h"
#include "store_settings.h"
#include "repl_stream.h"
#include "tracking.h"
#include "transaction_queue.h"
#include "usual_objects.h"
#include "wait_commands.h"
#include "yield.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static aeEventLoop *loop;

static serverIdentity identity(void) {
    return (serverIdentity){.name = "fuzz", .version = "1.2.3", .mode = "standalone", .role = "replica"};
}

static void prepare(void (*lost)(bool whole)) {
    signal(SIGPIPE, SIG_IGN);
    panicSetMainThread();
    clockInit();
    bioInit(NULL);
    logSetLevel(getenv("FUZZ_LOG") ? LL_NOTICE : LL_NOTHING);
    objectTypesRegister();
    object_settings = usual_objects;
    dbInit(16);
    clientsInit();
    commandsRegister();
    engineCommandsRegister();
    replCommandsRegister();
    commandTableSeal();
    aclInit();
    gateSet(GATE_AUTH, authGate);
    gateSet(GATE_ACL, aclGate);
    gateSet(GATE_SUBSCRIBED, subscribedGate);
    gateSet(GATE_TRANSACTION, transactionGate);
    gateSet(GATE_BUSY, yieldGate);
    gateSet(GATE_REPLICA_CLIENT, replicaGate);
    gateSet(GATE_PAUSE, pauseGate);
    gateSet(GATE_QUEUE, queueGate);
    connectionSetIdentity(identity);
    transactionQueueInit();
    monitorInit();
    pauseInit();
    pubsubInit();
    pubsubCommandsInit();
    propagateInit();
    trackingInit(callCurrentClient);
    net_settings = (netSettings){
        .io_threads = 1, .maxclients = 100, .proto_max_bulk_len = 1 << 20, .client_query_buffer_limit = 1 << 20};
    repl_settings.backlog_size = 16 << 10;
    loop = aeCreateEventLoop(128);
    netInit(loop);
    aeSetBeforeSleep(loop, netBeforeSleep, NULL);
    aeSetBeforeWait(loop, netBeforeWait, NULL);
    aeSetAfterSleep(loop, netAfterSleep, NULL);
    aeSetAfterEvent(loop, netAfterEvent, NULL);
    replStreamInit();
    replicasInit();
    psyncInit(replicaClientGate, streamApplyOnGetack);
    streamApplyInit(lost);
    applyFaultsInit();
    waitCommandsInit();
}

static void iteration(void) {
    aeProcessEvents(loop, AE_ALL_EVENTS | AE_DONT_WAIT);
    replicasFeed();
}

#endif
