/* tracking_readers.h -- the numbers that identify clients in the table of tracked keys.
 *
 * A number has 31 bits and is assigned once, and again only after two thousand million others: a key in the table may
 * still name a reader whose client was freed long ago.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_TRACKING_READERS_H
#define ENGINE_TRACKING_READERS_H

#include "platform.h"

struct trackingState;

/* Returns a number for `s`, from 1 to TRACKING_READER_MAX. The state is borrowed until readerForget(). */
uint32_t readerNew(struct trackingState *s);
void readerForget(uint32_t reader);
/* Returns the state with that number; NULL if it is not in use any more. */
struct trackingState *readerState(uint32_t reader);
bool readerIsAlive(uint32_t reader);
/* Returns the bytes that all this uses. */
size_t readersMemory(void);

#endif
