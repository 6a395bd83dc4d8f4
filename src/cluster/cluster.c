/* cluster.c -- this server as a node of a cluster: its start, the machine's steps, its nodes file, its end.
 *
 *     bus thread --step()--> the machine <--step()-- main (commands, ticks before the bus runs)
 *                                |
 *              actions for main, nodes file to be saved --> nodes_saver thread
 *
 * The nodes file is saved after any step that has changed what it holds, by the thread of that step, one version at a
 * time. The machine learns from the next step which version is on disk: a tick at the latest. Main makes a step at
 * once, and then sends the replies of CLUSTER commands that waited for it.
 *
 * Not here    what is done with the keyspace (cluster_actions.c); commands (cluster_commands.c, cluster_reading.c).
 * Owns        the machine, the bus.
 * Threads     main; step() runs on the bus thread as well, under the bus's lock.
 * Invariants  1. The machine is stepped and read under the bus's lock, once there is a bus. 2. At most one version is
 *             being saved.
 * Tests       tests/cluster
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cluster.h"

#include "bus_thread.h"
#include "clock.h"
#include "cluster_settings.h"
#include "db.h"
#include "engine.h"
#include "log.h"
#include "listen.h"
#include "loaded_slots.h"
#include "net_settings.h"
#include "nodes_load.h"
#include "nodes_lock.h"
#include "nodes_saver.h"
#include "panic.h"
#include "repl_settings.h"
#include "reply.h"
#include "rng.h"
#include "saved_replies.h"
#include "slot_check.h"
#include "slot_stats.h"
#include "tls_settings.h"
#include "zmalloc.h"

#include <errno.h>
#include <unistd.h>

#define BUS_PORT_OFFSET 10000
#define RETRY_MS 1000             /* between attempts to save the nodes file */
#define MESSAGE_LIMIT (64u << 20) /* bytes of messages for a peer that does not read */
#define FRAME_MAX (1u << 30)      /* a message of proto-max-bulk-len with its channel is below it */

static struct {
    aeEventLoop *loop; /* borrowed */
    aeWakeup wakeup;   /* main is woken for actions and saved files */
    clusterMachine *machine;
    clusterBus *bus;             /* NULL until clusterBegin() */
    long long port, tls_port;    /* of clients, as the machine knows them */
    unsigned tls_changes;        /* tlsContextChanges() of the contexts that the bus has */
    bool uses_tls;               /* tls-cluster, as the bus and the machine know it */
    char source_ip[NODE_IP_LEN]; /* bind-source-addr, as the bus knows it */
    long long bus_port;          /* it stays when the port of clients changes */
    sds listens_at;              /* owns: addresses of the listening sockets, as in `bind` */
    bool closes_listeners;       /* others are opened as soon as the bus has closed them */
    uint64_t listen_ms;          /* when they could not be opened; 0: they could */
    /* Under the bus's lock. */
    bool is_saving;
    uint64_t retry_ms;
    uint64_t tried_version; /* the last one that is on disk or could not be written */
    bool try_failed;        /* that one could not be written */
} node;

static void (*on_wakeup)(uint64_t tried_version); /* const after startup; may be NULL */

void clusterOnWakeup(void (*fn)(uint64_t tried_version)) { on_wakeup = fn; }
void clusterWake(void) { aeWakeupSend(&node.wakeup); }

clusterSwitches cluster_switches = {.dropped_type = BUS_DROP_NONE};

clusterTime clusterNow(void) { return (clusterTime){.mono_ms = clockMonotonicMs(), .wall_ms = clockWallMs()}; }

/* ---- Settings ---- */

static uint16_t announced(long long announced_port, long long port) {
    return (uint16_t)(announced_port ? announced_port : port);
}

static long long basePort(void) { return tls_settings.cluster ? tls_settings.port : net_settings.port; }

static long long busPort(void) { return cluster_settings.port ? cluster_settings.port : basePort() + BUS_PORT_OFFSET; }

static slice textOf(const char *text) { return text ? sliceStr(text) : sliceOf("", 0); }

