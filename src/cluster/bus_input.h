/* bus_input.h -- bytes of a link, as they arrive, to whole frames.
 *
 * The memory of an input follows what has arrived, never the length that a peer announces: its buffer has at most twice
 * the bytes in it, or twice BUS_INPUT_MIN. An input without a part of a frame has no buffer.
 *
 * Runs on: one owner at a time.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLUSTER_BUS_INPUT_H
#define CLUSTER_BUS_INPUT_H

#include "bus_frame.h"

#define BUS_INPUT_MIN 16384

/* Initialize to zero. */
typedef struct busInput {
    sds bytes;     /* owns; NULL: none */
    size_t used;   /* bytes of frames that busInputNext() has returned */
    size_t frame;  /* length of the last one; it ends at `used` */
    size_t wanted; /* length of the frame that begins at `used`; 0: not known yet */
} busInput;

/* Sets *at to where bytes are to be read, and returns how many; 0 if there is no memory. Call busInputAdd() after it.
 * No frame may be left for busInputNext(). */
size_t busInputReserve(busInput *in, char **at);
/* Takes the `n` bytes that were read there; 0 if there were none. */
void busInputAdd(busInput *in, size_t n);

typedef enum {
    BUS_INPUT_MORE,  /* no whole frame is left: read on */
    BUS_INPUT_FRAME, /* *frame is valid until the next call for the input */
    BUS_INPUT_BAD,   /* the bytes are no frame, or one that is longer than `max` */
} busInputState;
busInputState busInputNext(busInput *in, size_t max, slice *frame);
/* Returns the last frame of busInputNext(): the buffer itself, if the frame fills it, otherwise a copy. The caller
 * owns it. *frame may be freed with it. Call once for a frame. */
sds busInputTake(busInput *in);

size_t busInputMemory(const busInput *in);
void busInputFree(busInput *in);

#endif
