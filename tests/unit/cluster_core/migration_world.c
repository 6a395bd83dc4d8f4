/* migration_world.c -- the actions of the machine of migrations, executed on a model.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "migration_world.h"

#include "unit.h"
#include "zmalloc.h"

#include <stdio.h>

static clusterMachine *machineOf(movingWorld *w, int node) { return w->cluster.nodes[node].m; }

static const nodeId *idOf(movingWorld *w, int node) { return &clusterMyself(machineOf(w, node))->id; }

static int nodeOfId(movingWorld *w, const nodeId *id) {
    for (int i = 0; i < MOVING_NODES; i++)
        if (nodeIdEqual(idOf(w, i), id)) return i;
    return -1;
}

/* ---- Connections ---- */

static void push(movingQueue *q, movingMessage m) {
    if (q->end == q->capacity) {
        q->capacity = q->capacity ? 2 * q->capacity : 16;
        q->list = zrealloc(q->list, q->capacity * sizeof(*q->list));
    }
    q->list[q->end++] = m;
}

static void clearQueue(movingQueue *q) {
    zfree(q->list);
    *q = (movingQueue){0};
}

static int linkOf(movingWorld *w, int node, uint64_t job) {
    for (int i = 0; i < w->link_count; i++) {
        const movingLink *l = &w->links[i];
        if ((l->source == node && l->job == job) || (l->target == node && l->import && l->import == job)) return i;
    }
    return -1;
}

static void removeLink(movingWorld *w, int link) {
    clearQueue(&w->links[link].to_target);
    clearQueue(&w->links[link].to_source);
    w->links[link] = w->links[--w->link_count];
}

static void send(movingWorld *w, int node, uint64_t job, movingMessage m) {
    int i = linkOf(w, node, job);
    if (i == -1) return;
    movingLink *l = &w->links[i];
    push(l->source == node ? &l->to_target : &l->to_source, m);
}

static void connectJob(movingWorld *w, int node, uint64_t job, const nodeId *to) {
    int target = nodeOfId(w, to);
    if (!w->connects || w->link_count == 8) {
        movingStep(w, node, &(slotJobsEvent){.kind = SLOT_JOBS_LOST, .job = job, .text = sliceStr("no route")});
        return;
    }
    w->links[w->link_count++] = (movingLink){.source = node, .target = target, .job = job};
    movingStep(w, node, &(slotJobsEvent){.kind = SLOT_JOBS_CONNECTED, .job = job});
}

/* A side closes: what it has sent arrives before the other side learns of it. */
static void closeLink(movingWorld *w, int node, uint64_t job) {
    int i = linkOf(w, node, job);
    if (i == -1) return;
    movingLink *l = &w->links[i];
    if (l->source == node) {
        l->is_closed = true;
        l->job = 0;
        clearQueue(&l->to_source);
        return;
    }
    int source = l->source;
    uint64_t number = l->job;
    removeLink(w, i);
    movingStep(w, source, &(slotJobsEvent){.kind = SLOT_JOBS_LOST, .job = number});
}

/* ---- Actions ---- */

static void setSlots(slotSet *set, const slotSet *slots, bool on) {
    for (unsigned slot = 0; slot < CLUSTER_SLOTS; slot++)
        if (slotSetHas(slots, slot)) (on ? slotSetAdd : slotSetRemove)(set, slot);
}

static void deleteKeys(movingWorld *w, int node, const slotJobAction *a) {
    for (int slot = 0; slot < MOVING_SLOTS; slot++)
        if (slotSetHas(a->slots, (unsigned)slot)) w->nodes[node].keys[slot] = 0;
    movingStep(w, node, &(slotJobsEvent){.kind = SLOT_JOBS_DELETED, .job = a->job});
}

static void take(movingWorld *w, int node, const slotSet *slots) {
    smallCommand(&w->cluster, node, (clusterCommand){.kind = CLUSTER_TAKE_SLOTS, .slots = slots});
    for (int i = 0; i < MOVING_NODES; i++) movingStep(w, i, &(slotJobsEvent){.kind = SLOT_JOBS_VIEW});
}