static clusterConfig machineConfig(void) {
    node.port = net_settings.port;
    node.tls_port = tls_settings.port;
    const clusterSettings *s = &cluster_settings;
    clusterConfig c = {
        .node_timeout_ms = (uint64_t)s->node_timeout,
        .ping_interval_ms = (uint64_t)s->ping_interval,
        .manual_failover_timeout_ms = (uint64_t)s->manual_failover_timeout,
        .blacklist_ttl_s = s->blacklist_ttl > 0 ? (uint64_t)s->blacklist_ttl : 0,
        .replica_validity_factor = (uint64_t)s->validity_factor,
        .replica_ping_period_ms = (uint64_t)repl_settings.ping_period_s * 1000,
        .migration_barrier = (unsigned)s->migration_barrier,
        .gossip_percent = (unsigned)s->gossip_percent,
        .allow_replica_migration = s->replica_migration,
        .require_full_coverage = s->require_full_coverage,
        .replica_no_failover = s->no_failover,
        .protect_data = s->protect_data,
        .save_best_effort = s->save_behavior == SAVE_IF_POSSIBLE,
        .uses_tls = tls_settings.cluster,
        .no_connects = cluster_switches.no_connects,
        .no_random_pings = cluster_switches.no_random_pings,
        .port = announced(s->announce_port, net_settings.port),
        .tls_port = announced(s->announce_tls_port, tls_settings.port),
        .bus_port = announced(s->announce_bus_port, node.bus_port),
        .client_port = (uint16_t)s->announce_client_port,
        .client_tls_port = (uint16_t)s->announce_client_tls_port,
        .hostname = textOf(s->announce_hostname),
        .human_name = textOf(s->human_name),
        .client_ipv4 = textOf(s->announce_client_ipv4),
        .client_ipv6 = textOf(s->announce_client_ipv6),
        .zone = s->availability_zone ? sdsSlice(s->availability_zone) : sliceOf("", 0),
    };
    if (s->announce_ip) snprintf(c.ip, sizeof(c.ip), "%s", s->announce_ip);
    return c;
}

static const char *sourceAddress(void) { return net_settings.bind_source_addr ? net_settings.bind_source_addr : ""; }

/* Fills in the settings of the bus. Returns false, after a log line, if TLS is wanted and cannot be had. */
static bool readBusSettings(busSettings *to) {
    busSettings s = {.node_timeout_ms = (uint64_t)cluster_settings.node_timeout,
                     .link_limit = (size_t)cluster_settings.link_buffer_limit,
                     .message_limit = MESSAGE_LIMIT,
                     .frame_max = FRAME_MAX};
    snprintf(s.source_ip, sizeof(s.source_ip), "%s", sourceAddress());
    memcpy(node.source_ip, s.source_ip, sizeof(node.source_ip));
    node.tls_changes = tlsContextChanges();
    node.uses_tls = tls_settings.cluster;
    if (tls_settings.cluster) {
        s.connect_tls = tlsClientContext();
        s.accept_tls = tlsNodeContext();
    }
    *to = s;
    return !tls_settings.cluster || (s.accept_tls && s.connect_tls);
}

/* ---- Steps ---- */

static void saveResult(clusterTime now, const nodesSaved *result, clusterActions *actions) {
    node.is_saving = false;
    node.tried_version = result->version;
    node.try_failed = result->error != 0;
    if (result->error) node.retry_ms = now.mono_ms + RETRY_MS;
    clusterEvent e = {.kind = result->error ? CLUSTER_SAVE_FAILED : CLUSTER_SAVED, .version = result->version};
    clusterStep(node.machine, now, &e, actions);
    if (!result->error || cluster_settings.save_behavior == SAVE_IF_POSSIBLE) return;
    serverLog(
        LL_WARNING,
        "The nodes file %s cannot be written (%s). The server ends, because it must not vote or take slots without "
        "it (cluster-config-save-behavior sync).",
        cluster_settings.config_file, strerror(result->error));
    _exit(1);
}

static void saveIfNeeded(clusterTime now) {
    uint64_t version;
    if (node.is_saving || !clusterMustSave(node.machine) || now.mono_ms < node.retry_ms) return;
    sds text = clusterFileText(node.machine, now, &version);
    node.is_saving = true;
    nodesSaverSave(version, text);
}

static void step(void *arg, clusterTime now, const clusterEvent *event, clusterActions *actions) {
    nodesSaved result;
    unused(arg);
    while (nodesSaverNext(&result)) saveResult(now, &result, actions);
    clusterStep(node.machine, now, event, actions);
    saveIfNeeded(now);
}

static bool knowsPeer(void *arg, uint64_t link) {
    unused(arg);
    return clusterKnowsPeer(node.machine, link);
}

