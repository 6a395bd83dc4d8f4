/* ziplist.h -- the packed layouts of older servers' files, made into listpacks.
 *
 * Both take bytes of anyone and never read outside of them. NULL: malformed, larger than a listpack can be, or no
 * memory. Whether a value is text or an integer is decided anew, as listpack.h does for what is appended.
 *
 * Threads     any: a function knows only its arguments.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef DS_ZIPLIST_H
#define DS_ZIPLIST_H

#include "platform.h"

/* The same elements in the same order; an empty one gives an empty one. */
uint8_t *ziplistToListpack(const uint8_t *bytes, size_t size) must_check;
/* Field, value, field, value; at least one pair. A field may be there twice. */
uint8_t *zipmapToListpack(const uint8_t *bytes, size_t size) must_check;

#endif