static void record(movingWorld *w, int node, const slotJobAction *a) {
    movingNode *n = &w->nodes[node];
    if (n->disk_waits || n->record_count == 8) return;
    const slotJob *job = slotJobsByNumber(n->jobs, a->job);
    n->records[n->record_count++] = (movingRecord){.name = job->name, .target = a->node, .slots = *a->slots};
    movingStep(w, node, &(slotJobsEvent){.kind = SLOT_JOBS_RECORDED, .job = a->job});
}

static void erase(movingWorld *w, int node, const nodeId *name) {
    movingNode *n = &w->nodes[node];
    for (int i = 0; i < n->record_count; i++)
        if (nodeIdEqual(&n->records[i].name, name)) n->records[i--] = n->records[--n->record_count];
}

static void recall(movingWorld *w, int node) {
    for (int i = 0; i < w->nodes[node].record_count; i++) {
        movingRecord record = w->nodes[node].records[i];
        slotJobRequest r = {.name = record.name, .target = record.target, .slots = &record.slots};
        movingStep(w, node, &(slotJobsEvent){.kind = SLOT_JOBS_RECALL, .requests = &r, .request_count = 1});
    }
}

/* Answers a source from the list of jobs of its target, if that can be reached. */
static void ask(movingWorld *w, int node, const slotJobAction *a) {
    int target = nodeOfId(w, &a->node);
    const slotJob *asked = slotJobsByNumber(w->nodes[node].jobs, a->job);
    if (w->cluster.nodes[target].is_cut || w->cluster.nodes[node].is_cut) return;
    slotJobAnswer answer = JOB_ANSWER_UNKNOWN;
    for (const slotJob *s = NULL; (s = slotJobsNext(w->nodes[target].jobs, s)) != NULL;)
        if (nodeIdEqual(&s->name, &asked->name)) answer = s->state == JOB_FAILED ? JOB_ANSWER_FAILED : JOB_ANSWER_RUNS;
    for (unsigned slot = 0; slot < CLUSTER_SLOTS; slot++) {
        const clusterNode *owner = clusterOwner(machineOf(w, target), slot);
        bool owns = owner && nodeIdEqual(&owner->id, idOf(w, target)) && slotSetHas(asked->slots, slot);
        if (owns && answer == JOB_ANSWER_UNKNOWN) answer = JOB_ANSWER_RUNS;
    }
    movingStep(w, node, &(slotJobsEvent){.kind = SLOT_JOBS_ANSWER, .job = a->job, .answer = answer});
}

static void execute(movingWorld *w, int node, const slotJobAction *a) {
    movingNode *n = &w->nodes[node];
    const slotJob *job = slotJobsByNumber(n->jobs, a->job);
    switch (a->kind) {
    case SLOT_JOB_REPLY:
        sdsFree(n->reply);
        n->reply = sdsDup(a->text);
        break;
    case SLOT_JOB_CONNECT: connectJob(w, node, a->job, &a->node); break;
    case SLOT_JOB_AUTH: send(w, node, a->job, (movingMessage){.kind = MOVING_AUTH}); break;
    case SLOT_JOB_ESTABLISH: send(w, node, a->job, (movingMessage){.kind = MOVING_ESTABLISH, .name = job->name}); break;
    case SLOT_JOB_SAY: send(w, node, a->job, (movingMessage){.kind = MOVING_WORD, .word = a->word}); break;
    case SLOT_JOB_CLOSE: closeLink(w, node, a->job); break;
    case SLOT_JOB_WALK:
        n->walks = a->job;
        n->walked = 0;
        break;
    case SLOT_JOB_STOP:
        if (n->walks == a->job) n->walks = 0;
        for (int slot = 0; slot < MOVING_SLOTS; slot++)
            if (n->passes_on[slot] == a->job) n->passes_on[slot] = 0;
        break;
    case SLOT_JOB_FENCE: setSlots(&n->fenced, a->slots, true); break;
    case SLOT_JOB_UNFENCE: setSlots(&n->fenced, a->slots, false); break;
    case SLOT_JOB_HIDE: setSlots(&n->hidden, a->slots, true); break;
    case SLOT_JOB_SHOW: setSlots(&n->hidden, a->slots, false); break;
    case SLOT_JOB_RECORD: record(w, node, a); break;
    case SLOT_JOB_ERASE: erase(w, node, &job->name); break;
    case SLOT_JOB_PING:
        smallCommand(&w->cluster, node, (clusterCommand){.kind = CLUSTER_PING_NODE, .node = a->node});
        movingStep(w, node, &(slotJobsEvent){.kind = SLOT_JOBS_VIEW});
        break;
    case SLOT_JOB_TAKE: take(w, node, a->slots); break;
    case SLOT_JOB_DELETE: deleteKeys(w, node, a); break;
    case SLOT_JOB_FINISHED: n->finished++; break;
    case SLOT_JOB_ASK: ask(w, node, a); break;
    case SLOT_JOB_LOG: break;
    }
}

