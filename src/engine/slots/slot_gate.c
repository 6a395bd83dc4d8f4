/* slot_gate.c -- whether a command of a cluster's client is served here: one decision for all kinds of commands.
 *
 * Not here    how the question is made of a client and its command (slot_check.c).
 * Owns        nothing: an answer depends on the question and the table only.
 * Threads     main.
 * Tests       tests/unit/engine/slots/slot_gate_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "slot_gate.h"

#include "engine_settings.h"
#include "panic.h"

static slotAnswer verdict(slotVerdict v) { return (slotAnswer){.verdict = v}; }

/* While the cluster is down, its nodes may be configured to serve reads, or shard channels. */
static slotVerdict decideDown(const slotQuestion *q) {
    bool allowed = q->shard_channels ? engine_settings.cluster_allow_pubsubshard_when_down
                                     : engine_settings.cluster_allow_reads_when_down;
    if (!allowed || q->waits) return SLOT_DOWN;
    return q->writes && !q->shard_channels ? SLOT_DOWN_READS : SLOT_SERVED;
}

slotAnswer slotDecide(const slotQuestion *q) {
    if (q->cross_slot) return verdict(SLOT_CROSS);
    if (q->slot < 0) return verdict(SLOT_SERVED);
    slotView v = slotTableLook((unsigned)q->slot);
    if (!v.owner) return verdict(SLOT_UNASSIGNED);
    /* A replica has the open slots of its primary, and only those of its clients that read are concerned. */
    bool visible = !v.replica || q->readonly;
    bool migrating = visible && v.migrating_to, importing = visible && v.importing_from;
    if ((migrating || importing) && q->changes_db) return verdict(SLOT_TRY_AGAIN);
    if (v.state != SLOTS_UP) {
        slotVerdict down = decideDown(q);
        if (down != SLOT_SERVED) return verdict(down);
    }
    if ((migrating || importing) && q->migrates && !v.replica) return verdict(SLOT_SERVED);
    bool admitted = importing && q->asking;
    slotKeys keys = {.present = 0};
    if ((migrating || admitted) && q->count && !q->shard_channels) keys = q->count(q->arg);
    if (migrating && keys.missing) {
        if (keys.present) return verdict(SLOT_TRY_AGAIN);
        return (slotAnswer){SLOT_ASK, v.migrating_to};
    }
    if (admitted) return verdict(keys.differ && keys.missing ? SLOT_TRY_AGAIN : SLOT_SERVED);
    bool may_read = q->shard_channels || (q->readonly && !q->writes);
    if (v.mine || (v.followed && may_read)) return verdict(SLOT_SERVED);
    return (slotAnswer){SLOT_MOVED, v.owner};
}

sds slotErrorText(slotAnswer answer, int slot, slotAsker asker) {
    const slotNode *n;
    switch (answer.verdict) {
    case SLOT_CROSS: return sdsNew("-CROSSSLOT Keys in request don't hash to the same slot");
    case SLOT_UNASSIGNED: return sdsNew("-CLUSTERDOWN Hash slot not served");
    case SLOT_TRY_AGAIN: return sdsNew("-TRYAGAIN Multiple keys request during rehashing of slot");
    case SLOT_DOWN: return sdsNew("-CLUSTERDOWN The cluster is down");
    case SLOT_DOWN_READS: return sdsNew("-CLUSTERDOWN The cluster is down and only accepts read commands");
    case SLOT_ASK:
    case SLOT_MOVED:
        n = slotTableNode(answer.node);
        return sdsCatPrintf(sdsEmpty(), "-%s %d %s:%d", answer.verdict == SLOT_ASK ? "ASK" : "MOVED", slot,
                            slotNodeEndpoint(n, asker), slotNodePort(n, asker));
    case SLOT_SERVED: break;
    }
    serverPanic("no error for an answer that is none");
}
