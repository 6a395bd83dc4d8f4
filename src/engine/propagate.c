/* propagate.c -- passes changes on as commands: assembles them and gives them to sinks.
 *
 *   call(): handler runs --propagateInstead()--> form --.
 *           as it was sent ------------------------------+--> unit --> sinks
 *   store: removed, expired elements ----------> form --'
 *
 * The form is the buffer in which a command is assembled. A unit is streamed: its items go to the sinks as they come.
 * Only the first one waits, until there is a second (then MULTI precedes it) or the unit ends (then it is written
 * alone). So whatever a transaction or a script does, no more than one command is buffered here, and a large argument
 * is not copied.
 *
 * SCAN and RANDOMKEY are no unit: the removals of expired keys that they find are independent of each other, and each
 * is written alone (CMD_ARBITRARY_KEYS).
 *
 * The effect of a command is written: with absolute times, with the results of random choices, and only with the hash
 * fields that existed for it. An expired field stays in its hash until the expire cycle removes it. A replica has it as
 * well and does not know that it is hidden, so a command that names such a field is never propagated as it was sent.
 *
 * Not here    what replaces a command (its handler), SELECT and where bytes go (sinks).
 * Owns        the form: one buffer, which is reused.
 * Threads     main.
 * Invariants  1. Between MULTI and EXEC a target gets all items for it of one unit, and of no other.
 *             2. The form holds the first item while that waits; beginning another command writes it first.
 *             3. While no command runs no unit is open: no item waits, and each MULTI was followed by its EXEC.
 * Cost        without a sink, one test for a command. A command as it was sent: some dozens of instructions, and no
 *             allocation.
 * Tests       tests/unit/engine/propagate_test.c, tests/unit/commands/propagated_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "propagate.h"

#include "command_table.h"
#include "numbers.h"
#include "panic.h"
#include "record_prefetch.h"
#include "request_format.h"
#include "zmalloc.h"

#define HEADER_ROOM RESP_HEADER_MAX /* before the arguments, for their number, which is known last */
#define LONG_ARG 4096               /* from this length on an argument is referenced instead of copied */
#define LONG_WIRE 16384             /* a longer command does not wait to be the only item, but begins a MULTI */
#define KEPT_REFS 256
#define KEPT_BYTES (64 * 1024) /* capacity of the override that is kept after it was propagated */
#define TARGETS 3

uint32_t propagate_targets;

static const propagateSink *sinks[TARGETS]; /* borrowed */
static size_t sink_count;

/* A long argument that is not in the form's bytes: it belongs after the first `at` of them. */
typedef struct formRef {
    size_t at;
    slice bytes;
} formRef;

static struct {
    char *bytes; /* owns */
    size_t from, len, room;
    formRef *refs;    /* owns */
    slice *pieces;    /* owns; capacity for 2 * refs_room + 1 */
    size_t refs_room; /* capacity of refs; see pieces */
    uint32_t ref_count;
    uint32_t argc, targets;
    int dbid;
    bool open;
} form;

static struct {
    unsigned depth; /* nested commands that run; 0: none */
    bool waits;     /* the form holds the first item */
    bool multi;     /* there is a second item */
    uint32_t begun; /* targets that have got the MULTI */
    /* Effects of the running command: SAID, FLUSHED, and targets that get it as it was sent, whether or not it has
     * changed anything. */
    uint32_t running;
    bool loose;    /* each item of the running command is written alone, outside of a unit */
    bool elements; /* expired hash fields are being removed: the form is their HDEL */
} unit;
enum { SAID = 1 << 8, FLUSHED = 1 << 9 }; /* SAID: its handler has overridden it */

static uint32_t limit = PROPAGATE_ALL;

uint32_t propagateLimit(uint32_t targets) {
    assertMainRole();
    uint32_t before = limit;
    limit = targets | PROPAGATE_CHECK;
    return before;
}

/* Asserts the invariants. Call where the form is complete. */
static void unitCheck(void) {
    debugAssert(!form.open && form.len <= form.room && (form.len == 0 || form.from <= form.len));
    debugAssert(!(unit.waits && unit.multi));
    debugAssert(unit.multi || !unit.begun);
    debugAssert(!(unit.begun & ~propagate_targets));
    debugAssert(unit.depth > 0 || !(unit.waits || unit.multi || unit.elements));
    debugAssert(!unit.waits || form.len > form.from);
    debugAssert(form.ref_count <= form.refs_room);
}

