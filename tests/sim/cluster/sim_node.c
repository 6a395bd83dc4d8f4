/* sim_node.c -- a node: its machine, clocks and disk, and the driver that passes events in and executes actions.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "sim.h"

#include <stdio.h>
#include <time.h>

#define WALL_BASE_MS INT64_C(1795000000000)

clusterTime nodeTime(const simWorld *w, const simNode *n) {
    double passed = (double)(w->now - n->started) / 1000.0;
    clusterTime t = {n->mono_base + (uint64_t)(passed * (1 + n->drift)),
                     WALL_BASE_MS + (int64_t)(w->now / 1000) + n->wall_offset_ms};
    if (planted(w, PLANT_CLOCK_STANDS) && n->index == 0 && w->phase >= PHASE_STORM) t.mono_ms = n->mono_base + 60000;
    return t;
}

clusterConfig nodeConfig(const simWorld *w, const simNode *n) {
    clusterConfig c = w->config;
    c.port = n->port;
    c.bus_port = n->bus_port;
    if (n->hostname[0]) c.hostname = sliceStr(n->hostname);
    if (n->ip_is_announced) memcpy(c.ip, n->ip, sizeof(c.ip));
    if (n->is_valkey) c.plain_valkey = true, c.protect_data = false;
    return c;
}

void nodeInit(simWorld *w, simNode *n) {
    n->index = (unsigned)(n - w->nodes);
    snprintf(n->ip, sizeof(n->ip), "10.1.%u.%u", n->index / 200, 1 + n->index % 200);
    n->port = (uint16_t)(7000 + n->index % 7);
    n->bus_port = n->port + 10000;
    n->heard = zcalloc(w->count, sizeof(*n->heard));
    n->voting_since = zcalloc(w->count, sizeof(*n->voting_since));
}

void nodeEnd(simNode *n) {
    if (n->machine) clusterFree(n->machine);
    clusterActionsFree(&n->actions);
    sdsFree(n->disk.text);
    sdsFree(n->saving_text);
    for (size_t i = 0; i < n->backlog_count; i++) worldRelease(&n->backlog[i]);
    zfree(n->backlog);
    zfree(n->server.log);
    zfree(n->heard);
    zfree(n->voting_since);
}

simNode *nodeOfId(simWorld *w, const nodeId *id) {
    for (unsigned i = 0; i < w->count; i++)
        if (nodeIdEqual(&w->nodes[i].id, id)) return &w->nodes[i];
    return NULL;
}

/* ---- Disk ---- */

static void saveStart(simWorld *w, simNode *n) {
    sdsFree(n->saving_text);
    n->saving_text = clusterFileText(n->machine, nodeTime(w, n), &n->saving_version);
    n->saving = true;
    w->stats.saves++;
    simTime wait = n->disk_delay + worldBetween(&w->disk, w->save_time / 2, w->save_time);
    uint64_t bits = n->disk_fails ? SAVE_REPORTS : SAVE_WRITES | SAVE_REPORTS;
    if (planted(w, PLANT_FILE_STALE) && w->phase >= PHASE_STORM) bits = SAVE_REPORTS | SAVE_EARLY;
    if (planted(w, PLANT_SAVED_EARLY)) {
        worldAt(w, w->now,
                (simEvent){.kind = SIM_SAVED,
                           .node = n->index,
                           .incarnation = n->incarnation,
                           .number = SAVE_REPORTS | SAVE_EARLY,
                           .version = n->saving_version});
        bits = SAVE_WRITES;
    }
    worldAt(w, w->now + wait,
            (simEvent){.kind = SIM_SAVED,
                       .node = n->index,
                       .incarnation = n->incarnation,
                       .number = bits,
                       .version = n->saving_version,
                       .owned = zstrdup(n->saving_text)});
}

/* A Valkey saves in its main thread, which waits for the disk; it ends when it cannot save. */
static void saveInStep(simWorld *w, simNode *n) {
    uint64_t version;
    if (n->disk_fails) {
        worldAt(w, w->now, (simEvent){.kind = SIM_DIES, .node = n->index, .incarnation = n->incarnation});
        return;
    }
    sdsFree(n->disk.text);
    n->disk.text = clusterFileText(n->machine, nodeTime(w, n), &version);
    w->stats.saves++;
    checkFile(w, n);
    nodeStep(w, n, &(clusterEvent){.kind = CLUSTER_SAVED, .version = version});
    if (n->disk_delay && !n->stopped) nodeStop(w, n, n->disk_delay);
}

