/* hyperloglog.c -- strings that count distinct elements: PFADD, PFCOUNT, PFMERGE.
 *
 * PFCOUNT of one key returns the count that is stored in the value. If a write has made that count stale, it is
 * estimated from the registers and stored for the next call; as this changes the value, PFCOUNT is then propagated. On
 * a replica only the primary's PFCOUNT stores a count.
 *
 * Not here    registers and estimates (ds/hyperloglog.h); PFDEBUG, PFSELFTEST (hyperloglog_debug.c).
 * Threads     main.
 * Invariants  1. A command that meets a corrupt value fails before it has changed anything. A command from the primary
 *                or the append-only file may fail after it has added some elements.
 * Tests       tests/type/hyperloglog.tcl, tests/unit/ds/hyperloglog_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "hyperloglog_key.h"

#include "command_memory.h"
#include "commands.h"
#include "object_settings.h"
#include "propagate.h"
#include "string_change.h"
#include "typed_key.h"

/* ---- Values that are HyperLogLogs -------------------------------------------------------------------------------- */

bool checkHyperloglog(client *c, const robj *o, char digits[LONG_STR_SIZE], slice *hll) {
    if (checkType(c, o, OBJ_STRING)) return false;
    *hll = objectString(o, digits);
    if (hllHasHeader(*hll)) return true;
    return addReplyError(c, "-WRONGTYPE Key is not a valid HyperLogLog string value.");
}

bool addReplyCorruptHyperloglog(client *c) { return addReplyError(c, "-INVALIDOBJ Corrupted HLL object detected"); }

/* Makes the value writable in place, with a capacity of `capacity` bytes. Returns NULL, after an error reply, if there
 * is no memory. */
static char *hyperloglogReserve(client *c, openHll *hll, size_t capacity) {
    if (!commandMemoryReserve(c, objectWritableNeeds(hll->o, capacity))) return NULL;
    hll->o = stringMakeWritable(c, hll->key, hll->o, capacity);
    char *bytes = objectWritableBytes(hll->o);
    hll->bytes = sliceOf(bytes, hll->bytes.len);
    return bytes;
}

static void setLength(openHll *hll, size_t len) {
    objectSetStringLen(hll->o, len);
    hll->bytes.len = len;
}

/* Creates the key with an empty HyperLogLog. Returns false after an error reply. */
static bool createEmpty(client *c, openHll *hll) {
    hll->o = stringOpen(c, hll->key, NULL, HLL_EMPTY_BYTES, 0);
    if (!hll->o) return false;
    char *bytes = objectWritableBytes(hll->o);
    hllWriteEmpty(bytes);
    hll->bytes = sliceOf(bytes, HLL_EMPTY_BYTES);
    return true;
}

/* Sets all registers, in the dense form. Returns false after an error reply. */
static bool storeDense(client *c, openHll *hll, const uint8_t *registers) {
    char *bytes = hyperloglogReserve(c, hll, HLL_DENSE_BYTES);
    if (!bytes) return false;
    hllMakeDense(bytes, registers);
    setLength(hll, HLL_DENSE_BYTES);
    return true;
}

bool hyperloglogMakeDense(client *c, openHll *hll) {
    uint8_t registers[HLL_REGISTERS];
    return hllUnpack(registers, hll->bytes) ? storeDense(c, hll, registers) : addReplyCorruptHyperloglog(c);
}

static size_t sparseBytesMax(void) { return (size_t)object_settings.hll_sparse_max_bytes; }

/* ---- PFADD ------------------------------------------------------------------------------------------------------- */

/* Returns 1 if a register has changed, 0 if none had to, -1 after an error reply. */
static int addElement(client *c, openHll *hll, slice element) {
    hllElement e = hllElementOf(element);
    hllPosition position = {0};
    hllVerdict answer = hllProbe(hll->bytes, e, sparseBytesMax(), &position);

    if (answer == HLL_PRESENT) return 0;
    if (answer == HLL_CORRUPT) {
        addReplyCorruptHyperloglog(c);
        return -1;
    }
    if (answer == HLL_RAISES_DENSE && !hyperloglogMakeDense(c, hll)) return -1;
    char *bytes = hyperloglogReserve(c, hll, hll->bytes.len + (hllIsDense(hll->bytes) ? 0 : HLL_GROWTH));
    if (!bytes) return -1;
    setLength(hll, hllRaise(bytes, hll->bytes.len, e, &position));
    return 1;
}

void pfaddCommand(client *c) {
    openHll hll = {.key = clientKeyAt(c, 1)};
    char digits[LONG_STR_SIZE];
    long long changes = 0;

    hll.o = lookupKeyWrite(c->db, hll.key);
    if (hll.o) {
        if (!checkHyperloglog(c, hll.o, digits, &hll.bytes)) return;
        /* With one element a corrupt value is found before anything has changed; with several it could be found after
         * the first change, so the whole value is checked. Commands from the primary or the append-only file
         * skip this check. */
        if (c->argc > 3 && !(c->flags & (CLIENT_PRIMARY | CLIENT_REPLAYS)) && !hllIsSound(hll.bytes)) {
            addReplyCorruptHyperloglog(c);
            return;
        }
    } else {
        if (!createEmpty(c, &hll)) return;
        changes++;
    }
    int changed = 0;
    for (uint32_t i = 2; i < c->argc && changed >= 0; i++) {
        changed = addElement(c, &hll, c->argv[i]);
        if (changed > 0) changes++;
    }
    if (changes > 0) {
        hllForgetCount(objectWritableBytes(hll.o));
        keyChanged(c, hll.key, NOTIFY_STRING, "pfadd", changes);
    }
    if (changed < 0) return;
    if (changes > 0) addReplyOne(c);
    else addReplyZero(c);
}

