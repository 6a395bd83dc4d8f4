/* listpack_duplicates.h -- whether something is in a listpack twice.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef DS_LISTPACK_DUPLICATES_H
#define DS_LISTPACK_DUPLICATES_H

#include "listpack.h"

/* Whether two of the elements 0, step, 2 * step ... are the same text. All entries of the listpack are sound, and it
 * has `count` of them. True also when there is no memory to find out. */
bool listpackHasDuplicates(const uint8_t *lp, size_t count, unsigned step) must_check;

#endif
