/* propagate.c -- what others get of a change, as commands: put together, and given to sinks.
 *
 *   call(): handler runs --propagateInstead()--> form --.
 *           as it was sent ------------------------------+--> unit --> sinks
 *   store: removed, expired elements ----------> form --'
 *
 * A unit is streamed: its items go to the sinks as they come. Only the first one waits, until there is a second (then
 * MULTI goes before it) or the unit ends (then it goes bare). So whatever a transaction or a program does, no more than
 * one command is kept here, and a large argument is not copied.
 *
 * What is written is what the command did: with times that are absolute, with what it chose at random, and only with
 * the fields that were there for it. A field whose time is over stays in its hash until the expire cycle takes it, so a
 * follower has it, and does not know that it is hidden: a command that names such a field is never passed on as it was
 * sent.
 *
 * Not here    what stands for a command (its handler), SELECT and where bytes go (sinks).
 * Owns        the form: one buffer, which is kept.
 * Threads     main.
 * Invariants  1. Between MULTI and EXEC a target gets all items for it of one unit, and of no other.
 *             2. The form holds the first item while that waits; who begins another one sends it off before.
 * Cost        nobody listens: one test for a command. A command as it was sent: some dozens of instructions, and no
 *             allocation.
 * Tests       tests/unit/engine/propagate_test.c, tests/unit/commands/propagated_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "propagate.h"

#include "command_table.h"
#include "numbers.h"
#include "panic.h"
#include "reply_format.h"
#include "zmalloc.h"

#define HEADER_ROOM RESP_HEADER_MAX /* before the arguments, for how many there are: known when the form is done */
#define LONG_ARG 4096               /* from here on an argument is referred to */
#define LONG_WIRE 16384             /* what is longer does not wait to be the only item of a transaction */
#define KEPT_BYTES (64 * 1024)      /* of the form when a unit has ended */
#define TARGETS 3

uint32_t propagate_armed;

static const propagateSink *sinks[TARGETS]; /* borrowed */

/* A long argument that lies elsewhere: behind so many bytes of the form. */
typedef struct formRef {
    size_t at;
    slice bytes;
} formRef;

static struct {
    char *bytes; /* owns */
    size_t from, len, room;
    formRef *refs;    /* owns */
    slice *pieces;    /* owns: room for 2 * refs_room + 1 */
    size_t refs_room; /* in both */
    uint32_t ref_count;
    uint32_t argc, targets;
    int dbid;
    bool open;
} form;

static struct {
    unsigned depth; /* commands that run, one within the other; 0: none */
    bool waits;     /* the form is the first item */
    bool multi;     /* there has been a second one */
    uint32_t begun; /* targets that have had the MULTI */
    /* Of the running command. */
    uint32_t forced; /* targets that get it as it was sent, whatever it has done */
    bool said;       /* its handler has spoken */
    bool flushed;
    bool elements; /* fields whose time is over go: the form is their HDEL */
} unit;

/* ---- Sinks ---- */

static void noteTargets(void) {
    propagate_armed = 0;
    for (size_t i = 0; i < TARGETS; i++)
        if (sinks[i]) propagate_armed |= sinks[i]->target;
}

void propagateAddSink(const propagateSink *sink) {
    assertMainRole();
    serverAssert(!(propagate_armed & sink->target));
    size_t i = 0;
    while (sinks[i]) i++;
    sinks[i] = sink;
    noteTargets();
}

void propagateRemoveSink(const propagateSink *sink) {
    assertMainRole();
    for (size_t i = 0; i < TARGETS; i++)
        if (sinks[i] == sink) sinks[i] = NULL;
    unit.begun &= ~sink->target;
    noteTargets();
}

static void give(const propagateItem *item, uint32_t targets) {
    for (size_t i = 0; i < TARGETS; i++)
        if (sinks[i] && sinks[i]->target & targets) sinks[i]->take(item);
}

static void giveWord(slice wire, bool ends_unit, uint32_t targets) {
    const propagateItem item = {.dbid = -1, .ends_unit = ends_unit, .count = 1, .bytes = wire.len, .pieces = &wire};
    give(&item, targets);
}

static void giveWithinMulti(const propagateItem *item, uint32_t targets) {
    uint32_t fresh = targets & propagate_armed & ~unit.begun;
    if (fresh) giveWord(sliceStr("*1\r\n$5\r\nMULTI\r\n"), false, fresh);
    unit.begun |= fresh;
    give(item, targets);
}

/* ---- The form ---- */

static void makeRoom(size_t more) {
    if (likely(form.room - form.len >= more)) return;
    form.room = (form.len + more) * 2;
    form.bytes = zrealloc(form.bytes, form.room);
}

static void putBulk(slice bytes) {
    makeRoom(RESP_HEADER_MAX + bytes.len + 2);
    form.len += respHeader(form.bytes + form.len, '$', (long long)bytes.len);
    if (bytes.len) memcpy(form.bytes + form.len, bytes.ptr, bytes.len);
    form.len += bytes.len;
    form.bytes[form.len++] = '\r';
    form.bytes[form.len++] = '\n';
    form.argc++;
}

static void putReference(slice bytes) {
    if (form.ref_count == form.refs_room) {
        form.refs_room = form.refs_room ? form.refs_room * 2 : 8;
        form.refs = zrealloc(form.refs, form.refs_room * sizeof(*form.refs));
        form.pieces = zrealloc(form.pieces, (2 * form.refs_room + 1) * sizeof(*form.pieces));
    }
    makeRoom(RESP_HEADER_MAX + 2);
    form.len += respHeader(form.bytes + form.len, '$', (long long)bytes.len);
    form.refs[form.ref_count++] = (formRef){form.len, bytes};
    form.bytes[form.len++] = '\r';
    form.bytes[form.len++] = '\n';
    form.argc++;
}

