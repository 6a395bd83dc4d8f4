/* machine.c -- the cluster's machine: takes an event, and calls the parts that it concerns.
 *
 *     LINK_UP, LINK_DOWN, ACCEPTED   handshake.c
 *     FRAME                          handshake.c (identity), ownership.c (claims), gossip.c, failure.c, election.c ...
 *     TICK                           handshake.c (pings), failure.c, election.c, manual_failover.c,
 *                                    replica_migration.c, data_protection.c
 *     COMMAND                        machine_commands.c
 *     SAVED                          here: what waited for the disk goes on
 *
 * Not here    what any of these decides.
 * Owns        the machine's memory.
 * Threads     the caller's lock.
 * Invariants  1. saved_version <= version; 0: no file exists yet, and no frame leaves. 2. `told` is what the nodes
 *             file on disk says, unless files are saved by best effort and cannot be written.
 * Cost        a tick: a few passes over the nodes. A frame: its own entries.
 * Tests       tests/unit/cluster_core/machine_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "machine_internal.h"

#include <stdarg.h>

/* ---- Actions ---- */

void frameBlockRelease(frameBlock *b) {
    if (--b->references) return;
    sdsFree(b->bytes);
    zfree(b);
}

void clusterActionsClear(clusterActions *a) {
    for (size_t i = 0; i < a->count; i++) {
        if (a->list[i].frame) frameBlockRelease(a->list[i].frame);
        sdsFree(a->list[i].text);
    }
    a->count = 0;
}

void clusterActionsFree(clusterActions *a) {
    clusterActionsClear(a);
    zfree(a->list);
    *a = (clusterActions){0};
}

clusterAction *machineAct(clusterMachine *m, clusterActionKind kind) {
    clusterActions *a = m->actions;
    if (a->count == a->capacity) {
        a->capacity = a->capacity ? 2 * a->capacity : 16;
        a->list = zrealloc(a->list, a->capacity * sizeof(*a->list));
    }
    clusterAction *action = &a->list[a->count++];
    *action = (clusterAction){.kind = kind};
    return action;
}

void machineLog(clusterMachine *m, int level, const char *format, ...) {
    va_list args;
    va_start(args, format);
    sds text = sdsCatVprintf(sdsEmpty(), format, args);
    va_end(args);
    clusterAction *action = machineAct(m, CLUSTER_LOG);
    action->level = level;
    action->text = text;
}

uint64_t machineRandom(clusterMachine *m, uint64_t n) { return rngBelow(&m->random, n); }

/* ---- Versions ---- */

uint64_t machineChanged(clusterMachine *m) { return ++m->version; }

void machineTell(const clusterMachine *m, toldState *told) {
    const clusterNode *me = m->myself, *primary = nodeIsReplica(me) && me->primary ? nodeAt(m, me->primary) : me;
    *told = (toldState){.current_epoch = m->current_epoch,
                        .config_epoch = primary->config_epoch,
                        .id = me->id,
                        .shard = me->shard,
                        .is_replica = nodeIsReplica(me)};
    if (primary != me) told->primary = primary->id;
    slotsClaimed(m, primary, &told->slots);
}

void machineAnnounce(clusterMachine *m) {
    m->announce_version = m->version;
    if (m->saved_version < m->version) return;
    m->announce_version = 0;
    broadcastPong(m, false);
}

/* Goes on with what waited for the disk. */
static void saved(clusterMachine *m, uint64_t version) {
    if (version <= m->saved_version || version < m->first_version || version > m->version) return;
    m->saved_version = version;
    if (version == m->saving_version) m->told = m->saving;
    electionSaved(m);
    if (!m->announce_version || m->announce_version > version) return;
    m->announce_version = 0;
    broadcastPong(m, false);
}

/* By best effort the cluster goes on with what could not be saved, but for votes and elections. */
static void saveFailed(clusterMachine *m, uint64_t version) {
    if (!m->config.save_best_effort || version != m->saving_version) return;
    m->told = m->saving;
    electionSaveFailed(m);
    if (!m->announce_version || m->announce_version > version) return;
    m->announce_version = 0;
    broadcastPong(m, false);
}

bool clusterMustSave(const clusterMachine *m) { return m->saved_version < m->version; }

uint64_t clusterUnsavedVersion(const clusterMachine *m) { return clusterMustSave(m) ? m->version : 0; }

/* ---- Settings ---- */

/* Copies a text of the settings, which the caller may free, and sets it in this node's record. */
static bool keepText(clusterMachine *m, int i, slice *text, sds *field) {
    sdsFree(m->texts[i]);
    m->texts[i] = sdsFromSlice(*text);
    *text = sdsSlice(m->texts[i]);
    return nodeSetText(field, *text);
}

