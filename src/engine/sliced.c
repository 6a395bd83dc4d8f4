/* sliced.c -- commands on a large value that run in slices, between which other clients are served.
 *
 * There is one such command at a time. Commands of other clients run between its slices, as any command does, with
 * three exceptions, which wait until it is over:
 *
 *   - writes to one of its keys, and commands that do not say which keys they write; reads of its keys as well if it
 *     asks for that (slicedAlone());
 *   - transactions, scripts, and commands of administrators, which may do anything;
 *   - a second command that would run in slices: it has only looked up its key then (SLICED_POSTPONED). So long
 *     commands run one after the other, in the order in which they came, and short ones between their slices.
 *
 * The value itself is referred to: a key that is evicted or expires meanwhile is deleted, and its value is freed at the
 * end. A command that is part of a transaction or of a script runs in one piece, and so does one that came from the
 * primary.
 *
 * Not here    how clients are served (yield.c).
 * Owns        a reference to the value.
 * Threads     main.
 * Invariants  1. While others are served the command has propagated nothing, and its client has looked at nothing but
 *                the value.
 * Cost        commands on small values: one comparison.
 * Tests       tests/engine/slices.tcl, tests/stress/slices.py
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "sliced.h"

#include "command_table.h"
#include "engine_settings.h"
#include "lazyfree.h"
#include "long_loop.h"
#include "lru.h"
#include "panic.h"
#include "propagate.h"
#include "setting.h"
#include "store_state.h"
#include "tracking.h"
#include "transaction_queue.h"
#include "yield.h"

#define SLICED_FROM 4096       /* about half a millisecond */
#define STEPS 64               /* elements between two readings of the clock, */
#define STEP_BYTES (64 * 1024) /* or bytes of the reply */

size_t sliced_from = SLICED_FROM;
uint32_t sliced_left;
size_t sliced_output;

static struct {
    client *c;   /* borrowed: the client whose command runs in slices; NULL: none */
    robj *value; /* counted; NULL: it reads none */
    bool loops;  /* loops of lower layers make steps, too */
    bool alone;  /* others may not read its keys either */
    uint64_t others_ns;
} sliced;

/* ---- Commands of others ---- */

static bool hasKeyOf(const parsedCommand *req, const requestKey *key) {
    for (uint32_t i = 0; i < req->nkeys; i++)
        if (req->keys[i].hash == key->hash) return true;
    return false;
}

/* Returns whether a command may change a pinned key, or read one that others may not read: in any database, as only the
 * names of keys are compared. */
static bool mayDisturb(const client *c, const parsedCommand *pinned) {
    if (!(c->cmd->flags & (CMD_WRITE | CMD_MAY_REPLICATE)) && !sliced.alone) return false;
    if (c->req->nkeys == 0) return c->cmd->flags & CMD_WRITE;
    for (uint32_t i = 0; i < pinned->nkeys; i++)
        if (hasKeyOf(c->req, &pinned->keys[i])) return true;
    return false;
}

static bool slicedPermits(const client *c) {
    const serverCommand *cmd = c->cmd;
    if (transactionIsExec(c) || cmd->acl_categories & ACL_CATEGORY_SCRIPTING) return false;
    if (cmd->flags & CMD_ADMIN && !(cmd->acl_categories & ACL_CATEGORY_CONNECTION)) return false;
    if (cmd->flags & (CMD_ALL_DBS | CMD_NO_ASYNC_LOADING)) return false;
    return !mayDisturb(c, sliced.c->req);
}

/* ---- The command ---- */

/* Its changes must not be those of a larger unit, and time passes for it. */
#define IN_ONE_PIECE (CLIENT_DENY_BLOCKING | CLIENT_FAKE | CLIENT_PRIMARY | CLIENT_REPLAYS | CLIENT_IMPORT_SOURCE)

static void pauseLoop(void);

static void startSlice(const client *c) {
    sliced_left = engine_settings.yield == YIELD_ALWAYS ? 1 : STEPS;
    sliced_output = c->output_bytes + STEP_BYTES;
    if (sliced.loops) longLoopSet(pauseLoop, sliced_left);
}

