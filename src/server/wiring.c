/* wiring.c -- registers the layers with each other at startup, in one place.
 *
 * A layer does not know those above it; this file, in the top layer, registers their tables and hooks with it.
 *
 * Threads     main, at startup.
 * Tests       every test that starts a server
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "startup.h"

#include "acl.h"
#include "admin.h"
#include "admin_settings.h"
#include "aof.h"
#include "aof_rewrite.h"
#include "backup_commands.h"
#include "auth.h"
#include "call.h"
#include "child.h"
#include "client.h"
#include "client_settings.h"
#include "cluster.h"
#include "cluster_settings.h"
#include "command_defs.h"
#include "command_table.h"
#include "connection_cmds.h"
#include "db_cmds.h"
#include "debug.h"
#include "disk_gate.h"
#include "cron.h"
#include "daemon.h"
#include "engine.h"
#include "engine_settings.h"
#include "event_stream.h"
#include "evict.h"
#include "functions.h"
#include "identity.h"
#include "info.h"
#include "info_table.h"
#include "key_check.h"
#include "latency.h"
#include "libraries.h"
#include "loading.h"
#include "memory_gate.h"
#include "monitor.h"
#include "net.h"
#include "net_settings.h"
#include "tls_settings.h"
#include "object_settings.h"
#include "pause.h"
#include "persist.h"
#include "persist_settings.h"
#include "propagate.h"
#include "pubsub.h"
#include "primary_link.h"
#include "psync.h"
#include "replication.h"
#include "repl_settings.h"
#include "script.h"
#include "script_debug.h"
#include "script_settings.h"
#include "server_settings.h"
#include "session_output.h"
#include "setting_table.h"
#include "sliced.h"
#include "slot_check.h"
#include "snapshot.h"
#include "store_state.h"
#include "conn_detach.h"
#include "store_settings.h"
#include "tracking.h"
#include "transaction_queue.h"
#include "web.h"
#include "yield.h"

void wiringSettings(void) {
    netSettingsRegister();
    tlsSettingsRegister();
    storeSettingsRegister();
    clientSettingsRegister();
    engineSettingsRegister();
    objectSettingsRegister();
    persistSettingsRegister();
    scriptSettingsRegister();
    replSettingsRegister();
    clusterSettingsRegister();
    webRegister();
    serverSettingsRegister();
    adminSettingsRegister();
    pendingSettingsRegister();
    settingTableInit();
}

void wiringInfo(void) {
    storeInfoRegister();
    clientInfoRegister();
    engineInfoRegister();
    netInfoRegister();
    loadingInfoRegister();
    persistInfoRegister();
    aofInfoRegister();
    scriptInfoRegister();
    replInfoRegister();
    clusterInfoRegister();
    adminInfoRegister();
    serverInfoRegister();
    pendingInfoRegister();
    infoTableSeal();
    infoInit();
    crashSectionsRegister();
}

void wiringCommands(void) {
    commandsRegister();
    engineCommandsRegister();
    persistCommandsRegister();
    scriptCommandsRegister();
    replCommandsRegister();
    clusterCommandsRegister();
    adminCommandsRegister();
    serverCommandsRegister();
}

void wiringHooks(void) {
    static const librariesOwner functions = {.each = functionsEach, .add = functionsTake, .clear = functionsClear};
    static const debugDetach detach = {connDetachNow, connReattach, connAbandon};
    objectTypesRegister();
    evictInit();
    commandTableSeal();
    aclInit();
    gateSet(GATE_AUTH, authGate);
    gateSet(GATE_PROTECTED, protectedGate);
    gateSet(GATE_TRANSACTION, transactionGate);
    gateSet(GATE_ACL, aclGate);
    gateSet(GATE_CLUSTER, slotGate);
    gateSet(GATE_REDIRECT, primaryRedirectGate);
    gateSet(GATE_MEMORY, memoryGate);
    gateSet(GATE_DISK, diskGate);
    gateSet(GATE_REPLICAS, primaryReadonlyGate);
    gateSet(GATE_SUBSCRIBED, subscribedGate);
    gateSet(GATE_STALE, primaryStaleGate);
    gateSet(GATE_LOADING, loadingGate);
    gateSet(GATE_BUSY, yieldGate);
    gateSet(GATE_REPLICA_CLIENT, replicaGate);
    gateSet(GATE_PAUSE, pauseGate);
    gateSet(GATE_QUEUE, queueGate);
    transactionQueueInit();
    connectionSetIdentity(identityForHello);
    diskGateInit(identityProduct);
    flushallSetAfter(snapshotAllFlushed);
    monitorInit();
    pauseInit();
    pubsubInit();
    pubsubCommandsInit();
    notificationsInit();
    latencyInit();
    propagateInit();
    eventStreamInit();
    aofInit();
    aofRewriteInit();
    backupInit();
    scriptInit(identityProduct);
    scriptDebugInit(&detach);
    librariesSetOwner(&functions);
    childOnChange(aofSetChildRunning);
    sessionsSetHold(aofBeforeReplies);
    propagateCheckInit();
    keyCheckInit();
    slicedInit();
    trackingInit(callCurrentClient);
    storeAddExpiryPause(pauseHoldsDataset);
    storeAddExpiryPause(loadingIsActive);
    loadingOnTick(cronWhileLoading);
}