/* Executes main's actions. Returns the reply among them, or NULL. */
static sds execute(clusterActions *actions) {
    sds reply = NULL;
    for (size_t i = 0; i < actions->count; i++) {
        clusterAction *a = &actions->list[i];
        if (a->kind != CLUSTER_REPLY) {
            clusterExecute(a);
            continue;
        }
        sdsFree(reply);
        reply = a->text;
        a->text = NULL;
    }
    clusterActionsFree(actions);
    clusterActionsDone();
    return reply;
}

static sds stepOnMain(const clusterEvent *event) {
    clusterActions actions = {0};
    busStep(node.bus, event, &actions);
    return execute(&actions);
}

sds clusterRunAlone(const clusterCommand *command) {
    clusterLocal local = clusterLocalNow();
    return stepOnMain(&(clusterEvent){.kind = CLUSTER_COMMAND, .command = command, .local = &local});
}

void clusterRunLater(const clusterCommand *command) {
    clusterLocal local = clusterLocalNow();
    busStep(node.bus, &(clusterEvent){.kind = CLUSTER_COMMAND, .command = command, .local = &local}, NULL);
}

uint64_t clusterVersionToSave(void) {
    busLockMachine(node.bus);
    uint64_t version = clusterUnsavedVersion(node.machine);
    busUnlockMachine(node.bus);
    return version;
}

static void logLoss(void) { serverLog(LL_WARNING, "The nodes file does not have the last changes."); }

static void sendSavedReplies(void) {
    busLockMachine(node.bus);
    uint64_t version = node.tried_version;
    bool failed = node.try_failed;
    busUnlockMachine(node.bus);
    if (savedRepliesSend(version) && failed) logLoss();
    if (on_wakeup) on_wakeup(version);
}

void clusterAddReply(client *c, slice reply) {
    if (reply.ptr[0] == '-') addReplyErrorSlice(c, reply);
    else addReplyStatus(c, reply.ptr + 1);
}

void clusterRun(client *c, const clusterCommand *command) {
    if (c->flags & CLIENT_PRIMARY) { /* an action may close the link whose command runs: main executes it later */
        clusterRunLater(command);
        addReplyOk(c);
        return;
    }
    sds reply = clusterRunAlone(command);
    uint64_t version = clusterVersionToSave();
    if (version && reply[0] == '+' && savedRepliesMayWait(c)) {
        savedRepliesWait(c, version, reply);
        return;
    }
    if (version && clusterSaveNow()) logLoss();
    clusterAddReply(c, sdsSlice(reply));
    sdsFree(reply);
}

/* Passes on what a client of this node has published. The command may run on another thread than main's own. */
static void forward(pubsubKind kind, slice channel, slice message) {
    clusterCommand publish = {
        .kind = CLUSTER_PUBLISH, .shard = kind == PUBSUB_SHARD_CHANNEL, .channel = channel, .message = message};
    busStep(node.bus, &(clusterEvent){.kind = CLUSTER_COMMAND, .command = &publish}, NULL);
}

/* ---- Main's loop ---- */

static void onWakeup(void) {
    clusterLocal local = clusterLocalNow();
    if (!node.bus) return;
    sdsFree(stepOnMain(&(clusterEvent){.kind = CLUSTER_LOCAL, .local = &local}));
    sendSavedReplies();
}

void clusterRuns(void) {
    if (node.bus) busMainRuns(node.bus);
}

static void countSlots(void) {
    if (cluster_settings.slot_stats != slotStatsAreOn()) slotStatsEnable(cluster_settings.slot_stats);
}

static void settingsChanged(void) {
    if (!node.bus) return;
    clusterConfig config = machineConfig();
    busSettings bus;
    countSlots();
    if (readBusSettings(&bus)) busConfigure(node.bus, &bus);
    else serverLog(LL_WARNING, "The cluster bus keeps its former settings, as TLS cannot be used by the present ones.");
    sdsFree(stepOnMain(&(clusterEvent){.kind = CLUSTER_CONFIGURE, .config = &config}));
}

void clusterSwitch(void) {
    if (!node.bus) return;
    busDropFrames(node.bus, cluster_switches.dropped_type, cluster_switches.drop_closes);
    clusterConfig config = machineConfig();
    sdsFree(stepOnMain(&(clusterEvent){.kind = CLUSTER_CONFIGURE, .config = &config}));
}