/* ---- Sinks ---- */

static size_t slot; /* const after startup */

static uint64_t *writeEnd(const client *c, uint32_t target) {
    debugAssert(target == PROPAGATE_AOF || target == PROPAGATE_REPLICAS);
    return (uint64_t *)clientSlot(c, slot) + (target == PROPAGATE_REPLICAS);
}

void propagateNoteWrite(client *c, uint32_t target, uint64_t offset) {
    assertMainRole();
    *writeEnd(c, target) = offset;
}

uint64_t propagateWriteEnd(const client *c, uint32_t target) {
    assertMainRole();
    return *writeEnd(c, target);
}

static void loseWrite(const client *c, uint32_t target) {
    if (*writeEnd(c, target)) *writeEnd(c, target) = INT64_MAX;
}

void propagateLoseWrites(void) {
    assertMainRole();
    listIter it = listBegin(client_state.clients, false);
    for (const listNode *n = listNext(&it); n; n = listNext(&it)) {
        loseWrite(listNodeValue(n), PROPAGATE_AOF);
        loseWrite(listNodeValue(n), PROPAGATE_REPLICAS);
    }
}

void propagateAddSink(const propagateSink *sink) {
    assertMainRole();
    serverAssert(!(propagate_targets & sink->target) && sink_count < TARGETS);
    sinks[sink_count++] = sink;
    propagate_targets |= sink->target;
}

void propagateRemoveSink(const propagateSink *sink) {
    assertMainRole();
    serverAssert(propagate_targets & sink->target);
    size_t i = 0;
    while (sinks[i] != sink) i++;
    debugAssert(i < sink_count);
    sinks[i] = sinks[--sink_count];
    propagate_targets &= ~sink->target;
    unit.begun &= ~sink->target;
}

static inline void give(const propagateItem *item, uint32_t targets) {
    for (size_t i = 0; i < sink_count; i++)
        if (sinks[i]->target & targets) sinks[i]->take(item);
}

static void giveWord(slice wire, bool ends_unit, uint32_t targets) {
    const propagateItem item = {.dbid = -1, .ends_unit = ends_unit, .count = 1, .bytes = wire.len, .pieces = &wire};
    give(&item, targets);
}

static void giveWithinMulti(const propagateItem *item, uint32_t targets) {
    uint32_t fresh = targets & propagate_targets & ~unit.begun;
    if (fresh) giveWord(sliceStr("*1\r\n$5\r\nMULTI\r\n"), false, fresh);
    unit.begun |= fresh;
    give(item, targets);
}

/* ---- The form: the command being assembled ---- */

static void propagateReserve(size_t more) {
    if (likely(form.room - form.len >= more)) return;
    form.room = (form.len + more) * 2;
    form.bytes = zrealloc(form.bytes, form.room);
}

static void putBulk(slice bytes) {
    propagateReserve(RESP_BULK_EXTRA + bytes.len);
    form.len += respBulk(form.bytes + form.len, bytes);
    form.argc++;
}

static void putReference(slice bytes) {
    if (form.ref_count == form.refs_room) {
        form.refs = zgrowArray(form.refs, form.ref_count, &form.refs_room, sizeof(*form.refs));
        form.pieces = zrealloc(form.pieces, (2 * form.refs_room + 1) * sizeof(*form.pieces));
    }
    propagateReserve(RESP_HEADER_MAX + 2);
    form.len += respHeader(form.bytes + form.len, '$', (long long)bytes.len);
    form.refs[form.ref_count++] = (formRef){form.len, bytes};
    form.bytes[form.len++] = '\r';
    form.bytes[form.len++] = '\n';
    form.argc++;
}

