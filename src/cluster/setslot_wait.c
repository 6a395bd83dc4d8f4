/* setslot_wait.c -- SETSLOT at a primary: its replicas execute it first, so that an open slot survives a failover.
 *
 *     checked --> in the replication stream --> WAITS for replicas --> executed --> WAITS for the nodes file --> "+OK"
 *                                                  `--> the time limit, or the client leaves: taken back
 *
 * Without online replicas that understand it there is nothing to wait for; the stream has it nevertheless, for replicas
 * that continue from the backlog.
 *
 * A SETSLOT that the primary gives up has been executed by some replicas, or will be. A Valkey leaves them with an open
 * slot that the primary does not have. Here the stream then says what the primary has (showSlot()), and so it does when
 * another SETSLOT of the slot was executed or given up meanwhile, because the replicas have executed them in another
 * order.
 *
 * Not here    what SETSLOT does (cluster_core/machine_commands.c); its words (cluster_commands.c).
 * Owns        the waits.
 * Threads     main.
 * Invariants  1. A wait is in the list as long as its client is blocked. 2. The list is in the order of the stream.
 * Tests       tests/cluster/setslot.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "setslot_wait.h"

#include "blocking.h"
#include "clock.h"
#include "cluster.h"
#include "db_slots.h"
#include "panic.h"
#include "primary_link.h"
#include "repl_stream.h"
#include "replicas.h"
#include "resp_format.h"
#include "saved_replies.h"
#include "wait_commands.h"
#include "zmalloc.h"

#include <stdio.h>

#define VERSION_EXECUTES 0x00070300u /* replicas from here on execute SETSLOT from their primary */

typedef struct setslotWait {
    struct setslotWait *prev, *next;
    client *c; /* borrowed: blocked */
    clusterCommand set;
    sds name;             /* owns: the text of set.name */
    uint64_t offset;      /* of the replication stream: the end of the command */
    uint64_t deadline_ms; /* monotonic; 0: none */
    bool show;            /* the replicas' view of the slot may differ after it: see showSlot() */
    sds reply;            /* owns; NULL until the command is executed */
    uint64_t version;     /* of the nodes file, that the reply waits for */
} setslotWait;

static struct { setslotWait *first, *last; /* own */ } waits;

/* ---- The replication stream ---- */

static void appendWords(const slice *words, uint32_t count) {
    size_t bytes = RESP_HEADER_MAX;
    for (uint32_t i = 0; i < count; i++) bytes += words[i].len + RESP_BULK_EXTRA;
    char *wire = zmalloc(bytes);
    size_t len = respHeader(wire, '*', count);
    for (uint32_t i = 0; i < count; i++) len += respBulk(wire + len, words[i]);
    replStreamAppend(sliceOf(wire, len));
    zfree(wire);
}

static void appendAction(unsigned slot, const char *action, const clusterNode *n) {
    char digits[16];
    snprintf(digits, sizeof(digits), "%u", slot);
    slice words[] = {sliceStr("CLUSTER"), sliceStr("SETSLOT"), sliceStr(digits), sliceStr(action), {NULL, 0}};
    if (n) words[4] = sliceOf(n->id.text, sizeof(n->id.text));
    appendWords(words, n ? 5 : 4);
}

/* Appends commands to the stream that give replicas this primary's view of a slot. */
static void showSlot(unsigned slot, bool with_owner) {
    const clusterMachine *m = clusterLock();
    const clusterNode *owner = clusterOwner(m, slot), *to = clusterMigratingTo(m, slot),
                      *from = clusterImportingFrom(m, slot);
    if (with_owner && owner) appendAction(slot, "NODE", owner);
    if (to || from) appendAction(slot, to ? "MIGRATING" : "IMPORTING", to ? to : from);
    else appendAction(slot, "STABLE", NULL);
    clusterUnlock();
}

/* Call when a SETSLOT of the slot was executed at its own time, or given up. */
static void othersShow(unsigned slot) {
    for (setslotWait *w = waits.first; w; w = w->next) w->show |= w->set.slot == slot && !w->reply;
}

/* ---- Waits ---- */

