/* cluster_actions.c -- what the machine decides, done with the keyspace, with replication and with redirections.
 *
 * Redirections have a table of their own (slot_table.h). It is copied from the machine after steps that have changed
 * what clients see, however many they were.
 *
 * Not here    the machine's steps (cluster.c); actions of the bus (bus_thread.c).
 * Owns        whether the table is out of date.
 * Threads     main's own.
 * Tests       tests/cluster
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cluster.h"

#include "bus_frame.h"
#include "clock.h"
#include "db_slots.h"
#include "loading.h"
#include "log.h"
#include "panic.h"
#include "pause.h"
#include "primary_link.h"
#include "propagate.h"
#include "psync.h"
#include "pubsub.h"
#include "pubsub_topic.h"
#include "repl_settings.h"
#include "repl_stream.h"
#include "slot_check.h"
#include "slot_stats.h"
#include "tls_settings.h"

#define DELETE_SLICE_US 1000

static struct {
    bool view_is_old;
    unsigned nodes;           /* seats that the table has had */
    uint64_t pause;           /* of the machine's pause that is in force; 0: none */
    nodeId follows;           /* the node that replication follows; none: this server is a primary */
    aeEventLoop *loop;        /* borrowed */
    bool is_primary, deletes; /* role of this node in the table; keys of lost slots are being deleted */
    int next_db, next_slot;   /* where deletion goes on */
    slotSet kept;             /* keys of these slots are not deleted */
    slotSet imports;          /* slots that were being imported when the table was made */
} acted = {.view_is_old = true};

/* ---- The table of slots ---- */

static void copyText(char *to, const sds text) { snprintf(to, NODE_IP_LEN, "%s", text ? text : ""); }

static void copyNode(const clusterNode *n) {
    slotNode s = {.id = n->id,
                  .hostname = n->hostname,
                  .port = n->port,
                  .tls_port = n->tls_port,
                  .client_port = n->client_port,
                  .client_tls_port = n->client_tls_port,
                  .primary = n->primary,
                  .failed = (n->flags & NODE_FAILED) != 0};
    memcpy(s.ip, n->ip, sizeof(s.ip));
    copyText(s.client_ipv4, n->client_ipv4);
    copyText(s.client_ipv6, n->client_ipv6);
    slotTableSetNode(n->seat, &s);
}

static uint16_t seatOf(const clusterNode *n) { return n ? n->seat : 0; }

/* An import that an operator gives up keeps the keys that have come: they are nowhere else. */
static void keepGivenUp(unsigned slot, bool is_mine, bool is_imported) {
    if (is_mine) slotSetRemove(&acted.kept, slot);
    else if (slotSetHas(&acted.imports, slot) && !is_imported) slotSetAdd(&acted.kept, slot);
    if (is_imported) slotSetAdd(&acted.imports, slot);
    else slotSetRemove(&acted.imports, slot);
}

static void copyView(const clusterMachine *m) {
    clusterSummary summary = clusterSummarize(m);
    slotTableClear();
    for (const clusterNode *n = NULL; (n = clusterNodeNext(m, n)) != NULL;) copyNode(n);
    slotTableSetMyself(clusterMyself(m)->seat);
    acted.is_primary = (clusterMyself(m)->flags & NODE_PRIMARY) && nodeIdIsNone(&acted.follows);
    for (unsigned slot = 0; slot < CLUSTER_SLOTS; slot++) {
        const clusterNode *owner = clusterOwner(m, slot);
        if (owner) slotTableSetOwner(slot, owner->seat);
        const clusterNode *to = clusterMigratingTo(m, slot), *from = clusterImportingFrom(m, slot);
        if (to || from) slotTableSetOpen(slot, seatOf(to), seatOf(from));
        slotView v = slotTableLook(slot);
        if (!v.mine && !v.followed) slotStatsForget(slot);
        keepGivenUp(slot, owner == clusterMyself(m), from != NULL);
    }
    psyncRefuseAll(summary.protects ? "-NOMASTERLINK Can't SYNC with a primary that has lost its data" : NULL);
    slotTableSetState(summary.ok ? SLOTS_UP : summary.minority ? SLOTS_DOWN_MINORITY : SLOTS_DOWN_COVERAGE);
}

