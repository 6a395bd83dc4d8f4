/* block_args.h -- the timeout argument of blocking commands.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_BLOCK_ARGS_H
#define ENGINE_BLOCK_ARGS_H

#include "blocking.h"

/* Parses argument `index`, seconds that may have decimals, into a deadline as in blockFor; 0: without end. Returns
 * false after an error reply. */
bool getTimeoutFromArg(client *c, uint32_t index, int64_t *deadline_ms) must_check;
/* Does the same for whole milliseconds. */
bool getTimeoutMsFromArg(client *c, uint32_t index, int64_t *deadline_ms) must_check;

#endif
