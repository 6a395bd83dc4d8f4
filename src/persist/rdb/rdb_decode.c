/* rdb_decode.c -- decodes the keys of a piece of a snapshot into entries for the keyspace, and reads AUX fields.
 *
 * Not here    where keys begin and end (rdb_scan.c); how values are read (object/rdb_value.h); which thread decodes
 *             (rdb_pipeline.c).
 * Owns        entries, until the code that inserts them has counted them in `taken`.
 * Threads     any.
 * Invariants  1. A value that does not end where the scanner found its end is malformed, so decoder and scanner never
 *                disagree unnoticed.
 *             2. The result has the keys before a fault and nothing after it.
 * Tests       tests/unit/persist/rdb/rdb_load_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "rdb_decode.h"

#include "hash.h"
#include "lru.h"
#include "panic.h"
#include "rdb_format.h"
#include "rdb_value.h"
#include "zmalloc.h"

#include <stdlib.h>
#include <strings.h>

/* ---- Faults ------------------------------------------------------------------------------------------ */

void rdbFaultAt(rdbFault *f, rdbFaultKind kind, const rdbPiece *piece, const rdbItem *item) {
    f->kind = kind;
    f->offset = piece->offset + item->at - 1;
    f->reached = piece->offset + item->end;
    f->db = item->db;
    f->type = -1;
    f->step = item->kind == RDB_ITEM_KEY   ? RDB_STEP_VALUE
              : item->kind == RDB_ITEM_AUX ? RDB_STEP_AUX
              : item->kind == RDB_ITEM_DB  ? RDB_STEP_LENGTH
                                           : RDB_STEP_TYPE;
    if (item->kind != RDB_ITEM_KEY) return;
    f->type = item->type;
    rdbReader r = {piece->bytes + item->at, piece->bytes + item->value};
    rdbText name;
    if (!rdbReadText(&r, &name)) return;
    f->key = sdsFromSlice(name.text);
    rdbTextFree(&name);
}

/* ---- One key ------------------------------------------------------------------------------------------- */

static bool addMark(rdbDecoded *out, size_t item) {
    out->marks = zgrowArray(out->marks, out->mark_count, &out->marks_capacity, sizeof(*out->marks));
    out->marks[out->mark_count++] = (rdbMark){item, out->count};
    return true;
}

static bool rdbDecodeFault(const rdbPiece *piece, const rdbItem *item, rdbDecoded *out, rdbFaultKind kind) {
    rdbFaultAt(&out->fault, kind, piece, item);
    return false;
}

static bool moduleFault(const rdbPiece *piece, const rdbItem *item, rdbDecoded *out) {
    rdbReader r = {piece->bytes + item->value, piece->bytes + item->end};
    if (!rdbReadCount(&r, &out->fault.number)) return rdbDecodeFault(piece, item, out, RDB_FAULT_VALUE);
    return rdbDecodeFault(piece, item, out, RDB_FAULT_MODULE);
}

/* Handles a value that could not be read: an empty one, or one to leave out, is marked; anything else is a fault. */
static bool onUnreadable(const rdbPiece *piece, size_t i, rdbReader value, bool leave_out, rdbDecoded *out) {
    const rdbItem *item = &piece->items[i];
    if (item->type == RDB_TYPE_MODULE)
        return leave_out && item->is_foreign ? addMark(out, i) : moduleFault(piece, item, out);
    if (rdbValueIsEmpty(value, item->type)) return addMark(out, i);
    return rdbDecodeFault(piece, item, out, RDB_FAULT_VALUE);
}

/* Returns true, and frees the entry, if it has expired or all its fields have. */
static bool dropIfExpired(robj *o, const rdbItem *item, const rdbDecodeOptions *options, bool *has_ttls,
                          rdbDecoded *out) {
    bool empty;
    if (item->expire_ms != -1 && item->expire_ms < options->drop_before_ms) {
        out->expired++;
        objectFree(o);
        return true;
    }
    if (likely(o->type == OBJ_STRING) || !objectHasTtls(o)) return false;
    *has_ttls = true;
    if (objectExpireElements(o, options->drop_before_ms, SIZE_MAX, &empty, NULL, NULL) == 0) return false;
    *has_ttls = !empty && objectHasTtls(o);
    if (!empty) return false;
    out->fields_expired++;
    objectFree(o);
    return true;
}

static int64_t useOf(const rdbItem *item, bool lfu) {
    if (lfu) return item->has_freq ? item->freq : -1;
    return item->has_idle ? (int64_t)(item->number & INT64_MAX) : -1;
}

