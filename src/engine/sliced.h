/* sliced.h -- commands on a large value that run in slices, between which other clients are served.
 *
 * A handler that replies with many elements calls slicedBegin() after its lookups and before it replies, slicedStep()
 * after each element, and slicedEnd():
 *
 *     slicedStart slices = slicedBegin(c, o, count);
 *     if (unlikely(slices == SLICED_POSTPONED)) return;
 *     for (...) {
 *         addReply...(c, ...);
 *         if (slices == SLICED_YES) slicedStep(c);
 *     }
 *     if (unlikely(slices == SLICED_YES)) slicedEnd(c);
 *
 * A command whose long loops are in lower layers (COPY, DUMP, RESTORE) calls slicedLoops(): they stop by themselves
 * (base/long_loop.h). It changes nothing before slicedEnd(), and then looks its keys up again.
 *
 * Until slicedEnd() the value does not change, and the time does not pass: what has expired for the first element has
 * expired for the last. Its key may be deleted meanwhile, because it is evicted or has expired.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_SLICED_H
#define ENGINE_SLICED_H

#include "client.h"
#include "object.h"

typedef enum {
    SLICED_NO, /* it runs as any command */
    SLICED_YES,
    SLICED_POSTPONED /* another one runs: return at once; the command runs again when that one is over */
} slicedStart;

/* From so many elements on. */
extern size_t sliced_from;

/* Call through slicedBegin(). */
slicedStart slicedBeginLarge(client *c, robj *o);

/* Begins a command that reads `elements` elements of `o`, or makes as many (NULL). The handler has looked up `o` with
 * lookupKeyRead(), and has not replied yet. */
static inline slicedStart slicedBegin(client *c, robj *o, size_t elements) {
    return likely(elements < sliced_from) ? SLICED_NO : slicedBeginLarge(c, o);
}

/* The elements that may follow before the clock is read, and the length of the reply from which on it is read. */
extern uint32_t sliced_left;
extern size_t sliced_output;

void slicedPause(client *c);

/* Call between two elements. Serves other clients if that is due. */
static inline void slicedStep(client *c) {
    if (unlikely(--sliced_left == 0 || c->output_bytes >= sliced_output)) slicedPause(c);
}

/* Lets others be served within loops of lower layers as well, until slicedEnd(). */
void slicedLoops(client *c);
/* Ends that, for a part of the command that changes keys. */
void slicedNoLoops(client *c);
/* Keeps others from reading the command's keys, too, until slicedEnd(). */
void slicedAlone(client *c);
/* Returns the number of elements of a value, or a number for the same amount of work. */
size_t slicedElements(const robj *o);

void slicedEnd(client *c);

/* Returns the time that the command that has just run has spent on other clients. For call(). */
uint64_t slicedTakeOthersNs(client *c);

/* Call at startup. */
void slicedInit(void);

#endif