/* ---- PFCOUNT ----------------------------------------------------------------------------------------------------- */

/* Sets each register to its maximum over the `count` keys from argument `first` on, and *dense to whether any of them
 * is dense. Returns false after an error reply. */
static bool mergeKeys(client *c, uint32_t first, uint32_t count, uint8_t *registers, bool *dense) {
    char digits[LONG_STR_SIZE];
    slice hll;
    bool any = false;

    *dense = false;
    for (uint32_t i = 0, ready = 0; i < count; i++) {
        if (i == ready) ready += keysPrefetch(c, first + i, 1, count - i);
        const robj *o = lookupKeyRead(c->db, clientKeyAt(c, first + i));
        if (!o) continue;
        if (!checkHyperloglog(c, o, digits, &hll)) return false;
        *dense |= hllIsDense(hll);
        if (!(any ? hllMerge(registers, hll) : hllUnpack(registers, hll))) return addReplyCorruptHyperloglog(c);
        any = true;
    }
    if (!any) memset(registers, 0, HLL_REGISTERS);
    return true;
}

/* Stores the estimate in the value and propagates the command. Returns false, after an error reply, if there is no
 * memory. */
static bool storeCount(client *c, openHll *hll, uint64_t count) {
    char *bytes = hyperloglogReserve(c, hll, hll->bytes.len);
    if (!bytes) return false;
    hllStoreCount(bytes, count);
    keyChanged(c, hll->key, 0, "pfcount", 1);
    propagateAsSentTo(PROPAGATE_ALL);
    return true;
}

static void countOne(client *c) {
    openHll hll = {.key = clientKeyAt(c, 1)};
    bool streamed = c->flags & (CLIENT_PRIMARY | CLIENT_REPLAYS);
    char digits[LONG_STR_SIZE];
    uint64_t count;

    hll.o = unlikely(streamed) ? lookupKeyWrite(c->db, hll.key) : lookupKeyRead(c->db, hll.key);
    if (!hll.o) {
        addReplyZero(c);
        return;
    }
    if (!checkHyperloglog(c, hll.o, digits, &hll.bytes)) return;
    if (!hllStoredCount(hll.bytes, &count)) {
        if (!hllEstimate(hll.bytes, &count)) {
            addReplyCorruptHyperloglog(c);
            return;
        }
        /* A replica's value must have the same bytes as its primary's, so only the primary's PFCOUNT may change it. */
        bool may_store = streamed || (!store_following.on && !storeExpiryPaused());
        if (may_store && !storeCount(c, &hll, count)) return;
    }
    addReplyLongLong(c, (long long)count);
}

void pfcountCommand(client *c) {
    uint8_t registers[HLL_REGISTERS];
    bool dense;

    if (c->argc == 2) {
        countOne(c);
        return;
    }
    if (mergeKeys(c, 1, c->argc - 1, registers, &dense))
        addReplyLongLong(c, (long long)hllEstimateRegisters(registers));
}

/* ---- PFMERGE ----------------------------------------------------------------------------------------------------- */

/* Raises a sparse HyperLogLog to `registers`; converts it to the dense form if it becomes too long. Returns false after
 * an error reply. */
static bool raiseSparse(client *c, openHll *hll, const uint8_t *registers) {
    hllPosition position = {0};

    for (unsigned index = 0; index < HLL_REGISTERS; index++) {
        hllElement e = {index, registers[index]};
        if (e.rank == 0) continue;
        switch (hllProbe(hll->bytes, e, sparseBytesMax(), &position)) {
        case HLL_PRESENT:
        case HLL_CORRUPT: break; /* corrupt: not possible, as mergeKeys() has read it to its end */
        case HLL_RAISES_DENSE: return storeDense(c, hll, registers);
        case HLL_RAISES:;
            char *bytes = hyperloglogReserve(c, hll, hll->bytes.len + HLL_GROWTH);
            if (!bytes) return false;
            setLength(hll, hllRaise(bytes, hll->bytes.len, e, &position));
        }
    }
    return true;
}

void pfmergeCommand(client *c) {
    openHll hll = {.key = clientKeyAt(c, 1)};
    uint8_t registers[HLL_REGISTERS];
    char digits[LONG_STR_SIZE];
    bool dense;

    if (!mergeKeys(c, 1, c->argc - 1, registers, &dense)) return;
    hll.o = lookupKeyWrite(c->db, hll.key);
    if (hll.o) hll.bytes = objectString(hll.o, digits);
    else if (!createEmpty(c, &hll)) return;
    if (!(dense ? storeDense(c, &hll, registers) : raiseSparse(c, &hll, registers))) return;
    char *bytes = hyperloglogReserve(c, &hll, hll.bytes.len);
    if (!bytes) return;
    hllForgetCount(bytes);
    keyChanged(c, hll.key, NOTIFY_STRING, "pfadd", 1);
    addReplyOk(c);
}