/* A primary deletes the keys of slots that another node owns. */
static void deleteLost(movingWorld *w, int node) {
    for (int slot = 0; slot < MOVING_SLOTS; slot++) {
        const clusterNode *owner = clusterOwner(machineOf(w, node), (unsigned)slot);
        bool is_mine = !owner || nodeIdEqual(&owner->id, idOf(w, node));
        if (!is_mine && !slotSetHas(&w->nodes[node].hidden, (unsigned)slot)) w->nodes[node].keys[slot] = 0;
    }
}

void movingStep(movingWorld *w, int node, const slotJobsEvent *e) {
    slotJobActions actions = {0};
    slotJobsStep(w->nodes[node].jobs, machineOf(w, node), w->cluster.now, e, &actions);
    slotJobsCheck(w->nodes[node].jobs);
    for (size_t i = 0; i < actions.count; i++) execute(w, node, &actions.list[i]);
    slotJobActionsFree(&actions);
    deleteLost(w, node);
}

/* ---- Messages ---- */

static void onEstablish(movingWorld *w, movingLink *l, const nodeId *name) {
    int source = l->source, target = l->target;
    uint64_t number = l->job;
    const slotJob *asked = slotJobsByNumber(w->nodes[source].jobs, number);
    if (!asked || !asked->slots) return;
    slotSet slots = *asked->slots;
    slotJobRequest r = {.source = *idOf(w, source), .name = *name, .slots = &slots};
    movingStep(w, target, &(slotJobsEvent){.kind = SLOT_JOBS_ESTABLISH, .requests = &r, .request_count = 1});
    const char *reply = w->nodes[target].reply;
    if (reply[0] == '+') l->import = movingJob(w, target)->number;
    push(&l->to_source, (movingMessage){.kind = MOVING_LINE, .line = reply[0] == '+' ? "+OK" : "-ERR refused"});
}

static void toTarget(movingWorld *w, movingLink *l, const movingMessage *m) {
    int target = l->target;
    uint64_t import = l->import;
    if (m->kind == MOVING_ESTABLISH) {
        onEstablish(w, l, &m->name);
    } else if (m->kind == MOVING_AUTH) {
        bool wrong = w->nodes[target].wrong_password;
        push(&l->to_source, (movingMessage){.kind = MOVING_LINE, .line = wrong ? "-WRONGPASS no" : "+OK"});
    } else if (m->kind == MOVING_KEY) {
        w->nodes[target].keys[m->slot] = m->version;
        movingStep(w, target, &(slotJobsEvent){.kind = SLOT_JOBS_DATA, .job = import});
    } else {
        movingStep(w, target, &(slotJobsEvent){.kind = SLOT_JOBS_WORD, .job = import, .word = m->word});
    }
}

static void toSource(movingWorld *w, const movingLink *l, const movingMessage *m) {
    slotJobsEvent e = {.kind = SLOT_JOBS_WORD, .job = l->job, .word = m->word};
    if (m->kind == MOVING_LINE) e = (slotJobsEvent){.kind = SLOT_JOBS_LINE, .job = l->job, .text = sliceStr(m->line)};
    movingStep(w, l->source, &e);
}

bool movingDeliver(movingWorld *w, int link, bool to_target) {
    movingLink *l = &w->links[link];
    movingQueue *q = to_target ? &l->to_target : &l->to_source;
    if (q->first == q->end) {
        if (!to_target || !l->is_closed) return false;
        int target = l->target;
        uint64_t import = l->import;
        removeLink(w, link);
        if (import) movingStep(w, target, &(slotJobsEvent){.kind = SLOT_JOBS_LOST, .job = import});
        return true;
    }
    movingMessage m = q->list[q->first++];
    if (to_target) toTarget(w, l, &m);
    else toSource(w, l, &m);
    return true;
}

