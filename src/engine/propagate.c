/* propagate.c -- passes changes on as commands: assembles them and gives them to sinks.
 *
 *   call(): handler runs --propagateInstead()--> buffer --.
 *           as it was sent --------------------------------+--> unit --> sinks
 *   store: removed, expired elements ----------> buffer --'
 *
 * A command is assembled in the buffer. A unit is streamed: its items go to the sinks as they come.
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
 * Owns        the buffer, which is reused.
 * Threads     main.
 * Invariants  1. Between MULTI and EXEC a target gets all items for it of one unit, and of no other.
 *             2. The buffer holds the first item while that waits; beginning another command writes it first.
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
#include "resp_format.h"
#include "zmalloc.h"

#define HEADER_BYTES RESP_HEADER_MAX /* before the arguments, for their number, which is known last */
#define LONG_ARG 4096                /* from this length on an argument is referenced instead of copied */
#define LONG_WIRE 16384              /* a longer command does not wait to be the only item, but begins a MULTI */
#define KEPT_REFS 256
#define KEPT_BYTES (64 * 1024) /* capacity of the override that is kept after it was propagated */
#define TARGETS 3

uint32_t propagate_targets;

static const propagateSink *sinks[TARGETS]; /* borrowed */
static size_t sink_count;

/* A long argument that is not in the buffer's bytes: it belongs after the first `at` of them. */
typedef struct longArg {
    size_t at;
    slice bytes;
} longArg;

static struct {
    char *bytes; /* owns */
    size_t from, len, capacity;
    longArg *refs;        /* owns */
    slice *pieces;        /* owns; capacity for 2 * refs_capacity + 1 */
    size_t refs_capacity; /* capacity of refs; see pieces */
    uint32_t ref_count;
    uint32_t argc, targets;
    int dbid;
    bool open;
} buffer;

static struct {
    unsigned depth; /* nested commands that run; 0: none */
    bool waits;     /* the buffer holds the first item */
    bool multi;     /* there is a second item */
    uint32_t begun; /* targets that have got the MULTI */
    /* Effects of the running command: OVERRIDDEN, FLUSHED, and targets that get it as it was sent, whether or not it
     * has changed anything. */
    uint32_t running;
    bool alone_each; /* each item of the running command is written alone, outside of a unit */
    bool elements;   /* expired hash fields are being removed: the buffer has their HDEL */
    bool held;       /* see propagateHold() */
    bool follows;    /* something is propagated after the running command, in its unit */
} unit;
enum { OVERRIDDEN = 1 << 8, FLUSHED = 1 << 9 }; /* OVERRIDDEN: by its handler */

static uint32_t limit = PROPAGATE_ALL;
static void (*on_command_end)(void); /* may be NULL */

uint32_t propagateLimit(uint32_t targets) {
    assertMainRole();
    uint32_t before = limit;
    limit = targets | PROPAGATE_CHECK;
    return before;
}

