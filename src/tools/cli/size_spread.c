/* size_spread.c -- the distribution of sizes: a histogram with percentiles, drawn as bars.
 *
 *     class   0 .. 15    16 .. 31     32 .. 47          48 .. 63
 *     sizes   0 .. 15    16 .. 31     32, 34, .. 62     64, 68, .. 124     each power of two has 16
 *
 * Tests       tests/unit/tools/size_spread_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "size_spread.h"
#include "numbers.h"

enum { PER_POWER = 1 << SPREAD_BITS, POWERS = SPREAD_CLASSES / PER_POWER, BAR_MIN = 8, BAR_MAX = 60 };

static unsigned classOf(uint64_t size) {
    if (size < PER_POWER) return (unsigned)size;
    unsigned power = 63 - (unsigned)__builtin_clzll(size);
    return ((power - SPREAD_BITS + 1) << SPREAD_BITS) + (unsigned)((size >> (power - SPREAD_BITS)) & (PER_POWER - 1));
}

/* Returns the largest size of a class. */
static uint64_t classEnd(unsigned number) {
    if (number < PER_POWER) return number;
    unsigned shift = (number >> SPREAD_BITS) - 1;
    uint64_t low = PER_POWER + (number & (PER_POWER - 1));
    return (low << shift) + (((uint64_t)1 << shift) - 1);
}

void sizeSpreadAdd(sizeSpread *s, uint64_t size) {
    s->classes[classOf(size)]++;
    s->count++;
}

uint64_t sizeSpreadBelow(const sizeSpread *s, unsigned per_mille) {
    uint64_t wanted = s->count / 1000 * per_mille + (s->count % 1000 * per_mille + 999) / 1000, seen = 0;
    unsigned number = 0;
    if (s->count == 0) return 0;
    if (wanted == 0) wanted = 1;
    while ((seen += s->classes[number]) < wanted) number++;
    return classEnd(number);
}

/* ---- Bars ------------------------------------------------------------------------------------------------------- */

/* Appends a bar, which is visible for any share above 0. */
static sds catBar(sds out, double share, int width, bool blocks) {
    static const char *const eighths[] = {"",
                                          "\xe2\x96\x8f",
                                          "\xe2\x96\x8e",
                                          "\xe2\x96\x8d",
                                          "\xe2\x96\x8c",
                                          "\xe2\x96\x8b",
                                          "\xe2\x96\x8a",
                                          "\xe2\x96\x89"};
    int units = (int)(share * width * 8 + 0.5);
    if (width == 0) return out;
    if (share > 0 && units == 0) units = 1;
    int whole = blocks ? units / 8 : (units + 7) / 8;
    for (int i = 0; i < whole; i++) out = sdsCat(out, blocks ? "\xe2\x96\x88" : "#");
    return blocks ? sdsCat(out, eighths[units % 8]) : out;
}

static uint64_t countOf(const sizeSpread *s, int power) {
    uint64_t sum = 0;
    for (int i = 0; i < PER_POWER; i++) sum += s->classes[power * PER_POWER + i];
    return sum;
}

sds sizeSpreadDraw(sds out, const sizeSpread *s, int columns, bool blocks) {
    enum { FIGURES = 33 }; /* columns before a bar */
    int first = POWERS, last = -1, width = columns - FIGURES - 1;
    uint64_t most = 0;
    for (int power = 0; power < POWERS; power++) {
        uint64_t count = countOf(s, power);
        if (count == 0) continue;
        if (first == POWERS) first = power;
        last = power;
        if (count > most) most = count;
    }
    if (width > BAR_MAX) width = BAR_MAX;
    if (width < BAR_MIN) width = 0;
    for (int power = first; power <= last; power++) {
        char end[32];
        uint64_t count = countOf(s, power), largest = classEnd((unsigned)(power * PER_POWER + PER_POWER - 1));
        bytes2human(end, sizeof(end), largest < UINT64_MAX ? largest + 1 : largest);
        sds row = sdsCatPrintf(sdsEmpty(), "  < %8s %10llu %6.2f%%  ", end, (unsigned long long)count,
                               100.0 * (double)count / (double)s->count);
        row = catBar(row, (double)count / (double)most, width, blocks);
        while (sdsLen(row) && row[sdsLen(row) - 1] == ' ') sdsIncrLen(row, -1);
        out = sdsCat(sdsCatLen(out, row, sdsLen(row)), "\n");
        sdsFree(row);
    }
    return out;
}
