/* tracking_readers.h -- the numbers by which the table of tracked keys knows clients, and who has which.
 *
 * A number is of 31 bits, given once, and not again before two thousand million others: a key may name a reader that
 * has gone long ago.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_TRACKING_READERS_H
#define ENGINE_TRACKING_READERS_H

#include "platform.h"

struct trackingState;

/* A number for it, from 1 to TRACKING_READER_MAX; the state is borrowed until readerForget(). */
uint32_t readerNew(struct trackingState *s);
void readerForget(uint32_t reader);
/* Whose number it is; NULL: nobody's, any more. */
struct trackingState *readerState(uint32_t reader);
bool readerIsAlive(uint32_t reader);
/* Bytes that this takes. */
size_t readersMemory(void);

#endif