/* Returns the form as an item. `room` provides the piece if there is only one. */
static propagateItem formItem(slice *room) {
    slice *pieces = form.ref_count ? form.pieces : room;
    size_t from = form.from;
    propagateItem item = {.dbid = form.dbid, .bytes = form.len - from, .pieces = pieces};
    for (uint32_t i = 0; i < form.ref_count; i++) {
        const formRef *r = &form.refs[i];
        pieces[item.count++] = sliceOf(form.bytes + from, r->at - from);
        pieces[item.count++] = r->bytes;
        item.bytes += r->bytes.len;
        from = r->at;
    }
    pieces[item.count++] = sliceOf(form.bytes + from, form.len - from);
    debugAssert(item.count <= 2 * form.ref_count + 1);
    return item;
}

static void giveForm(bool within_multi) {
    slice piece;
    propagateItem item = formItem(&piece);
    item.ends_unit = !within_multi;
    if (within_multi) giveWithinMulti(&item, form.targets);
    else give(&item, form.targets);
    if (unlikely(form.room > KEPT_BYTES)) {
        zfree(form.bytes);
        form.bytes = NULL;
        form.len = form.room = 0;
    }
    if (unlikely(form.refs_room > KEPT_REFS)) {
        zfree(form.refs);
        zfree(form.pieces);
        form.refs = NULL;
        form.pieces = NULL;
        form.refs_room = form.ref_count = 0;
    }
}

/* ---- The unit ---- */

/* Makes the unit a transaction: a second item comes, or the first one cannot wait. */
static __attribute__((noinline)) void becomeMulti(void) {
    debugAssert(unit.depth > 0);
    unit.multi = true;
    if (unit.waits) giveForm(true);
    unit.waits = false;
}

static void clearForm(int dbid, uint32_t targets, size_t from) {
    serverAssert(!form.open);
    if (unit.waits) becomeMulti();
    form.dbid = dbid;
    form.targets = targets;
    form.argc = form.ref_count = 0;
    form.len = 0;
    propagateReserve(from);
    form.len = form.from = from;
}

static void beginForm(int dbid, uint32_t targets, slice name) {
    clearForm(dbid, targets, HEADER_ROOM);
    form.open = true;
    putBulk(name);
}

static void endForm(void) {
    char header[RESP_HEADER_MAX];
    debugAssert(form.open && form.argc > 0);
    size_t n = respHeader(header, '*', form.argc);
    form.open = false;
    form.from = HEADER_ROOM - n;
    memcpy(form.bytes + form.from, header, n);
    if (unit.depth == 0 || (unit.depth == 1 && unit.loose)) giveForm(false);
    else if (unit.multi) giveForm(true);
    else unit.waits = true;
}

static __attribute__((noinline)) void endUnit(void) {
    if (unit.waits) giveForm(false);
    if (unit.begun) giveWord(sliceStr("*1\r\n$4\r\nEXEC\r\n"), true, unit.begun);
    unit.waits = unit.multi = false;
    unit.begun = 0;
    unitCheck();
}

/* ---- For handlers ---- */

void propagateOverridden(void) { unit.running |= SAID; }

void propagateBegin(int dbid, slice name) {
    assertMainRole();
    unit.running |= SAID;
    beginForm(dbid, limit, name);
}

void propagateArg(slice bytes) {
    debugAssert(form.open);
    if (bytes.len >= LONG_ARG) putReference(bytes);
    else putBulk(bytes);
}

void propagateCopied(slice bytes) {
    debugAssert(form.open);
    putBulk(bytes);
}

void propagateWord(const char *word) {
    debugAssert(form.open);
    putBulk(sliceStr(word));
}

void propagateNumber(long long n) {
    char digits[LONG_STR_SIZE];
    putBulk(sliceOf(digits, ll2string(digits, n)));
}

void propagateArgs(const client *c, uint32_t first, uint32_t end) {
    debugAssert(form.open && end <= c->argc);
    for (uint32_t i = first; i < end; i++) propagateArg(c->argv[i]);
}

void propagateDone(void) { endForm(); }

void propagateExpired(const client *c, slice key) {
    if (!propagateInstead(c, store_settings.lazyfree_expire ? "UNLINK" : "DEL")) return;
    propagateArg(key);
    propagateDone();
}

void propagateAsSentTo(uint32_t targets) {
    if (propagateWanted()) unit.running |= targets;
}

/* ---- As it was sent ---- */