void movingBreak(movingWorld *w, int link) {
    movingLink l = w->links[link];
    removeLink(w, link);
    if (l.job) movingStep(w, l.source, &(slotJobsEvent){.kind = SLOT_JOBS_LOST, .job = l.job});
    if (l.import) movingStep(w, l.target, &(slotJobsEvent){.kind = SLOT_JOBS_LOST, .job = l.import});
}

/* ---- Keys ---- */

bool movingWalk(movingWorld *w, int node) {
    movingNode *n = &w->nodes[node];
    uint64_t number = n->walks;
    if (!number) return false;
    if (n->walked == MOVING_SLOTS) {
        n->walks = 0;
        movingStep(w, node, &(slotJobsEvent){.kind = SLOT_JOBS_WALKED, .job = number});
        return true;
    }
    int slot = n->walked++;
    if (!slotSetHas(slotJobsByNumber(n->jobs, number)->slots, (unsigned)slot)) return true;
    n->passes_on[slot] = number;
    if (n->keys[slot])
        send(w, node, number, (movingMessage){.kind = MOVING_KEY, .slot = slot, .version = n->keys[slot]});
    return true;
}

static bool takesWrites(movingWorld *w, int node, int slot) {
    const clusterNode *owner = clusterOwner(machineOf(w, node), (unsigned)slot);
    return owner && nodeIdEqual(&owner->id, idOf(w, node)) && !slotSetHas(&w->nodes[node].fenced, (unsigned)slot) &&
           !slotSetHas(&w->nodes[node].hidden, (unsigned)slot) && clusterSummarize(machineOf(w, node)).ok;
}

bool movingWrite(movingWorld *w, int node, int slot) {
    movingNode *n = &w->nodes[node];
    if (!takesWrites(w, node, slot)) return false;
    w->written[slot] = n->keys[slot] = ++w->versions;
    if (n->passes_on[slot])
        send(w, node, n->passes_on[slot], (movingMessage){.kind = MOVING_KEY, .slot = slot, .version = n->keys[slot]});
    return true;
}

/* ---- The world ---- */

static void tick(movingWorld *w, int node) {
    movingStep(w, node, &(slotJobsEvent){.kind = SLOT_JOBS_VIEW});
    movingStep(w, node, &(slotJobsEvent){.kind = SLOT_JOBS_TICK});
    for (int i = 0; i < w->link_count; i++) {
        const movingLink *l = &w->links[i];
        uint64_t bytes = l->to_target.end - l->to_target.first;
        if (l->source == node)
            movingStep(w, node, &(slotJobsEvent){.kind = SLOT_JOBS_UNSENT, .job = l->job, .bytes = bytes});
    }
}

static void deliverAll(movingWorld *w) {
    for (bool any = true; any;) {
        any = false;
        for (int i = 0; i < w->link_count && !any; i++) any = movingDeliver(w, i, true) || movingDeliver(w, i, false);
        for (int i = 0; i < MOVING_NODES; i++) any |= movingWalk(w, i);
    }
}

void movingRun(movingWorld *w, uint64_t ms) {
    for (uint64_t end = w->cluster.now.mono_ms + ms; w->cluster.now.mono_ms < end;) {
        smallRun(&w->cluster, 100);
        for (int i = 0; i < MOVING_NODES; i++) tick(w, i);
        deliverAll(w);
        movingCheck(w);
    }
}

const char *movingMigrate(movingWorld *w, int from, int to, unsigned first, unsigned last) {
    char a[16], b[16];
    snprintf(a, sizeof(a), "%u", first);
    snprintf(b, sizeof(b), "%u", last);
    nodeId id = *idOf(w, to);
    slice words[] = {sliceStr("SLOTSRANGE"), sliceStr(a), sliceStr(b), sliceStr("NODE"), sliceOf(id.text, NODE_ID_LEN)};
    slotJobRequest *requests;
    slotSet *sets;
    size_t count;
    sds error = slotJobsParse(w->nodes[from].jobs, machineOf(w, from), words, 5, &requests, &sets, &count);
    if (error) {
        sdsFree(w->nodes[from].reply);
        return w->nodes[from].reply = error;
    }
    movingStep(w, from, &(slotJobsEvent){.kind = SLOT_JOBS_MIGRATE, .requests = requests, .request_count = count});
    zfree(requests);
    zfree(sets);
    return w->nodes[from].reply;
}

