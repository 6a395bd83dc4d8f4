/* size_spread.h -- the distribution of sizes: a histogram with percentiles, drawn as bars.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_SIZE_SPREAD_H
#define CLI_SIZE_SPREAD_H

#include "sds.h"

/* 16 classes for each power of two: an error of at most 6 % for any number of sizes. */
enum { SPREAD_BITS = 4, SPREAD_CLASSES = (64 - SPREAD_BITS + 1) << SPREAD_BITS };

typedef struct sizeSpread {
    uint64_t count;
    uint64_t classes[SPREAD_CLASSES];
} sizeSpread;

void sizeSpreadAdd(sizeSpread *s, uint64_t size);
/* Returns the size that `per_mille` of a thousand sizes do not exceed, rounded up to the end of its class; 0 if there
 * are no sizes. */
uint64_t sizeSpreadBelow(const sizeSpread *s, unsigned per_mille);
/* Appends a row for each power of two from the smallest size to the largest: its upper end, the count, its share, and a
 * bar. Rows have at most `columns` columns. With `blocks`, bars are of UTF-8 block characters, to an eighth of a
 * column; otherwise of '#'. */
sds sizeSpreadDraw(sds out, const sizeSpread *s, int columns, bool blocks);

#endif