static void setslotReply(client *c, void *wait) {
    const setslotWait *w = wait;
    clusterAddReply(c, w->reply ? sdsSlice(w->reply) : sliceStr("-NOREPLICAS Not enough good replicas to write."));
}

static void setslotForget(client *c, void *wait) {
    setslotWait *w = wait;
    debugAssert(w->c == c);
    unused(c);
    if (w->prev) w->prev->next = w->next;
    else waits.first = w->next;
    if (w->next) w->next->prev = w->prev;
    else waits.last = w->prev;
    if (!w->reply) {
        showSlot(w->set.slot, w->set.kind == CLUSTER_SET_OWNER);
        othersShow(w->set.slot);
    }
    sdsFree(w->name);
    sdsFree(w->reply);
    zfree(w);
}

static void setslotBegin(client *c, const clusterCommand *set, uint64_t timeout_ms) {
    static const blockOwner owner = {.reply = setslotReply, .forget = setslotForget, .any_role = true};
    setslotWait *w = zmalloc(sizeof(*w));
    *w = (setslotWait){.prev = waits.last,
                       .c = c,
                       .set = *set,
                       .name = sdsNewLen(set->name.ptr, set->name.len),
                       .offset = replStreamOffset(),
                       .deadline_ms = timeout_ms ? clockMonotonicMs() + timeout_ms : 0};
    if (set->name.ptr) w->set.name = sdsSlice(w->name);
    if (waits.last) waits.last->next = w;
    else waits.first = w;
    waits.last = w;
    waitWantAcks();
    blockOnOwner(c, &owner, w, 0);
}

static bool slotHasKeys(unsigned slot) {
    for (int i = 0; i < dbCount(); i++)
        if (dbSlotSize(dbGet(i), (int)slot)) return true;
    return false;
}

/* A server that has become a replica waits for none: the machine refuses the command. */
static bool isReady(const setslotWait *w) { return primaryLinkIsOn() || !replicasWithout(w->offset, VERSION_EXECUTES); }

static void executeWait(setslotWait *w) {
    w->set.slot_has_keys = slotHasKeys(w->set.slot);
    w->reply = clusterRunAlone(&w->set);
    if (w->reply[0] == '+') w->version = clusterVersionToSave();
    if (w->show || w->reply[0] != '+') showSlot(w->set.slot, true);
}

static void setslotPoll(uint64_t tried_version) {
    uint64_t now_ms = clockMonotonicMs();
    for (setslotWait *w = waits.first, *next; w; w = next) {
        if (!w->reply && isReady(w)) executeWait(w);
        next = w->next;
        bool ends = w->reply ? w->version <= tried_version : w->deadline_ms && now_ms >= w->deadline_ms;
        if (ends) blockingEnd(w->c, NULL);
    }
}

static void onAck(void) {
    if (waits.first) clusterWake();
}

void setslotInit(void) {
    clusterOnWakeup(setslotPoll);
    replicasOnAck(onAck);
}

/* ---- The command ---- */

/* Returns whether the stream may have SETSLOT: replicas that are too old have no use for it. */
static bool isForStream(void) { return replicasWithout(INT64_MAX, VERSION_EXECUTES) || !replicasWithout(INT64_MAX, 0); }

void setslotRun(client *c, clusterCommand *set, uint64_t timeout_ms) {
    set->slot_has_keys = slotHasKeys(set->slot);
    if (c->flags & CLIENT_PRIMARY) {
        clusterRun(c, set);
        return;
    }
    set->only_checks = true;
    sds reply = clusterRunAlone(set);
    set->only_checks = false;
    bool is_valid = reply[0] == '+';
    if (!is_valid) clusterAddReply(c, sdsSlice(reply));
    sdsFree(reply);
    if (!is_valid) return;
    if (isForStream()) appendWords(c->argv, c->argc);
    if (savedRepliesMayWait(c) && replicasWithout(INT64_MAX, VERSION_EXECUTES)) {
        setslotBegin(c, set, timeout_ms);
        return;
    }
    othersShow(set->slot);
    clusterRun(c, set);
}