/* Asserts the invariants. Call where no command is being assembled. */
static void unitCheck(void) {
    debugAssert(!buffer.open && buffer.len <= buffer.capacity && (buffer.len == 0 || buffer.from <= buffer.len));
    debugAssert(!(unit.waits && unit.multi));
    debugAssert(unit.multi || !unit.begun);
    debugAssert(!(unit.begun & ~propagate_targets));
    debugAssert(unit.depth > 0 || !(unit.waits || unit.multi || unit.elements || unit.held));
    debugAssert(!unit.waits || buffer.len > buffer.from);
    debugAssert(buffer.ref_count <= buffer.refs_capacity);
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

void propagateLoseWrites(void) {
    assertMainRole();
    listIter it = listBegin(client_state.clients, false);
    for (const listNode *n = listNext(&it); n; n = listNext(&it)) {
        uint64_t *ends = writeEnd(listNodeValue(n), PROPAGATE_AOF);
        for (int i = 0; i < 2; i++)
            if (ends[i]) ends[i] = INT64_MAX;
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

static inline void sendItem(const propagateItem *item, uint32_t targets) {
    for (size_t i = 0; i < sink_count; i++)
        if (sinks[i]->target & targets) sinks[i]->take(item);
}

static void sendMarker(slice wire, bool ends_unit, uint32_t targets) {
    const propagateItem item = {.dbid = -1, .ends_unit = ends_unit, .count = 1, .bytes = wire.len, .pieces = &wire};
    sendItem(&item, targets);
}

static void sendWithinMulti(const propagateItem *item, uint32_t targets) {
    uint32_t without_multi = targets & propagate_targets & ~unit.begun;
    if (without_multi) sendMarker(sliceStr("*1\r\n$5\r\nMULTI\r\n"), false, without_multi);
    unit.begun |= without_multi;
    sendItem(item, targets);
}

/* ---- The buffer: the command being assembled ---- */

static void propagateReserve(size_t more) {
    if (likely(buffer.capacity - buffer.len >= more)) return;
    buffer.capacity = (buffer.len + more) * 2;
    buffer.bytes = zrealloc(buffer.bytes, buffer.capacity);
}

static void putBulk(slice bytes) {
    propagateReserve(RESP_BULK_EXTRA + bytes.len);
    buffer.len += respBulk(buffer.bytes + buffer.len, bytes);
    buffer.argc++;
}

static void putReference(slice bytes) {
    if (buffer.ref_count == buffer.refs_capacity) {
        buffer.refs = zgrowArray(buffer.refs, buffer.ref_count, &buffer.refs_capacity, sizeof(*buffer.refs));
        buffer.pieces = zrealloc(buffer.pieces, (2 * buffer.refs_capacity + 1) * sizeof(*buffer.pieces));
    }
    propagateReserve(RESP_HEADER_MAX + 2);
    buffer.len += respHeader(buffer.bytes + buffer.len, '$', (long long)bytes.len);
    buffer.refs[buffer.ref_count++] = (longArg){buffer.len, bytes};
    buffer.bytes[buffer.len++] = '\r';
    buffer.bytes[buffer.len++] = '\n';
    buffer.argc++;
}

/* Returns the buffered command as an item. `single` is used if it has only one piece. */
static propagateItem bufferItem(slice *single) {
    slice *pieces = buffer.ref_count ? buffer.pieces : single;
    size_t from = buffer.from;
    propagateItem item = {.dbid = buffer.dbid, .bytes = buffer.len - from, .pieces = pieces};
    for (uint32_t i = 0; i < buffer.ref_count; i++) {
        const longArg *r = &buffer.refs[i];
        pieces[item.count++] = sliceOf(buffer.bytes + from, r->at - from);
        pieces[item.count++] = r->bytes;
        item.bytes += r->bytes.len;
        from = r->at;
    }
    pieces[item.count++] = sliceOf(buffer.bytes + from, buffer.len - from);
    debugAssert(item.count <= 2 * buffer.ref_count + 1);
    return item;
}

static void sendBuffered(bool within_multi) {
    slice piece;
    propagateItem item = bufferItem(&piece);
    item.ends_unit = !within_multi;
    if (within_multi) sendWithinMulti(&item, buffer.targets);
    else sendItem(&item, buffer.targets);
    if (unlikely(buffer.capacity > KEPT_BYTES)) {
        zfree(buffer.bytes);
        buffer.bytes = NULL;
        buffer.len = buffer.capacity = 0;
    }
    if (unlikely(buffer.refs_capacity > KEPT_REFS)) {
        zfree(buffer.refs);
        zfree(buffer.pieces);
        buffer.refs = NULL;
        buffer.pieces = NULL;
        buffer.refs_capacity = buffer.ref_count = 0;
    }
}

/* ---- The unit ---- */

/* Makes the unit a transaction: a second item comes, or the first one cannot wait. */
static __attribute__((noinline)) void becomeMulti(void) {
    debugAssert(unit.depth > 0);
    unit.multi = true;
    if (unit.waits) sendBuffered(true);
    unit.waits = false;
}

static void clearBuffer(int dbid, uint32_t targets, size_t from) {
    serverAssert(!buffer.open);
    if (unit.waits) becomeMulti();
    buffer.dbid = dbid;
    buffer.targets = targets;
    buffer.argc = buffer.ref_count = 0;
    buffer.len = 0;
    propagateReserve(from);
    buffer.len = buffer.from = from;
}

static void beginCommand(int dbid, uint32_t targets, slice name) {
    clearBuffer(dbid, targets, HEADER_BYTES);
    buffer.open = true;
    putBulk(name);
}

static void endCommand(void) {
    char header[RESP_HEADER_MAX];
    debugAssert(buffer.open && buffer.argc > 0);
    size_t n = respHeader(header, '*', buffer.argc);
    buffer.open = false;
    buffer.from = HEADER_BYTES - n;
    memcpy(buffer.bytes + buffer.from, header, n);
    if (unit.depth == 0 || (unit.depth == 1 && unit.alone_each)) sendBuffered(false);
    else if (unit.multi) sendBuffered(true);
    else unit.waits = true;
}

static __attribute__((noinline)) void endUnit(void) {
    if (unit.waits) sendBuffered(false);
    if (unit.begun) sendMarker(sliceStr("*1\r\n$4\r\nEXEC\r\n"), true, unit.begun);
    unit.waits = unit.multi = false;
    unit.begun = 0;
    unitCheck();
}

/* ---- For handlers ---- */

void propagateOverridden(void) { unit.running |= OVERRIDDEN; }

void propagateBegin(int dbid, slice name) {
    assertMainRole();
    unit.running |= OVERRIDDEN;
    beginCommand(dbid, limit, name);
}

void propagateArg(slice bytes) {
    debugAssert(buffer.open);
    if (bytes.len >= LONG_ARG) putReference(bytes);
    else putBulk(bytes);
}

void propagateCopied(slice bytes) {
    debugAssert(buffer.open);
    putBulk(bytes);
}

void propagateWord(const char *word) {
    debugAssert(buffer.open);
    putBulk(sliceStr(word));
}

void propagateNumber(long long n) {
    char digits[LONG_STR_SIZE];
    putBulk(sliceOf(digits, ll2string(digits, n)));
}

void propagateArgs(const client *c, uint32_t first, uint32_t end) {
    debugAssert(buffer.open && end <= c->argc);
    for (uint32_t i = first; i < end; i++) propagateArg(c->argv[i]);
}

void propagateDone(void) { endCommand(); }

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
        sendWithinMulti(item, targets);
        return;
    }
    debugAssert(unit.depth > 0 && item->count == 1);
    clearBuffer(item->dbid, targets, 0);
    propagateReserve(wire.len);
    memcpy(buffer.bytes, wire.ptr, wire.len);
    buffer.len = wire.len;
    unit.waits = true;
}

/* Adds a command that has no wire form, or whose handler has replaced its arguments. */
static __attribute__((noinline)) void addArguments(const client *c, uint32_t targets) {
    beginCommand(dbId(c->db), targets, c->argv[0]);
    propagateArgs(c, 1, c->argc);
    endCommand();
}

static void addAsSent(const client *c, uint32_t targets) {
    const parsedCommand *req = c->req;
    bool none = req->flags & (REQ_INLINE | REQ_SCATTERED) || !req->wire || req->wire_len == UINT32_MAX;
    if (unlikely(none || c->argv != req->argv)) {
        addArguments(c, targets);
        return;
    }
    const slice wire = {req->wire, req->wire_len};
    const bool alone = unit.depth == 1 && !unit.waits && !unit.multi && !unit.follows;
    const propagateItem item = {dbId(c->db), alone, 1, wire.len, &wire};
    if (likely(alone)) sendItem(&item, targets);
    else addWire(&item, targets);
}

void propagateRun(client *c, void (*run)(client *c)) {
    if (unlikely(unit.held)) on_command_end();
    debugAssert(!unit.held);
    long long dirty = store_stats.dirty;
    unitCheck();
    uint32_t outer = unit.running;
    if (unit.depth++ == 0) unit.alone_each = c->cmd->flags & CMD_ARBITRARY_KEYS;
    unit.running = 0;
    recordsExpectNext(c->req);
    run(c);
    debugAssert(!buffer.open);
    uint32_t targets = unit.running & PROPAGATE_ALL;
    bool changed = store_stats.dirty > dirty || unit.running & FLUSHED;
    if (changed && !(unit.running & OVERRIDDEN) && c->cmd->flags & CMD_WRITE) targets = PROPAGATE_ALL;
    targets &= limit;
    if (targets & propagate_targets) addAsSent(c, targets);
    if (unlikely(on_command_end != NULL)) {
        on_command_end();
        unit.follows = false;
    }
    if (--unit.depth > 0) {
        if (unit.waits && buffer.ref_count) becomeMulti(); /* long arguments last only as long as their command */
    } else if (unit.waits || unit.multi) {
        endUnit();
    }
    unit.running = outer;
    unitCheck();
}

bool propagateSuspend(propagateOuter *outer) {
    assertMainRole();
    unitCheck();
    if (unit.waits || unit.multi || unit.elements || unit.held || unit.follows || buffer.open) return false;
    *outer = (propagateOuter){unit.depth, unit.running, unit.alone_each};
    unit.depth = 0;
    unit.running = 0;
    return true;
}

void propagateResume(const propagateOuter *outer) {
    unitCheck();
    debugAssert(unit.depth == 0);
    unit.depth = outer->depth;
    unit.running = outer->running;
    unit.alone_each = outer->alone_each;
}

/* ---- Beside the command ---- */

void propagateOnCommandEnd(void (*fn)(void)) {
    assertMainRole();
    debugAssert(!unit.held);
    on_command_end = fn;
    if (fn) propagate_targets |= PROPAGATE_ENDS;
    else propagate_targets &= ~PROPAGATE_ENDS;
}

void propagateServer(int dbid, const char *name) {
    assertMainRole();
    beginCommand(dbid, PROPAGATE_ALL, sliceStr(name));
}

void propagateHold(void) {
    assertMainRole();
    if (unit.held) return;
    if (unit.depth > unit.elements) {
        unit.follows = true;
        return;
    }
    unit.held = true;
    unit.alone_each = false;
    unit.depth++;
}

void propagateRelease(void) {
    if (!unit.held) return;
    unit.held = false;
    debugAssert(unit.depth == 1);
    if (--unit.depth == 0) endUnit();
}

bool propagateIsHeld(void) { return unit.held; }

/* ---- Removals by the store ---- */

static void beginRemoval(serverDb *db, const char *name, slice key) {
    beginCommand(dbId(db), PROPAGATE_ALL, sliceStr(name));
    putBulk(key);
}

static void keyRemoved(serverDb *db, slice key, bool evicted) {
    if (!propagateWanted()) return;
    if (unit.elements && buffer.open) endCommand();
    bool lazily = evicted ? store_settings.lazyfree_eviction : store_settings.lazyfree_expire;
    beginRemoval(db, lazily ? "UNLINK" : "DEL", key);
    endCommand();
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
        if (buffer.open) endCommand();
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