/* ---- Keys of slots that this node has lost ---- */

/* A deletion reaches replicas and the log, but it is no event for clients: the keys live on at another node. */
static void propagateLost(void *arg, serverDb *db, hashedKey key) {
    unused(arg);
    store_stats.dirty++;
    keyspaceTouched(db, key.hash, TOUCH_CHANGE);
    keyspaceSettle(db, key.hash);
    keyspaceNotifyChanged(db, key, CHANGED_BY_EVICTION, 0, "unlink");
    if (!propagateWanted()) return;
    propagateServer(dbId(db), "UNLINK");
    propagateCopied(key.name);
    propagateDone();
}

/* A slot without owner keeps its keys: DELSLOTS can be undone by ADDSLOTS. */
static bool isLost(int slot) {
    slotView v = slotTableLook((unsigned)slot);
    return v.owner && !v.mine && !v.importing_from && !slotSetHas(&acted.kept, (unsigned)slot);
}

void clusterKeepKeys(const slotSet *slots) { acted.kept = *slots; }

/* Returns the next lost slot that has keys, at or after where deletion goes on; -1: none. */
static int nextLost(void) {
    for (; acted.next_db < dbCount(); acted.next_db++, acted.next_slot = 0) {
        const serverDb *db = dbGet(acted.next_db);
        for (int slot = acted.next_slot; (slot = dbSlotNext(db, slot)) != -1; slot++)
            if (isLost(slot)) return slot;
    }
    return -1;
}

/* Deletes keys for a slice of time. Only a primary does: a replica has the keys of its primary. */
static long long onDelete(aeEventLoop *loop, long long id, void *arg) {
    unused(loop), unused(id), unused(arg);
    uint64_t deadline_us = clockMonotonicUs() + DELETE_SLICE_US;
    int slot = -1;
    propagateHold();
    while (acted.is_primary && clockMonotonicUs() < deadline_us && (slot = nextLost()) != -1) {
        acted.next_slot = slot;
        if (dbSlotDelete(dbGet(acted.next_db), slot, deadline_us, propagateLost, NULL)) acted.next_slot = slot + 1;
    }
    propagateRelease();
    acted.deletes = acted.is_primary && nextLost() != -1;
    return acted.deletes ? 0 : AE_NOMORE;
}

static void deleteLostKeys(void) {
    acted.next_db = acted.next_slot = 0;
    if (!acted.is_primary || acted.deletes || nextLost() == -1) return;
    serverLog(LL_NOTICE, "Deleting the keys of slots that other nodes own.");
    acted.deletes = aeCreateTimeEvent(acted.loop, 0, onDelete, NULL) >= 0;
}

void clusterActionsDone(void) {
    if (!acted.view_is_old) return;
    acted.view_is_old = false;
    copyView(clusterLock());
    clusterUnlock();
    slotsChanged();
    deleteLostKeys();
}

/* ---- Replication ---- */

static long long portOf(const clusterNode *n) { return repl_settings.tls ? n->tls_port : n->port; }

static void follow(const clusterAction *a) {
    long long port = a->port;
    const clusterMachine *m = clusterLock();
    const clusterNode *n = clusterNodeById(m, &a->node);
    if (n) port = portOf(n);
    nodeId own = clusterMyself(m)->id;
    clusterUnlock();
    acted.follows = a->node;
    primaryLinkSetNodes(&own, &a->node, a->same_shard);
    primaryLinkFollow(a->ip, port);
}