static void saveIfNeeded(simWorld *w, simNode *n) {
    if (n->is_valkey) {
        if (clusterMustSave(n->machine)) saveInStep(w, n);
        return;
    }
    if (!n->saving && w->now >= n->save_again && clusterMustSave(n->machine)) saveStart(w, n);
}

static void saved(simWorld *w, simNode *n, simEvent *e) {
    if (e->number & SAVE_WRITES) {
        sdsFree(n->disk.text);
        n->disk.text = sdsNew(e->owned);
        checkFile(w, n);
    }
    if (!(e->number & SAVE_REPORTS)) return;
    n->saving = false;
    bool failed = !(e->number & (SAVE_WRITES | SAVE_EARLY));
    if (failed) n->save_again = w->now + 200 * MS;
    if (simTraces(w, n->index))
        simTrace(w, n, "version %llu is %s", (unsigned long long)e->version, failed ? "not saved" : "saved");
    clusterEvent event = {.kind = failed ? CLUSTER_SAVE_FAILED : CLUSTER_SAVED, .version = e->version};
    nodeStep(w, n, &event);
}

/* ---- Steps ---- */

static void cacheMyself(simWorld *w, simNode *n) {
    const clusterNode *me = clusterMyself(n->machine);
    if (!nodeIdEqual(&n->id, &me->id)) {
        n->id = me->id;
        n->my_epoch_seen = n->epoch_seen = 0;
    }
    bool was_replica = n->is_replica;
    n->is_replica = (me->flags & NODE_REPLICA) != 0;
    if (was_replica && !n->is_replica) n->promoted_epoch = me->config_epoch;
    const clusterNode *primary = me->primary ? clusterNodeBySeat(n->machine, me->primary) : NULL;
    n->primary_id = primary ? primary->id : (nodeId){{0}};
    (void)w;
}

static const char *actionName(clusterActionKind kind) {
    static const char *const names[] = {"connect",      "close",          "send",   "deliver",
                                        "view changed", "become primary", "follow", "flush",
                                        "pause writes", "resume writes",  "reply",  "log"};
    return names[kind];
}

static void traceAction(simWorld *w, simNode *n, const clusterAction *a) {
    if (a->kind == CLUSTER_SEND) {
        const uint8_t *p = (const uint8_t *)a->frame->bytes;
        simTrace(w, n, "-> link %lld %s, %zu bytes", (long long)a->link, busTypeName(p[13]), sdsLen(a->frame->bytes));
    } else {
        simTrace(w, n, "   %s %s%s%.4s %s:%u link %lld ms %llu", actionName(a->kind), a->text ? a->text : "",
                 a->same_shard ? " same shard " : " ", a->node.text, a->ip, a->port, (long long)a->link,
                 (unsigned long long)a->ms);
    }
}

static void hashAction(simWorld *w, simNode *n, const clusterAction *a) {
    uint64_t words[5] = {w->now, n->index, a->kind, a->link, a->ms ^ a->port ^ (uint64_t)a->same_shard << 32};
    worldHash(w, words, sizeof(words));
    if (a->frame) worldHash(w, a->frame->bytes, sdsLen(a->frame->bytes));
    if (a->text) worldHash(w, a->text, sdsLen(a->text));
    worldHash(w, &a->node, sizeof(a->node));
    worldHash(w, a->ip, strlen(a->ip));
}

/* Executes an action. Takes what it owns. */
static void execute(simWorld *w, simNode *n, clusterAction *a) {
    switch (a->kind) {
    case CLUSTER_CONNECT:
        n->connects_in_tick++;
        netConnect(w, n, a->link, a->ip, a->port, a->text);
        break;
    case CLUSTER_CLOSE:
        if (!planted(w, PLANT_CLOSE_IGNORED)) netClose(w, n, a->link);
        break;
    case CLUSTER_SEND: {
        checkSend(w, n, a->link, a->frame);
        frameBlock *frame = a->frame;
        a->frame = NULL;
        netSend(w, n, a->link, frame);
        break;
    }
    case CLUSTER_BECOME_PRIMARY:
        checkBecomesPrimary(w, n);
        serverQueue(w, n, a);
        break;
    case CLUSTER_HEARD:
    case CLUSTER_VIEW_CHANGED:
    case CLUSTER_FOLLOW:
    case CLUSTER_FLUSH:
    case CLUSTER_PAUSE_WRITES:
    case CLUSTER_RESUME_WRITES: serverQueue(w, n, a); break;
    case CLUSTER_REPLY:
        if (n->has_reply) simFault(w, nodeBit(n->index), "one reply a command", "a second one: %s", a->text);
        snprintf(n->reply, sizeof(n->reply), "%s", a->text);
        n->has_reply = true;
        break;
    case CLUSTER_DELIVER:
    case CLUSTER_LOG: break;
    }
}