static void configure(clusterMachine *m, const clusterConfig *config) {
    clusterNode *me = m->myself;
    clusterConfig *c = &m->config;
    *c = *config;
    bool changed = keepText(m, 0, &c->hostname, &me->hostname);
    changed |= keepText(m, 1, &c->human_name, &me->human_name);
    changed |= keepText(m, 2, &c->client_ipv4, &me->client_ipv4);
    changed |= keepText(m, 3, &c->client_ipv6, &me->client_ipv6);
    changed |= keepText(m, 4, &c->zone, &me->zone);
    changed |= me->port != c->port || me->tls_port != c->tls_port || me->bus_port != c->bus_port ||
               me->client_port != c->client_port || me->client_tls_port != c->client_tls_port;
    me->port = c->port;
    me->tls_port = c->tls_port;
    me->bus_port = c->bus_port;
    me->client_port = c->client_port;
    me->client_tls_port = c->client_tls_port;
    if (c->ip[0] && strcmp(me->ip, c->ip)) {
        memcpy(me->ip, c->ip, sizeof(me->ip));
        changed = true;
    }
    unsigned flags = (me->flags & ~(unsigned)NODE_NO_FAILOVER) | (c->replica_no_failover ? NODE_NO_FAILOVER : 0);
    changed |= flags != me->flags;
    me->flags = (uint16_t)flags;
    if (!changed) return;
    machineChanged(m);
    machineViewChanged(m);
}

/* ---- The step ---- */

/* Until the caller has executed FOLLOW, it reports what it knows of another node. */
static void takeLocal(clusterMachine *m, const clusterLocal *local) {
    const clusterNode *primary = nodeAt(m, m->myself->primary);
    m->local = *local;
    if (!nodeIsReplica(m->myself) || (primary && nodeIdEqual(&primary->id, &local->follows))) return;
    m->local.primary_link_is_up = m->local.has_dataset = false;
    m->local.primary_silent_ms = UINT64_MAX / 2;
}

/* The offset of a replica counts in elections if its dataset is one that its primary has had. That of a former primary
 * does not, before the two have synchronized: the writes that no replica had when it failed would win over newer ones.
 * The caller knows a dataset from a file by the node that the file names (primaryLinkStreamNode()). */
static void readLocal(clusterMachine *m, const clusterLocal *local) {
    takeLocal(m, local);
    if (!nodeIsReplica(m->myself) || m->local.primary_link_is_up || isPlain(m)) m->offset_is_void = false;
    bool counts = !nodeIsReplica(m->myself) || (m->local.has_dataset && !m->offset_is_void);
    m->myself->offset = counts ? local->offset : 0;
    protectionBegin(m);
}

/* A message for this server's clients or modules. */
static void message(clusterMachine *m, clusterLink *l, const clusterNode *sender, const busFrame *f) {
    const clusterNode *n = f->light ? (l->seat ? nodeAt(m, l->seat) : NULL) : sender;
    if (n) machineAct(m, CLUSTER_DELIVER);
}

static void frameOfFail(clusterMachine *m, const clusterNode *sender, const busFrame *f) {
    clusterNode *n = nodeById(m, &f->subject);
    if (!sender) {
        machineLog(m, LL_NOTICE, "Ignoring FAIL message from unknown node %.40s about %.40s", f->header.sender.text,
                   f->subject.text);
    } else if (n && !nodeHas(n, NODE_FAILED | NODE_MYSELF)) {
        machineLog(m, LL_NOTICE, "FAIL message received from %s about %s", nodeName(sender), nodeName(n));
        failureMark(m, n);
    }
}

/* A light frame is allowed on a link whose node is known and has shown who it is. */
static bool lightIsAllowed(clusterMachine *m, clusterLink *l) {
    linkFindPeer(m, l);
    if (l->seat && !nodeHas(nodeAt(m, l->seat), NODE_HANDSHAKE)) return true;
    machineLog(m, LL_NOTICE,
               "Closing link for node <unknown> (<unknown>) that sent a lightweight message as its first message on "
               "the link");
    linkClose(m, l);
    return false;
}

/* The header counts before the body. */
static void readHeader(clusterMachine *m, clusterLink *l, clusterNode *sender, const busFrame *f) {
    if (f->header.marks & BUS_MARK_EXTENSIONS) l->reads_extensions = true;
    if (!sender) return;
    sender->data_ms = m->now.mono_ms;
    sender->offset = f->header.offset;
    epochSeen(m, f->header.current_epoch);
    electionSaw(m, &f->header);
    manualSawPaused(m, sender, &f->header);
}

static void frame(clusterMachine *m, clusterLink *l, const busFrame *f) {
    if (l->seat) nodeAt(m, l->seat)->data_ms = m->now.mono_ms;
    clusterNode *sender = NULL;
    if (f->light) {
        if (!lightIsAllowed(m, l)) return;
    } else {
        if (l->is_inbound) l->peer = f->header.sender;
        sender = nodeById(m, &f->header.sender);
        if (sender && nodeIsMyself(sender)) return;
        if (sender && nodeHas(sender, NODE_HANDSHAKE)) sender = NULL;
        readHeader(m, l, sender, f);
    }
    switch (f->type) {
    case BUS_PING:
    case BUS_PONG:
    case BUS_MEET: frameOfPing(m, l, sender, f); break;
    case BUS_FAIL: frameOfFail(m, sender, f); break;
    case BUS_PUBLISH:
    case BUS_PUBLISH_SHARD:
    case BUS_MODULE: message(m, l, sender, f); break;
    case BUS_VOTE_REQUEST:
        if (sender) voteRequested(m, sender, f);
        break;
    case BUS_VOTE:
        if (sender) voteReceived(m, sender, f);
        break;
    case BUS_UPDATE:
        if (sender) updateRead(m, sender, f);
        break;
    case BUS_FAILOVER_START:
        if (sender) manualRequested(m, sender);
        break;
    case BUS_TYPES: break;
    }
}