/* Adds a command as it was sent to a unit of several. The first item waits until there is another one. */
static __attribute__((noinline)) void addWire(const propagateItem *item, uint32_t targets) {
    slice wire = item->pieces[0];
    if (unit.waits || unit.multi || wire.len > LONG_WIRE) {
        becomeMulti();
        giveWithinMulti(item, targets);
        return;
    }
    debugAssert(unit.depth > 0 && item->count == 1);
    clearForm(item->dbid, targets, 0);
    propagateReserve(wire.len);
    memcpy(form.bytes, wire.ptr, wire.len);
    form.len = wire.len;
    unit.waits = true;
}

/* Adds a command that has no wire form, or whose handler has replaced its arguments. */
static __attribute__((noinline)) void addArguments(const client *c, uint32_t targets) {
    beginForm(dbId(c->db), targets, c->argv[0]);
    propagateArgs(c, 1, c->argc);
    endForm();
}

static void addAsSent(const client *c, uint32_t targets) {
    const parsedCommand *req = c->req;
    bool none = req->flags & (REQ_INLINE | REQ_SCATTERED) || !req->wire || req->wire_len == UINT32_MAX;
    if (unlikely(none || c->argv != req->argv)) {
        addArguments(c, targets);
        return;
    }
    const slice wire = {req->wire, req->wire_len};
    const bool alone = unit.depth == 1 && !unit.waits && !unit.multi;
    const propagateItem item = {dbId(c->db), alone, 1, wire.len, &wire};
    if (likely(alone)) give(&item, targets);
    else addWire(&item, targets);
}

void propagateRun(client *c, void (*run)(client *c)) {
    long long dirty = store_stats.dirty;
    unitCheck();
    uint32_t outer = unit.running;
    if (unit.depth++ == 0) unit.loose = c->cmd->flags & CMD_ARBITRARY_KEYS;
    unit.running = 0;
    recordsExpectNext(c->req);
    run(c);
    debugAssert(!form.open);
    uint32_t targets = unit.running & PROPAGATE_ALL;
    bool changed = store_stats.dirty > dirty || unit.running & FLUSHED;
    if (changed && !(unit.running & SAID) && c->cmd->flags & CMD_WRITE) targets = PROPAGATE_ALL;
    targets &= limit;
    if (targets & propagate_targets) addAsSent(c, targets);
    if (--unit.depth > 0) {
        if (unit.waits && form.ref_count) becomeMulti(); /* long arguments last only as long as their command */
    } else if (unit.waits || unit.multi) {
        endUnit();
    }
    unit.running = outer;
    unitCheck();
}

/* ---- Removals by the store ---- */

static void beginRemoval(serverDb *db, const char *name, slice key) {
    beginForm(dbId(db), PROPAGATE_ALL, sliceStr(name));
    putBulk(key);
}

static void keyRemoved(serverDb *db, slice key, bool evicted) {
    if (!propagateWanted()) return;
    if (unit.elements && form.open) endForm();
    bool lazily = evicted ? store_settings.lazyfree_eviction : store_settings.lazyfree_expire;
    beginRemoval(db, lazily ? "UNLINK" : "DEL", key);
    endForm();
}

/* Elements that are removed together become one HDEL; if the key is removed with the last of them, both are one
 * unit. */
static void elementRemoved(serverDb *db, slice key, const slice *element) {
    if (element && propagateWanted()) {
        if (!unit.elements) {
            unit.elements = true;
            unit.depth++;
            beginRemoval(db, "HDEL", key);
        }
        putBulk(*element);
    } else if (!element && unit.elements) {
        if (form.open) endForm();
        debugAssert(unit.depth > 0);
        unit.elements = false;
        if (--unit.depth == 0) endUnit();
    }
}

static void databaseFlushed(int dbid, bool async) {
    unused(dbid), unused(async);
    unit.running |= FLUSHED;
}

void propagateInit(void) {
    assertMainRole();
    slot = clientSlotRegister(2 * sizeof(uint64_t));
    storeObserveRemoved(keyRemoved);
    storeObserveElementsRemoved(elementRemoved);
    storeObserveFlushed(databaseFlushed);
}