static uint64_t nowNs(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

void nodeStep(simWorld *w, simNode *n, const clusterEvent *e) {
    clusterActions actions = n->actions;
    bool view_changed = false;
    n->actions = (clusterActions){0};
    n->steps++;
    w->stats.steps++;
    uint64_t start = w->options->cost ? nowNs() : 0;
    clusterStep(n->machine, nodeTime(w, n), e, &actions);
    if (start) w->step_ns += nowNs() - start;
    cacheMyself(w, n);
    for (size_t i = 0; i < actions.count; i++) {
        clusterAction *a = &actions.list[i];
        hashAction(w, n, a);
        if (simTraces(w, n->index)) traceAction(w, n, a);
        view_changed |= a->kind == CLUSTER_VIEW_CHANGED;
        execute(w, n, a);
    }
    clusterActionsClear(&actions);
    n->actions = actions;
    saveIfNeeded(w, n);
    checkStep(w, n, view_changed);
}

const char *nodeCommand(simWorld *w, simNode *n, const clusterCommand *c) {
    if (!n->alive || n->stopped) return NULL;
    clusterLocal local = serverLocal(w, n);
    clusterEvent e = {.kind = CLUSTER_COMMAND, .command = c, .local = &local};
    n->has_reply = false;
    w->stats.commands++;
    nodeStep(w, n, &e);
    if (simTraces(w, n->index))
        simTrace(w, n, "command %d node %.4s slot %u: %s", (int)c->kind, c->node.text, c->slot,
                 n->has_reply ? n->reply : "(none)");
    if (!n->has_reply) simFault(w, nodeBit(n->index), "one reply a command", "command %d has none", (int)c->kind);
    return n->reply;
}

static void tick(simWorld *w, simNode *n) {
    clusterLocal local = serverLocal(w, n);
    clusterEvent e = {.kind = CLUSTER_TICK, .local = &local};
    n->connects_in_tick = 0;
    nodeStep(w, n, &e);
    checkTick(w, n);
    worldAt(w, w->now + 100 * MS + worldBelow(&w->net, 2 * MS),
            (simEvent){.kind = SIM_TICK, .node = n->index, .incarnation = n->incarnation});
}

/* It is started again after a while; by hand when faults are healed. */
static void dies(simWorld *w, simNode *n) {
    if (!n->disk_fails) return;
    nodeKill(w, n, false);
    worldAt(w, w->now + worldBetween(&w->disk, SECOND, 5 * SECOND),
            (simEvent){.kind = SIM_START, .number = n->index, .version = n->incarnation});
}

void nodeHandle(simWorld *w, simEvent *e) {
    simNode *n = &w->nodes[e->node];
    switch (e->kind) {
    case SIM_TICK: tick(w, n); break;
    case SIM_SAVED: saved(w, n, e); break;
    case SIM_DIES: dies(w, n); break;
    default: break;
    }
}

/* ---- Start, kill, stop ---- */

/* Planted: what a restart finds of the nodes file. */
static sds plantOnStart(simWorld *w, simNode *n, sds text) {
    char *at = strstr(text, "vars currentEpoch ");
    if (planted(w, PLANT_EPOCH_LOST) && at && n->incarnation > 1) {
        unsigned long long vote = 0;
        sscanf(at, "vars currentEpoch %*u lastVoteEpoch %llu", &vote);
        sdsIncrLen(text, at - text - (ptrdiff_t)sdsLen(text));
        return sdsCatPrintf(text, "vars currentEpoch 0 lastVoteEpoch %llu\n", vote);
    }
    if (planted(w, PLANT_VOTE_LOST) && at && n->incarnation > 1) {
        unsigned long long epoch = 0;
        sscanf(at, "vars currentEpoch %llu", &epoch);
        sdsIncrLen(text, at - text - (ptrdiff_t)sdsLen(text));
        return sdsCatPrintf(text, "vars currentEpoch %llu lastVoteEpoch 0\n", epoch);
    }
    if (planted(w, PLANT_ID_DOUBLED) && n->index == 1 && n->incarnation > 1 && w->nodes[0].disk.text) {
        sdsFree(text);
        return sdsDup(w->nodes[0].disk.text);
    }
    return text;
}

void nodeStart(simWorld *w, simNode *n) {
    nodesFile file = {0};
    sds error = NULL, text = n->disk.text ? sdsDup(n->disk.text) : NULL;
    uint64_t what[3] = {w->seed, n->index, ++n->incarnation};

    n->started = w->now;
    n->mono_base = 1 + xxh3(what, sizeof(what)) % 10000000;
    n->alive = true;
    n->stopped = false;
    n->saving = false;
    n->save_again = 0;
    if (text) {
        text = plantOnStart(w, n, text);
        if (!nodesFileParse(sdsSlice(text), &file, &error))
            simFault(w, nodeBit(n->index), "a nodes file can be read", "%s", error);
    }
    if (w->fault_found.found) sdsFree(text), text = NULL;
    clusterConfig config = nodeConfig(w, n);
    n->machine = clusterCreate(xxh3(what, sizeof(what)), nodeTime(w, n), &config, text ? &file : NULL);
    if (n->disk.text) nodesFileFree(&file);
    sdsFree(error);
    sdsFree(text);
    memset(n->heard, 0, w->count * sizeof(*n->heard));
    memset(n->voting_since, 0, w->count * sizeof(*n->voting_since));
    cacheMyself(w, n);
    if (n->incarnation > 1) checkMemory(w, n);
    serverStart(w, n);
    if (simTraces(w, n->index))
        simTrace(w, n, "starts at %s:%u, mono %llu", n->ip, n->port, (unsigned long long)n->mono_base);
    saveIfNeeded(w, n);
    worldAt(w, w->now + worldBelow(&w->net, 100 * MS),
            (simEvent){.kind = SIM_TICK, .node = n->index, .incarnation = n->incarnation});
}

void nodeKill(simWorld *w, simNode *n, bool silently) {
    if (!n->alive) return;
    if (simTraces(w, n->index)) simTrace(w, n, "is killed%s", silently ? " with its host" : "");
    w->stats.kills++;
    netKilled(w, n, silently);
    /* The save that ran has reached its rename, or not. */
    if (n->saving && !n->disk_fails && worldChance(&w->disk, 0.5)) {
        sdsFree(n->disk.text);
        n->disk.text = sdsDup(n->saving_text);
        checkFile(w, n);
    }
    if (planted(w, PLANT_FILE_TORN) && n->disk.text) sdsRange(n->disk.text, 0, (ptrdiff_t)sdsLen(n->disk.text) / 2);
    n->saving = false;
    clusterFree(n->machine);
    n->machine = NULL;
    n->alive = n->stopped = false;
    for (size_t i = 0; i < n->backlog_count; i++) worldRelease(&n->backlog[i]);
    n->backlog_count = 0;
    serverKilled(w, n);
}

void nodeDefer(simNode *n, simEvent *e) {
    n->backlog = zgrowArray(n->backlog, n->backlog_count, &n->backlog_capacity, sizeof(*n->backlog));
    n->backlog[n->backlog_count++] = *e;
    e->conn = NULL;
    e->frame = NULL;
    e->owned = NULL;
}

void nodeStop(simWorld *w, simNode *n, simTime wait) {
    n->stopped = true;
    worldAt(w, w->now + wait,
            (simEvent){.kind = SIM_RESUME, .number = n->index, .version = n->incarnation, .incarnation = ++n->stops});
}

void nodeResume(simWorld *w, simNode *n) {
    if (!n->alive || !n->stopped) return;
    if (simTraces(w, n->index)) simTrace(w, n, "goes on, %zu events wait", n->backlog_count);
    n->stopped = false;
    simEvent *list = n->backlog;
    size_t count = n->backlog_count;
    n->backlog = NULL;
    n->backlog_count = n->backlog_capacity = 0;
    for (size_t i = 0; i < count; i++) {
        simDispatch(w, &list[i]);
        worldRelease(&list[i]);
    }
    zfree(list);
}