static void tick(clusterMachine *m) {
    protectionTick(m);
    linksTick(m);
    failureTick(m);
    ownershipTick(m);
    manualTick(m);
    electionTick(m);
    replicaMigrationTick(m);
    if (m->now.mono_ms - m->second_ms >= 1000) m->second_ms = m->now.mono_ms;
}

static void linkIsUp(clusterMachine *m, clusterLink *l, const clusterEvent *e) {
    if (e->ip) snprintf(l->local_ip, sizeof(l->local_ip), "%s", e->ip);
    if (e->peer_ip) snprintf(l->peer_ip, sizeof(l->peer_ip), "%s", e->peer_ip);
    linkUp(m, l);
}

static void linkEvent(clusterMachine *m, const clusterEvent *e) {
    clusterLink *l = linkByNumber(m, e->link);
    if (e->kind == CLUSTER_ACCEPTED) {
        if (!l) linkIsUp(m, linkAdd(m, e->link, NULL, true), e);
    } else if (l) {
        switch (e->kind) {
        case CLUSTER_LINK_UP: linkIsUp(m, l, e); break;
        case CLUSTER_LINK_DOWN: linkForget(m, l); break;
        default: frame(m, l, e->frame); break;
        }
    }
}

void clusterStep(clusterMachine *m, clusterTime now, const clusterEvent *e, clusterActions *actions) {
    m->now = now;
    m->actions = actions;
    m->view_changed = false;
    failureNoticeStop(m);
    switch (e->kind) {
    case CLUSTER_TICK:
    case CLUSTER_LOCAL:
        readLocal(m, e->local);
        if (e->kind == CLUSTER_TICK) tick(m);
        else manualTick(m);
        break;
    case CLUSTER_CONFIGURE: configure(m, e->config); break;
    case CLUSTER_LINK_UP:
    case CLUSTER_LINK_DOWN:
    case CLUSTER_ACCEPTED:
    case CLUSTER_FRAME: linkEvent(m, e); break;
    case CLUSTER_SAVED: saved(m, e->version); break;
    case CLUSTER_SAVE_FAILED: saveFailed(m, e->version); break;
    case CLUSTER_COMMAND:
        if (e->local) takeLocal(m, e->local);
        machineCommand(m, e->command);
        break;
    }
    if (m->view_changed || e->kind == CLUSTER_TICK) stateUpdate(m);
    bool is_early = m->promote_version != 0; /* main serves its new slots once it is a primary */
    if (m->view_changed && !is_early) machineAct(m, CLUSTER_VIEW_CHANGED);
    m->actions = NULL;
}

/* ---- Life ---- */

static slice linkKey(const void *entry) {
    const clusterLink *l = entry;
    return sliceOf(&l->number, sizeof(l->number));
}

static slice nodeKey(const void *entry) {
    const clusterNode *n = entry;
    return sliceOf(n->id.text, sizeof(n->id.text));
}

static const dictType link_type = {.entryKey = linkKey, .entryFree = zfree};
static const dictType node_type = {.entryKey = nodeKey};

clusterMachine *clusterCreate(uint64_t seed, clusterTime now, const clusterConfig *config, const nodesFile *file) {
    clusterMachine *m = zcalloc(1, sizeof(*m));
    clusterActions none = {0}; /* nothing is connected yet */
    m->now = now;
    m->actions = &none;
    rngSeed(&m->random, seed);
    m->by_id = dictCreate(&node_type);
    m->links = dictCreate(&link_type);
    m->nodes = zcalloc(1, sizeof(*m->nodes));
    m->seats = 1;
    m->started_ms = m->second_ms = m->ran_ms = now.mono_ms;
    bool loads = file && file->count;
    m->myself = nodeAdd(m, NULL, NODE_MYSELF | NODE_PRIMARY | NODE_EXTENSIONS | NODE_LIGHT_PUBLISH | NODE_LIGHT_MODULE);
    m->version = 1;
    if (loads) {
        machineLoad(m, file);
        m->saved_version = 1;
        m->may_protect = nodeIsVoting(m->myself);
    }
    configure(m, config);
    machineTell(m, &m->told);
    stateUpdate(m);
    clusterActionsFree(&none);
    m->actions = NULL;
    return m;
}

void clusterFree(clusterMachine *m) {
    for (unsigned seat = 1; seat < m->seats; seat++)
        if (m->nodes[seat]) nodeRelease(m->nodes[seat]);
    zfree(m->nodes);
    dictRelease(m->by_id);
    dictRelease(m->links);
    zfree(m->forgotten);
    for (size_t i = 0; i < sizeof(m->texts) / sizeof(m->texts[0]); i++) sdsFree(m->texts[i]);
    zfree(m);
}