bool clusterCloseLinks(const nodeId *id, bool to, bool from) {
    busLockMachine(node.bus);
    const clusterNode *n = clusterNodeById(node.machine, id);
    uint64_t link_out = n && to ? n->link_out : 0, link_in = n && from ? n->link_in : 0;
    busUnlockMachine(node.bus);
    if (link_out) busCloseLink(node.bus, link_out);
    if (link_in) busCloseLink(node.bus, link_in);
    return n != NULL;
}

/* Returns whether settings of other layers have changed that the bus or the machine knows. */
static bool othersChanged(void) {
    if (node.port != net_settings.port || node.tls_port != tls_settings.port) return true;
    if (node.uses_tls != tls_settings.cluster || strncmp(node.source_ip, sourceAddress(), sizeof(node.source_ip) - 1))
        return true;
    return tls_settings.cluster && node.tls_changes != tlsContextChanges();
}

/* ---- Listening ---- */

static sds bindText(void) {
    sds text = sdsEmpty();
    for (int i = 0; i < net_settings.bind_count; i++) text = sdsCatPrintf(text, "%s ", net_settings.bind[i]);
    return text;
}

static bool openListeners(int listeners[BIND_MAX], size_t *count) {
    sdsFree(node.listens_at);
    node.listens_at = bindText();
    return listenOpenOthers((int)node.bus_port, listeners, count);
}

/* Has the bus listen where clients are listened to. The old sockets are closed first, as the new ones may need their
 * addresses: the bus does that until the next tick. */
static void followBind(void) {
    int listeners[BIND_MAX];
    size_t count;
    uint64_t now_ms = clockMonotonicMs();
    if (!node.closes_listeners) {
        sds present = bindText();
        node.closes_listeners = sdsCmp(present, node.listens_at) != 0;
        sdsFree(present);
        if (node.closes_listeners) busListen(node.bus, NULL, 0);
        return;
    }
    if (busIsListening(node.bus) || (node.listen_ms && now_ms - node.listen_ms < RETRY_MS)) return;
    node.listen_ms = openListeners(listeners, &count) ? 0 : now_ms;
    node.closes_listeners = node.listen_ms != 0;
    if (node.listen_ms) serverLog(LL_WARNING, "The cluster bus cannot listen on the addresses of bind. Trying again.");
    else busListen(node.bus, listeners, count);
}

void clusterTick(void) {
    if (!node.bus) return;
    if (othersChanged()) settingsChanged();
    followBind();
    clusterLocal local = clusterLocalNow();
    busPublishLocal(node.bus, &local);
    nodesSaverReportLatency();
    sendSavedReplies();
}

const clusterMachine *clusterLock(void) {
    if (node.bus) busLockMachine(node.bus);
    return node.machine;
}

void clusterUnlock(void) {
    if (node.bus) busUnlockMachine(node.bus);
}

int clusterSaveNow(void) {
    uint64_t version;
    busLockMachine(node.bus);
    sds text = clusterFileText(node.machine, clusterNow(), &version);
    node.is_saving = true;
    busUnlockMachine(node.bus);
    int error = nodesSaverSaveNow(version, text);
    onWakeup();
    return error;
}

const busStats *clusterBusCounters(void) { return busCounters(node.bus); }
size_t clusterLinks(busLinkFigures **list) { return busListLinks(node.bus, list); }

/* ---- Start ---- */

static bool refuse(const char *text) {
    serverLog(LL_WARNING, "%s", text);
    return false;
}

static bool portsAreValid(void) {
    if (!basePort() || cluster_settings.port) return true;
    if (basePort() + BUS_PORT_OFFSET <= UINT16_MAX) return true;
    return refuse(
        "Cluster bus port number is out of range: port plus 10000 is above 65535. Set cluster-port, or a lower "
        "port.");
}

static bool readFile(nodesFile *file) {
    sds error = NULL;
    if (!nodesLockTake(cluster_settings.config_file, &error) ||
        !nodesLoad(cluster_settings.config_file, false, file, &error)) {
        serverLog(LL_WARNING, "%s", error);
        sdsFree(error);
        return false;
    }
    return true;
}