void clusterActionsInit(aeEventLoop *loop, const clusterMachine *m) {
    acted.loop = loop;
    const clusterNode *me = clusterMyself(m), *primary = clusterNodeBySeat(m, me->primary);
    primaryLinkSetNodes(&me->id, primary ? &primary->id : &(nodeId){{0}}, false);
    if (!primary || !primary->ip[0]) return;
    acted.follows = primary->id;
    replSettingsSetPrimary(primary->ip, portOf(primary));
}

static bool hasNoKeys(void) {
    for (int i = 0; i < dbCount(); i++)
        if (dbSize(dbGet(i))) return false;
    return true;
}

/* How long the primary has been silent, or gone, in ms. */
static uint64_t silentMs(const primaryFigures *f) {
    if (f->last_input_ago_s >= 0) return (uint64_t)f->last_input_ago_s * 1000;
    return f->down_since_s >= 0 ? (uint64_t)f->down_since_s * 1000 : UINT64_MAX / 2;
}

clusterLocal clusterLocalNow(void) {
    bool is_replica = primaryLinkIsOn();
    clusterLocal local = {.is_loading = loadingIsActive(), .is_empty = hasNoKeys(), .pause = acted.pause};
    if (!is_replica) {
        local.offset = replStreamOffset();
        return local;
    }
    primaryFigures f = primaryLinkFigures();
    local.follows = acted.follows;
    local.primary_link_is_up = f.state == PRIMARY_UP;
    local.has_dataset = f.follows_stream;
    local.offset = local.has_dataset ? (uint64_t)f.applied_offset : 0;
    local.primary_silent_ms = silentMs(&f);
    return local;
}

/* ---- Actions ---- */

static void pauseWrites(const clusterAction *a) {
    pauseClients(PAUSE_DURING_FAILOVER, PAUSE_WRITES, clockWallMs() + (int64_t)a->ms);
    acted.pause = a->pause;
}

static void resumeWrites(void) {
    unpauseClients(PAUSE_DURING_FAILOVER);
    acted.pause = 0;
}

/* Delivers what a client of another node has published. */
static void deliver(const clusterAction *a) {
    busFrame f;
    char why[128];
    if (busFrameRead(sdsSlice(a->frame->bytes), &f, why, sizeof(why)) != BUS_READ || f.type == BUS_MODULE) return;
    pubsubMessage m = {.payload = f.message};
    pubsubPublish(f.type == BUS_PUBLISH ? PUBSUB_CHANNEL : PUBSUB_SHARD_CHANNEL, hashedKeyOf(f.channel), &m);
}

static void becomePrimary(void) {
    acted.follows = (nodeId){{0}};
    primaryLinkLeave();
    serverLog(LL_NOTICE, "PRIMARY MODE enabled (by the cluster)");
}

/* Deletes the dataset of a replica that becomes an empty node (CLUSTER RESET). That is no change by the command, which
 * must not be in the log itself: it would run again when the log is loaded. */
static void flush(void) {
    long long dirty = store_stats.dirty;
    dbEmpty(-1, true);
    store_stats.dirty = dirty;
    if (!propagateWanted()) return;
    propagateServer(0, "FLUSHALL");
    propagateDone();
}

void clusterExecute(const clusterAction *a) {
    switch (a->kind) {
    case CLUSTER_VIEW_CHANGED: acted.view_is_old = true; break;
    case CLUSTER_BECOME_PRIMARY: becomePrimary(); break;
    case CLUSTER_FOLLOW: follow(a); break;
    case CLUSTER_FLUSH: flush(); break;
    case CLUSTER_PAUSE_WRITES: pauseWrites(a); break;
    case CLUSTER_RESUME_WRITES: resumeWrites(); break;
    case CLUSTER_DELIVER: deliver(a); break;
    case CLUSTER_CONNECT:
    case CLUSTER_CLOSE:
    case CLUSTER_SEND:
    case CLUSTER_LOG:
    case CLUSTER_REPLY:
    case CLUSTER_HEARD: break;
    }
}
