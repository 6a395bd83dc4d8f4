/* key_prefetch.h -- overlaps the cache misses of a command that has many keys.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef COMMANDS_KEY_PREFETCH_H
#define COMMANDS_KEY_PREFETCH_H

#include "client.h"

/* Prefetches buckets and entries (not values) of some of the `count` keys in the arguments `first_arg`,
 * `first_arg + step`, ..., as many as fit into a batch. Returns after how many keys to call it again: `count` if
 * prefetching would gain nothing. A loop over keys calls it like this:
 *
 *     for (uint32_t i = 0, ready = 0; i < count; i++) {
 *         if (i == ready) ready += keysPrefetch(c, first_arg + i * step, step, count - i);
 */
uint32_t keysPrefetch(client *c, uint32_t first_arg, uint32_t step, uint32_t count);

#endif