/* The id of a new node, and a new epoch, are on disk before anything leaves. */
static bool saveAtStart(void) {
    uint64_t version;
    clusterTime now = clusterNow();
    sds text = clusterFileText(node.machine, now, &version);
    int error = nodesSaverSaveNow(version, text);
    nodesSaved result;
    clusterActions none = {0};
    while (nodesSaverNext(&result))
        if (!result.error)
            clusterStep(node.machine, now, &(clusterEvent){.kind = CLUSTER_SAVED, .version = result.version}, &none);
    clusterActionsFree(&none);
    if (!error) return true;
    serverLog(LL_WARNING, "The nodes file %s cannot be written: %s", cluster_settings.config_file, strerror(error));
    return false;
}

static void makeMachine(const nodesFile *file) {
    uint64_t seed;
    rngSecure(&seed, sizeof(seed));
    clusterConfig config = machineConfig();
    node.machine = clusterCreate(seed, clusterNow(), &config, file);
    serverLog(LL_NOTICE,
              file->count ? "Node configuration loaded, I'm %.40s" : "No cluster configuration found, I'm %.40s",
              clusterMyself(node.machine)->id.text);
}

bool clusterPrepare(aeEventLoop *loop) {
    const char *err = NULL;
    nodesFile file = {0};
    if (!cluster_settings.enabled) return true;
    node.loop = loop;
    if (!clusterSettingsBegin(settingsChanged, &err)) return refuse(err);
    if (!portsAreValid()) return false;
    node.bus_port = busPort();
    bool ok = readFile(&file);
    if (ok) makeMachine(&file);
    nodesFileFree(&file);
    if (!ok) return false;
    if (aeWakeupOpen(loop, &node.wakeup, onWakeup) == C_ERR)
        serverPanic("Failed to create an event descriptor: %s", strerror(errno));
    if (!nodesSaverStart(cluster_settings.config_file, &node.wakeup))
        return refuse("The thread nodes_saver cannot start");
    if (!saveAtStart()) return false;
    slotsEnable();
    countSlots();
    pubsubSetForward(forward);
    clusterActionsInit(loop, node.machine);
    return true;
}

/* ---- The bus ---- */

static void stepBeforeBus(const clusterEvent *event) {
    clusterActions actions = {0};
    clusterStep(node.machine, clusterNow(), event, &actions);
    for (size_t i = 0; i < actions.count; i++)
        if (actions.list[i].kind == CLUSTER_LOG) serverLog(actions.list[i].level, "%s", actions.list[i].text);
    sdsFree(execute(&actions));
}

/* The machine knows whether there are data before another node hears of this one. */
static void reportDataset(void) {
    clusterLocal local = clusterLocalNow();
    stepBeforeBus(&(clusterEvent){.kind = CLUSTER_LOCAL, .local = &local});
}

/* A primary serves the keys that it has loaded of slots without owner. Returns false, after a log line, if the nodes
 * file cannot be written. */
static bool settleLoaded(void) {
    slotSet unassigned, kept;
    if (!loadedSlotsPutAside(node.machine, &kept)) clusterKeepKeys(&kept);
    if (!loadedSlotsUnassigned(node.machine, &unassigned)) return true;
    clusterCommand add = {.kind = CLUSTER_ADD_SLOTS, .slots = &unassigned};
    stepBeforeBus(&(clusterEvent){.kind = CLUSTER_COMMAND, .command = &add});
    return saveAtStart();
}

bool clusterBegin(void) {
    int listeners[BIND_MAX];
    if (!clusterIsEnabled()) return true;
    size_t count;
    if (!openListeners(listeners, &count)) return refuse("Failed listening on the port of the cluster bus, aborting.");
    busPlan plan = {.handler = {.step = step, .knows_peer = knowsPeer},
                    .listeners = listeners,
                    .listener_count = count,
                    .main_wakeup = &node.wakeup};
    if (!readBusSettings(&plan.settings)) return refuse("The cluster bus cannot use TLS");
    if (!settleLoaded()) return false;
    reportDataset();
    clusterTick();
    node.bus = busStart(&plan);
    return node.bus || refuse("The thread of the cluster bus cannot start");
}

static void saveAtEnd(void) {
    uint64_t version;
    if (!clusterMustSave(node.machine)) return;
    sds text = clusterFileText(node.machine, clusterNow(), &version);
    if (nodesSaverSaveNow(version, text)) logLoss();
}

void clusterEnd(void) {
    if (!node.bus) return;
    busStop(node.bus);
    node.bus = NULL;
    saveAtEnd();
    nodesSaverStop();
}
