/* hyperloglog_debug.c -- the inner state of HyperLogLogs, for tests: PFDEBUG, PFSELFTEST.
 *
 * Threads     main.
 * Tests       tests/type/hyperloglog.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "hyperloglog_key.h"

#include "commands.h"
#include <math.h>

/* ---- PFDEBUG ----------------------------------------------------------------------------------------------------- */

/* Converts the value to the dense form and reports the change. Returns false after an error reply. */
static bool hyperloglogDebugConvert(client *c, openHll *hll) {
    if (!hyperloglogMakeDense(c, hll)) return false;
    keyChanged(c, hll->key, 0, NULL, 1);
    return true;
}

static void replyWithRegisters(client *c, openHll *hll) {
    uint8_t registers[HLL_REGISTERS];

    if (!hllIsDense(hll->bytes) && !hyperloglogDebugConvert(c, hll)) return;
    if (!hllUnpack(registers, hll->bytes)) return;
    addReplyArrayLen(c, HLL_REGISTERS);
    for (unsigned i = 0; i < HLL_REGISTERS; i++) addReplyLongLong(c, registers[i]);
}

/* Replies with the runs of registers as text: z:N and Z:N for N zeros, v:VALUE,N for others. */
static void replyWithRuns(client *c, slice hll) {
    size_t at = HLL_HEADER_BYTES;
    hllRun run;

    if (hllIsDense(hll)) {
        addReplyError(c, "HLL encoding is not sparse");
        return;
    }
    sds text = sdsEmpty();
    for (unsigned runs = 0; runs <= HLL_REGISTERS && hllNextRun(hll, &at, &run); runs++) {
        if (sdsLen(text)) text = sdsCat(text, " ");
        if (run.value) text = sdsCatPrintf(text, "v:%u,%u", run.value, run.length);
        else text = sdsCatPrintf(text, "%c:%u", run.two_bytes ? 'Z' : 'z', run.length);
    }
    if (at == hll.len) {
        addReplyBulkSds(c, text);
    } else {
        sdsFree(text);
        addReplyCorruptHyperloglog(c);
    }
}

/* PFDEBUG SIMD has no effect: the same code computes on every processor. */
static void setSimd(client *c) {
    if (sliceIs(c->argv[2], "on")) addReplyStatus(c, "enabled");
    else if (sliceIs(c->argv[2], "off")) addReplyStatus(c, "disabled");
    else addReplyError(c, "Argument must be ON or OFF");
}

void pfdebugCommand(client *c) {
    char digits[LONG_STR_SIZE];
    slice word = c->argv[1];

    if (sliceIs(word, "simd")) {
        setSimd(c);
        return;
    }
    openHll hll = {.key = clientKeyAt(c, 2)};
    hll.o = lookupKeyWrite(c->db, hll.key);
    if (!hll.o) {
        addReplyError(c, "The specified key does not exist");
        return;
    }
    if (!checkHyperloglog(c, hll.o, digits, &hll.bytes)) return;
    if (sliceIs(word, "getreg")) {
        replyWithRegisters(c, &hll);
    } else if (sliceIs(word, "decode")) {
        replyWithRuns(c, hll.bytes);
    } else if (sliceIs(word, "encoding")) {
        addReplyStatus(c, hllIsDense(hll.bytes) ? "dense" : "sparse");
    } else if (sliceIs(word, "todense")) {
        bool sparse = !hllIsDense(hll.bytes);
        if (!sparse || hyperloglogDebugConvert(c, &hll)) addReplyLongLong(c, sparse);
    } else {
        addReplyErrorFormat(c, "Unknown PFDEBUG subcommand '%.*s'", (int)(word.len < 128 ? word.len : 128), word.ptr);
    }
}

/* ---- PFSELFTEST -------------------------------------------------------------------------------------------------- */

#define TEST_ELEMENTS 100000
#define SPARSE_ELEMENTS 10000 /* fewer, because each insertion walks the sparse form */

static bool registersAreEqual(slice sparse, slice dense) {
    uint8_t registers[2][HLL_REGISTERS];
    return hllUnpack(registers[0], sparse) && hllUnpack(registers[1], dense) &&
           memcmp(registers[0], registers[1], HLL_REGISTERS) == 0;
}

/* Adds the same elements to a sparse and a dense HyperLogLog: their registers must be equal. The dense one gets more
 * elements; its estimate must be within six times the expected error, 1.04 / sqrt(HLL_REGISTERS). */
static bool selfTest(void) {
    static char sparse[2 * HLL_REGISTERS + HLL_HEADER_BYTES + HLL_GROWTH], dense[HLL_DENSE_BYTES];
    static const uint8_t none[HLL_REGISTERS];
    const slice all = sliceOf(dense, sizeof(dense));
    const double error = 1.04 / 128;
    uint64_t next_check = 1, count;
    size_t len = HLL_EMPTY_BYTES;

    hllWriteEmpty(sparse);
    memset(dense, 0, sizeof(dense));
    hllWriteDense(dense, none);
    for (uint64_t i = 1; i <= TEST_ELEMENTS; i++) {
        hllElement e = hllElementOf(sliceOf((const char *)&i, sizeof(i)));
        hllPosition position = {0};
        if (i <= SPARSE_ELEMENTS && hllProbe(sliceOf(sparse, len), e, SIZE_MAX, &position) == HLL_RAISES)
            len = hllRaise(sparse, len, e, &position);
        if (hllProbe(all, e, 0, &position) == HLL_RAISES) hllRaise(dense, sizeof(dense), e, &position);
        if (i == SPARSE_ELEMENTS && !registersAreEqual(sliceOf(sparse, len), all)) return false;
        if (i != next_check) continue;
        next_check *= 10;
        if (!hllEstimate(all, &count)) return false;
        if (fabs((double)count - (double)i) > ceil(6 * error * (double)i)) return false;
    }
    return true;
}

void pfselftestCommand(client *c) {
    if (selfTest()) addReplyOk(c);
    else addReplyError(c, "TESTFAILED HyperLogLog registers or estimates differ from the expected ones");
}