static bool decodeKey(const rdbPiece *piece, size_t i, const rdbDecodeOptions *options, uint32_t fresh,
                      rdbDecoded *out) {
    const rdbItem *item = &piece->items[i];
    rdbReader name = {piece->bytes + item->at, piece->bytes + item->value};
    rdbReader value = {name.end, piece->bytes + item->end}, begin = value;
    rdbText key;
    if (!rdbReadText(&name, &key)) return rdbDecodeFault(piece, item, out, RDB_FAULT_VALUE);
    robj *o = rdbReadValueOf(&value, item->type, key.text, item->expire_ms != -1);
    uint64_t hash = keyHash(key.text);
    rdbTextFree(&key);
    if (unlikely(!o)) return onUnreadable(piece, i, begin, options->leave_out, out);
    if (unlikely(value.p != value.end)) {
        objectFree(o);
        return rdbDecodeFault(piece, item, out, RDB_FAULT_VALUE);
    }
    loadedKey k = {.hash = hash, .use = useOf(item, options->lfu), .has_expire = item->expire_ms != -1};
    if (k.has_expire) o = objectSetExpireTake(o, item->expire_ms);
    if (dropIfExpired(o, item, options, &k.has_ttls, out)) return true;
    debugAssert(out->count < out->capacity && objectExpire(o) == item->expire_ms);
    o->lru = fresh & LRU_CLOCK_MAX;
    k.entry = o;
    out->keys[out->count++] = k;
    return true;
}

/* Asserts that marks are in order, and that no more was taken than decoded. */
static void decodedCheck(const rdbDecoded *d) {
    debugAssert(d->taken <= d->count && d->count <= d->capacity && d->mark_count <= d->marks_capacity);
    debugAssert(d->fault.kind != RDB_FAULT_NONE || !d->fault.key);
    debugAssert(d->expired >= 0 && d->fields_expired >= 0);
#ifdef DEBUG_ASSERTIONS
    for (size_t i = 1; i < d->mark_count; i++)
        debugAssert(d->marks[i - 1].item < d->marks[i].item && d->marks[i - 1].keys <= d->marks[i].keys);
    debugAssert(d->mark_count == 0 || d->marks[d->mark_count - 1].keys <= d->count);
#endif
}

/* ---- A piece --------------------------------------------------------------------------------------------- */

void rdbDecode(const rdbPiece *piece, const rdbDecodeOptions *options, uint32_t fresh, rdbDecoded *out) {
    rdbDecodedReset(out);
    decodedCheck(out);
    if (out->capacity < piece->count) {
        zfree(out->keys);
        out->capacity = piece->count + piece->count / 4;
        out->keys = zmalloc(out->capacity * sizeof(*out->keys));
    }
    for (size_t i = 0; i < piece->count; i++) {
        if (likely(piece->items[i].kind == RDB_ITEM_KEY)) {
            if (!decodeKey(piece, i, options, fresh, out)) break;
        } else {
            addMark(out, i);
        }
    }
    decodedCheck(out);
}

void rdbDecodedReset(rdbDecoded *d) {
    decodedCheck(d);
    for (; d->taken < d->count; d->taken++) objectFree(d->keys[d->taken].entry);
    d->count = d->taken = d->mark_count = 0;
    d->expired = d->fields_expired = 0;
    sdsFree(d->fault.key);
    d->fault = (rdbFault){0};
}

void rdbDecodedFree(rdbDecoded *d) {
    rdbDecodedReset(d);
    zfree(d->keys);
    zfree(d->marks);
    *d = (rdbDecoded){0};
}

/* ---- AUX fields ------------------------------------------------------------------------------------------ */

bool rdbAuxRead(const rdbPiece *p, const rdbItem *item, rdbAux *out) {
    rdbReader r = {p->bytes + item->at, p->bytes + item->end};
    rdbText name, value;
    if (!rdbReadText(&r, &name)) return false;
    if (!rdbReadText(&r, &value)) {
        rdbTextFree(&name);
        return false;
    }
    *out = (rdbAux){sdsFromSlice(name.text), sdsFromSlice(value.text)};
    rdbTextFree(&name);
    rdbTextFree(&value);
    return true;
}

void rdbAuxFree(rdbAux *f) {
    sdsFree(f->name);
    sdsFree(f->value);
    *f = (rdbAux){0};
}

/* Accepts "slot,keys,keys with an expiry", and whatever follows. */
bool rdbSlotInfoRead(const char *text, uint64_t *slot, uint64_t *keys) {
    uint64_t numbers[3];
    for (int i = 0; i < 3; i++) {
        char *end;
        numbers[i] = strtoull(text, &end, 10);
        if (end == text || (i < 2 && *end != ',')) return false;
        text = end + 1;
    }
    *slot = numbers[0];
    *keys = numbers[1];
    return true;
}

bool rdbAuxIsGood(const rdbAux *f) {
    uint64_t slot, keys;
    return strcasecmp(f->name, RDB_AUX_SLOT_INFO) != 0 || rdbSlotInfoRead(f->value, &slot, &keys);
}