const slotJob *movingJob(const movingWorld *w, int node) { return slotJobsNext(w->nodes[node].jobs, NULL); }

void movingRestart(movingWorld *w, int node) {
    movingNode *n = &w->nodes[node];
    for (int i = w->link_count - 1; i >= 0; i--) {
        movingLink *l = &w->links[i];
        int other = l->source == node ? l->target : l->source;
        uint64_t job = l->source == node ? l->import : l->job;
        if (l->source != node && l->target != node) continue;
        removeLink(w, i);
        if (job) movingStep(w, other, &(slotJobsEvent){.kind = SLOT_JOBS_LOST, .job = job});
    }
    slotJobs *old = n->jobs;
    n->jobs = slotJobsCreate(++w->cluster.now.mono_ms, &n->config);
    n->walks = 0;
    memset(n->passes_on, 0, sizeof(n->passes_on));
    memset(&n->hidden, 0, sizeof(n->hidden));
    memset(&n->fenced, 0, sizeof(n->fenced));
    smallRestart(&w->cluster, node);
    for (const slotJob *s = NULL; (s = slotJobsNext(old, s)) != NULL;) {
        if (slotJobHasEnded(s->state) || s->is_export) continue;
        slotJobRequest r = {.name = s->name, .slots = s->slots};
        movingStep(w, node, &(slotJobsEvent){.kind = SLOT_JOBS_TRACK, .requests = &r, .request_count = 1});
        movingStep(w, node,
                   &(slotJobsEvent){.kind = SLOT_JOBS_BROKEN,
                                    .job = movingJob(w, node)->number,
                                    .text = sliceStr("Process restarted")});
    }
    slotJobsFree(old);
    recall(w, node);
}

void movingInit(movingWorld *w) {
    *w = (movingWorld){.connects = true};
    smallInit(&w->cluster, MOVING_NODES);
    smallJoin(&w->cluster, MOVING_NODES);
    for (int i = 0; i < MOVING_NODES; i++) {
        w->nodes[i].config = (slotJobsConfig){.silence_ms = 60000, .fence_ms = 10000, .log_length = 1000};
        w->nodes[i].jobs = slotJobsCreate((uint64_t)i + 1, &w->nodes[i].config);
    }
    smallRun(&w->cluster, 5000);
    for (int slot = 0; slot < MOVING_SLOTS; slot++) movingWrite(w, 0, slot);
}

void movingFree(movingWorld *w) {
    while (w->link_count) removeLink(w, 0);
    for (int i = 0; i < MOVING_NODES; i++) {
        slotJobsFree(w->nodes[i].jobs);
        sdsFree(w->nodes[i].reply);
    }
    smallFree(&w->cluster);
}

void movingCheck(movingWorld *w) {
    for (int slot = 0; slot < MOVING_SLOTS; slot++) {
        int takers = 0;
        for (int i = 0; i < MOVING_NODES; i++) takers += takesWrites(w, i, slot);
        CHECK(takers <= 1);
    }
}

void movingCheckRest(movingWorld *w) {
    CHECK_EQ_INT(w->link_count, 0);
    for (int slot = 0; slot < MOVING_SLOTS; slot++) {
        int takers = 0;
        for (int i = 0; i < MOVING_NODES; i++) {
            takers += takesWrites(w, i, slot);
            CHECK_EQ_INT(w->nodes[i].keys[slot], takesWrites(w, i, slot) ? w->written[slot] : 0);
        }
        CHECK_EQ_INT(takers, 1);
    }
    for (int i = 0; i < MOVING_NODES; i++) {
        CHECK(!slotJobsRun(w->nodes[i].jobs, true) && !slotJobsRun(w->nodes[i].jobs, false));
        CHECK_EQ_INT(slotSetCount(&w->nodes[i].hidden) + slotSetCount(&w->nodes[i].fenced), 0);
        CHECK_EQ_INT(w->nodes[i].record_count, 0);
    }
}
