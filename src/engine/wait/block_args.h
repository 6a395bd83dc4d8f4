/* block_args.h -- how long a command waits.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_BLOCK_ARGS_H
#define ENGINE_BLOCK_ARGS_H

#include "blocking.h"

/* Seconds, which may have decimals, from argument `index`; 0: for ever. *deadline_ms as in blockFor. False: the error
 * was sent. */
bool getTimeoutFromArg(client *c, uint32_t index, int64_t *deadline_ms) must_check;
/* The same in whole milliseconds. */
bool getTimeoutMsFromArg(client *c, uint32_t index, int64_t *deadline_ms) must_check;

#endif
