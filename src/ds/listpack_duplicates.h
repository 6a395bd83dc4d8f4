/* listpack_duplicates.h -- tests a listpack for duplicates.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef DS_LISTPACK_DUPLICATES_H
#define DS_LISTPACK_DUPLICATES_H

#include "listpack.h"

/* Returns whether two of the elements 0, step, 2 * step ... are the same text. The listpack is valid and has `count`
 * entries. Also returns true if there is no memory to find out. */
bool listpackHasDuplicates(const uint8_t *lp, size_t count, unsigned step) must_check;

#endif