slicedStart slicedBeginLarge(client *c, robj *o) {
    assertMainRole();
    if (c->flags & IN_ONE_PIECE) return SLICED_NO;
    if (sliced.c) {
        c->flags |= CLIENT_POSTPONED;
        if (o) store_stats.keyspace_hits--; /* it will be looked up again */
        return SLICED_POSTPONED;
    }
    if (yieldIsServing() || (o && o->refcount >= OBJ_REFCOUNT_MAX)) return SLICED_NO;
    /* Events are added to a stream meanwhile, which may be the key that this command reads or creates. */
    if (propagate_targets & PROPAGATE_ENDS && (!o || o->type == OBJ_STREAM || c->cmd->flags & CMD_WRITE))
        return SLICED_NO;
    debugAssert(c->req && sliced.others_ns == 0 && !(c->flags & CLIENT_SLICED));
    if (c->flags & CLIENT_TRACKING) trackingRemember(c, c->db, c->req); /* its key may be deleted meanwhile */
    sliced.c = c;
    sliced.value = o;
    if (o) incrRefCount(o);
    startSlice(c);
    yieldLater();
    return SLICED_YES;
}

static void serveOthers(client *c) {
    static const yieldJob job = {.permits = slicedPermits};
    propagateOuter unit;
    if (!propagateSuspend(&unit)) return;
    int64_t now_ms = storeNowMs();
    bool frozen = lru_frozen & LRU_FROZEN_BY_CLIENT;
    monotime begin = clockTicks();
    lruSetFrozen(LRU_FROZEN_BY_CLIENT, false);
    storeSetNowMs(clockWallMs());
    yieldNow(&job);
    storeSetNowMs(now_ms);
    lruSetFrozen(LRU_FROZEN_BY_CLIENT, frozen);
    propagateResume(&unit);
    sliced.others_ns += clockTicksToNs(clockTicks() - begin);
    engine_stats.slices++;
    c->flags |= CLIENT_SLICED;
}

void slicedPause(client *c) {
    debugAssert(sliced.c == c);
    longLoopSet(NULL, 0); /* the commands of others have loops as well */
    if (yieldIsDue()) serveOthers(c);
    startSlice(c);
}

/* Called in a loop of the command that runs in slices. */
static void pauseLoop(void) { slicedPause(sliced.c); }

void slicedLoops(client *c) {
    debugAssert(sliced.c == c);
    sliced.loops = true;
    startSlice(c);
}

void slicedNoLoops(client *c) {
    debugAssert(sliced.c == c);
    unused(c);
    sliced.loops = false;
    longLoopSet(NULL, 0);
}

void slicedAlone(client *c) {
    debugAssert(sliced.c == c);
    unused(c);
    sliced.alone = true;
}

#define EFFORT_OF_NODE 16 /* a node of a list, which has many elements, in elements of a table */

size_t slicedElements(const robj *o) {
    const dict *elements = objectElements(o);
    return elements ? dictSize(elements) : objectFreeEffort(o) * EFFORT_OF_NODE;
}

void slicedEnd(client *c) {
    assertMainRole();
    debugAssert(sliced.c == c);
    if (c->flags & CLIENT_SLICED) engine_stats.commands_sliced++;
    robj *value = sliced.value;
    sliced.c = NULL;
    sliced.value = NULL;
    sliced.loops = sliced.alone = false;
    longLoopSet(NULL, 0);
    if (!value) return;
    if (value->refcount > 1) objectDropBorrowed(value); /* its key has it still, so it is not orphaned */
    else objectReleaseLazily(value);
}

uint64_t slicedTakeOthersNs(client *c) {
    uint64_t ns = sliced.others_ns;
    c->flags &= ~CLIENT_SLICED;
    sliced.others_ns = 0;
    return ns;
}

static bool applySettings(const char **err) {
    unused(err);
    if (!engine_settings.slice_large_values) sliced_from = SIZE_MAX;
    else sliced_from = engine_settings.yield == YIELD_ALWAYS ? 1 : SLICED_FROM;
    return true;
}

void slicedInit(void) {
    const char *err;
    settingOnApply("slice-large-values", applySettings);
    settingOnApply("yield", applySettings);
    applySettings(&err);
}
