/* hyperloglog.h -- how many different elements were seen, estimated from 16384 registers, in the published layout.
 *
 *   "HYLL" | encoding | 3 zeros | count, 8 bytes least significant first | registers
 *
 *   The highest bit of the count says that it is not up to date.
 *   dense     registers of 6 bits, one after another from the lowest bit of each byte on
 *   sparse    runs: 00nnnnnn, n+1 registers are 0; 01nnnnnn nnnnnnnn, the same with 14 bits; 1vvvvvnn, n+1 registers
 *             are v+1
 *
 * The bytes are a string's, which any client can write: a value that passed hllIsOne() has a header and, if it is
 * dense, the right length. Whether the runs of a sparse one are sound is found as they are read, and said.
 *
 * Threads     any: a function knows only its arguments.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef DS_HYPERLOGLOG_H
#define DS_HYPERLOGLOG_H

#include "slice.h"

#define HLL_REGISTERS 16384
#define HLL_HEADER_BYTES 16
#define HLL_DENSE_BYTES (HLL_HEADER_BYTES + HLL_REGISTERS * 6 / 8)
#define HLL_EMPTY_BYTES (HLL_HEADER_BYTES + 2)
#define HLL_GROWTH 3 /* bytes at most by which hllRaise() makes a sparse one longer */

bool hllIsOne(slice hll);
bool hllIsDense(slice hll);
/* Write an empty one, which is sparse: HLL_EMPTY_BYTES. */
void hllWriteEmpty(char *out);
/* The count that was stored in it; false when it is out of date. */
bool hllStoredCount(slice hll, uint64_t *count);
void hllStoreCount(char *hll, uint64_t count);
/* A register has changed. */
void hllForgetCount(char *hll);

/* --- Elements ------------------------------------------------------------------------------------- */

typedef struct hllElement {
    unsigned index; /* of its register */
    unsigned rank;  /* what the register must be at least: 1..51 */
} hllElement;
hllElement hllElementOf(slice bytes);

/* Where the run with an element's register lies in a sparse one. {0} to begin with; asking for ascending indexes goes
 * on from where the last question ended, also after hllRaise(). */
typedef struct hllPlace {
    size_t at, previous; /* bytes from the start; previous: the run before, or the same when it is the first */
    unsigned first, length, value; /* the run's registers, and what they are */
    size_t resume_at;
    unsigned resume_first;
} hllPlace;

typedef enum { HLL_PRESENT, HLL_RAISES, HLL_RAISES_DENSE, HLL_CORRUPT } hllAnswer;
/* Would the element change a register? HLL_RAISES_DENSE: it would, but must be made dense before, as a rank does not
 * fit or it would grow beyond `sparse_max` bytes. */
hllAnswer hllAsk(slice hll, hllElement element, size_t sparse_max, hllPlace *place);
/* Do what hllAsk() answered HLL_RAISES to. `hll` has room for HLL_GROWTH more bytes if it is sparse. Gives its new
 * length. */
size_t hllRaise(char *hll, size_t len, hllElement element, const hllPlace *place);

/* --- All registers -------------------------------------------------------------------------------- */

/* Do the runs make up the registers, to the last byte? Dense: always. */
bool hllIsSound(slice hll);
/* Set `registers` to what they are in `hll`. False when it is corrupt: then some are not set right. */
bool hllUnpack(uint8_t registers[HLL_REGISTERS], slice hll);
/* Raise `registers` to what they are in `hll`. False when it is corrupt: then some may be raised. */
bool hllMerge(uint8_t registers[HLL_REGISTERS], slice hll);
/* Make HLL_DENSE_BYTES of them; the stored count stays what it is at `out`. */
void hllWriteDense(char *out, const uint8_t registers[HLL_REGISTERS]);
/* The same of one that is there, and all of its header but the form stays what it is. */
void hllMakeDense(char *hll, const uint8_t registers[HLL_REGISTERS]);
/* How many different elements were added, roughly. False when it is corrupt. */
bool hllEstimate(slice hll, uint64_t *count);
uint64_t hllEstimateRegisters(const uint8_t registers[HLL_REGISTERS]);

/* One run of a sparse one, at byte *at, which moves behind it. False at the end, and where the bytes are cut off. */
typedef struct hllRun {
    unsigned length, value;
    bool two_bytes;
} hllRun;
bool hllNextRun(slice hll, size_t *at, hllRun *run);

#endif
