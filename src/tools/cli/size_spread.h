/* size_spread.h -- how sizes are spread: counted by class, asked for shares, drawn as bars.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_SIZE_SPREAD_H
#define CLI_SIZE_SPREAD_H

#include "sds.h"

/* 16 classes to each power of two: right to 6 % whatever the number of sizes. */
enum { SPREAD_BITS = 4, SPREAD_CLASSES = (64 - SPREAD_BITS + 1) << SPREAD_BITS };

typedef struct sizeSpread {
    uint64_t count;
    uint64_t classes[SPREAD_CLASSES];
} sizeSpread;

void sizeSpreadAdd(sizeSpread *s, uint64_t size);
/* The size that so many in a thousand do not exceed, as the end of its class; 0 of nothing. */
uint64_t sizeSpreadBelow(const sizeSpread *s, unsigned per_mille);
/* A row for each power of two from the smallest size to the largest: its end, how many, their share, and a bar. Rows
 * are at most `columns` wide. `blocks`: bars of block characters in UTF-8, to an eighth of a column; else of '#'. */
sds sizeSpreadDraw(sds out, const sizeSpread *s, int columns, bool blocks);

#endif