/* The form as an item; `room` is for its only piece. */
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
    return item;
}

static void giveForm(bool within_multi) {
    slice piece;
    propagateItem item = formItem(&piece);
    item.ends_unit = !within_multi;
    if (within_multi) giveWithinMulti(&item, form.targets);
    else give(&item, form.targets);
    if (likely(form.room <= KEPT_BYTES)) return;
    zfree(form.bytes);
    form.bytes = NULL;
    form.len = form.room = 0;
}

/* ---- The unit ---- */

/* A second item comes, or the first one cannot wait. */
static void becomeMulti(void) {
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
    makeRoom(from);
    form.len = form.from = from;
}

static void beginForm(int dbid, uint32_t targets, slice name) {
    clearForm(dbid, targets, HEADER_ROOM);
    form.open = true;
    putBulk(name);
}

static void endForm(void) {
    char header[RESP_HEADER_MAX];
    size_t n = respHeader(header, '*', form.argc);
    form.open = false;
    form.from = HEADER_ROOM - n;
    memcpy(form.bytes + form.from, header, n);
    if (unit.depth == 0) giveForm(false);
    else if (unit.multi) giveForm(true);
    else unit.waits = true;
}

static void endUnit(void) {
    if (unit.waits) giveForm(false);
    if (unit.begun) giveWord(sliceStr("*1\r\n$4\r\nEXEC\r\n"), true, unit.begun);
    unit.waits = unit.multi = false;
    unit.begun = 0;
}

/* ---- What handlers say ---- */

void propagateSaid(void) {
    unit.said = true;
}

void propagateBegin(int dbid, slice name) {
    assertMainRole();
    unit.said = true;
    beginForm(dbid, PROPAGATE_ALL, name);
}

void propagateArg(slice bytes) {
    if (bytes.len >= LONG_ARG) putReference(bytes);
    else putBulk(bytes);
}

void propagateCopied(slice bytes) {
    putBulk(bytes);
}

void propagateWord(const char *word) {
    putBulk(sliceStr(word));
}

void propagateNumber(long long n) {
    char digits[LONG_STR_SIZE];
    putBulk(sliceOf(digits, ll2string(digits, n)));
}

void propagateArgs(const client *c, uint32_t first, uint32_t end) {
    for (uint32_t i = first; i < end; i++) propagateArg(c->argv[i]);
}

void propagateDone(void) {
    endForm();
}

void propagateExpired(const client *c, slice key) {
    if (!propagateInstead(c, store_settings.lazyfree_expire ? "UNLINK" : "DEL")) return;
    propagateArg(key);
    propagateDone();
}

void propagateAsSentTo(uint32_t targets) {
    if (propagateWanted()) unit.forced = targets;
}

/* ---- As it was sent ---- */

static void addWire(int dbid, slice wire, uint32_t targets) {
    propagateItem item = {.dbid = dbid, .count = 1, .bytes = wire.len, .pieces = &wire};
    bool first = !unit.waits && !unit.multi;
    if (first && unit.depth == 1) { /* and the only one */
        item.ends_unit = true;
        give(&item, targets);
        return;
    }
    if (first && wire.len <= LONG_WIRE) {
        clearForm(dbid, targets, 0);
        makeRoom(wire.len);
        memcpy(form.bytes, wire.ptr, wire.len);
        form.len = wire.len;
        unit.waits = true;
        return;
    }
    becomeMulti();
    giveWithinMulti(&item, targets);
}

/* The wire form that the client sent, or one that is made of its arguments: it has none, or its handler has put others
 * in their place. */
static void addAsSent(const client *c, uint32_t targets) {
    const parsedCommand *req = c->req;
    bool none = req->flags & (REQ_INLINE | REQ_SCATTERED) || !req->wire || req->wire_len == UINT32_MAX;
    if (likely(!none && c->argv == req->argv)) {
        addWire(dbId(c->db), sliceOf(req->wire, req->wire_len), targets);
        return;
    }
    beginForm(dbId(c->db), targets, c->argv[0]);
    propagateArgs(c, 1, c->argc);
    endForm();
}

void propagateCommandBegins(propagateFrame *outer) {
    *outer = (propagateFrame){store_stats.dirty, unit.forced, unit.said, unit.flushed};
    unit.depth++;
    unit.forced = 0;
    unit.said = unit.flushed = false;
}

void propagateCommandEnds(const client *c, const propagateFrame *outer) {
    bool changed = store_stats.dirty > outer->dirty || unit.flushed;
    debugAssert(!form.open);
    if (changed && !unit.said && c->cmd->flags & CMD_WRITE) addAsSent(c, PROPAGATE_ALL);
    else if (unlikely(unit.forced & propagate_armed)) addAsSent(c, unit.forced);
    if (--unit.depth == 0) endUnit();
    else if (unit.waits && form.ref_count) becomeMulti(); /* long arguments go with their command */
    unit.forced = outer->forced;
    unit.said = outer->said;
    unit.flushed = outer->flushed;
}

/* ---- What the store tells ---- */

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

/* All that go at once are one HDEL, and one unit with the key if it goes with the last. */
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
        unit.elements = false;
        if (--unit.depth == 0) endUnit();
    }
}

static void databaseFlushed(int dbid, bool async) {
    unused(dbid), unused(async);
    unit.flushed = true;
}

void propagateInit(void) {
    assertMainRole();
    storeObserveRemoved(keyRemoved);
    storeObserveElementsRemoved(elementRemoved);
    storeObserveFlushed(databaseFlushed);
}
