/* ziplist.h -- converts packed layouts in files of older servers to listpacks.
 *
 * Both accept bytes from any source and never read outside of them. They return NULL if the bytes are malformed, the
 * result is larger than a listpack can be, or there is no memory. Whether a value is stored as text or integer is
 * decided by listpack.h.
 *
 * Threads     any: functions use only their arguments.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef DS_ZIPLIST_H
#define DS_ZIPLIST_H

#include "platform.h"

/* Returns a listpack with the same elements in the same order; an empty one for an empty one. */
uint8_t *ziplistToListpack(const uint8_t *bytes, size_t size) must_check;
/* Returns a listpack of field, value, field, value with at least one pair. Fields may repeat. */
uint8_t *zipmapToListpack(const uint8_t *bytes, size_t size) must_check;

#endif
