/* key_prefetch.h -- let the cache misses of a command's many keys overlap.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef COMMANDS_KEY_PREFETCH_H
#define COMMANDS_KEY_PREFETCH_H

#include "client.h"

/* Fetch buckets and entries (not the values) of up to a batch of the `count` keys that stand in the arguments
 * `first_arg`, `first_arg + step`, ... Returns how many of them need no further call: all where there is nothing to
 * gain. A loop over keys calls it like this:
 *
 *     for (uint32_t i = 0, ready = 0; i < count; i++) {
 *         if (i == ready) ready += keysPrefetch(c, first_arg + i * step, step, count - i);
 */
uint32_t keysPrefetch(client *c, uint32_t first_arg, uint32_t step, uint32_t count);

#endif
