/* hyperloglog.h -- estimates the number of different elements from 16384 registers, in the published layout.
 *
 *   "HYLL" | encoding | 3 zeros | count, 8 bytes least significant first | registers
 *
 *   The highest bit of the count is set if the count is out of date.
 *   dense registers of 6 bits, packed from the lowest bit of each byte on
 *   sparse    runs: 00nnnnnn, n+1 registers are 0; 01nnnnnn nnnnnnnn, the same with 14 bits; 1vvvvvnn, n+1 registers
 *             are v+1
 *
 * The bytes are a string that any client can write: a value that passed hllHasHeader() has a header and, if it is
 * dense, the right length. Functions that read the runs of a sparse one report whether they are sound.
 *
 * Threads     any: functions use only their arguments.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef DS_HYPERLOGLOG_H
#define DS_HYPERLOGLOG_H

#include "slice.h"

#define HLL_REGISTERS 16384
#define HLL_HEADER_BYTES 16
#define HLL_DENSE_BYTES (HLL_HEADER_BYTES + HLL_REGISTERS * 6 / 8)
#define HLL_EMPTY_BYTES (HLL_HEADER_BYTES + 2)
#define HLL_GROWTH 3 /* most bytes by which hllRaise() makes a sparse one longer */

/* Returns whether the bytes have the header of a HyperLogLog and, if dense, the right length. */
bool hllHasHeader(slice hll);
bool hllIsDense(slice hll);
/* Writes an empty, sparse one of HLL_EMPTY_BYTES. */
void hllWriteEmpty(char *out);
/* Reads the stored count. Returns false if it is out of date. */
bool hllStoredCount(slice hll, uint64_t *count);
/* Stores the count and marks it as up to date. */
void hllStoreCount(char *hll, uint64_t count);
/* Marks the stored count as out of date; call when a register has changed. */
void hllForgetCount(char *hll);

/* --- Elements ------------------------------------------------------------------------------------- */

typedef struct hllElement {
    unsigned index; /* of the element's register */
    unsigned rank;  /* the register must be at least this: 1..51 */
} hllElement;
/* Hashes an element. */
hllElement hllElementOf(slice bytes);

/* The run of a sparse one that contains an element's register. Initialize with {0}; searches for ascending indexes
 * continue where the last one ended, also after hllRaise(). */
typedef struct hllPosition {
    size_t at, previous;           /* bytes from the start; previous: of the run before, or `at` if there is none */
    unsigned first, length, value; /* the run's first register, their number and value */
    size_t resume_at;
    unsigned resume_first;
} hllPosition;

typedef enum { HLL_PRESENT, HLL_RAISES, HLL_RAISES_DENSE, HLL_CORRUPT } hllVerdict;
/* Returns whether the element would raise its register. HLL_RAISES_DENSE: yes, but the value must be made dense first,
 * because the rank does not fit or it would exceed `sparse_max` bytes. */
hllVerdict hllProbe(slice hll, hllElement element, size_t sparse_max, hllPosition *position);
/* Raises the register after hllProbe() returned HLL_RAISES. If `hll` is sparse, it must have HLL_GROWTH free bytes
 * after it. Returns its new length. */
size_t hllRaise(char *hll, size_t len, hllElement element, const hllPosition *position);

/* --- All registers -------------------------------------------------------------------------------- */

/* Returns whether the runs describe exactly all registers. Always true if dense. */
bool hllIsSound(slice hll);
/* Copies the registers of `hll`. Returns false if it is corrupt: some are then wrong. */
bool hllUnpack(uint8_t registers[HLL_REGISTERS], slice hll);
/* Raises `registers` to those of `hll` where they are higher. Returns false if it is corrupt: some may have been
 * raised. */
bool hllMerge(uint8_t registers[HLL_REGISTERS], slice hll);
/* Writes a dense one of HLL_DENSE_BYTES; the stored count at `out` stays. */
void hllWriteDense(char *out, const uint8_t registers[HLL_REGISTERS]);
/* Turns a sparse one into a dense one with these registers; the rest of the header stays. */
void hllMakeDense(char *hll, const uint8_t registers[HLL_REGISTERS]);
/* Estimates the number of different elements added. Returns false if `hll` is corrupt. */
bool hllEstimate(slice hll, uint64_t *count);
/* Returns the estimated number of different elements. */
uint64_t hllEstimateRegisters(const uint8_t registers[HLL_REGISTERS]);

/* Reads the run of a sparse one at byte *at and moves *at to the next one. Returns false at the end, or if the bytes
 * are cut off. */
typedef struct hllRun {
    unsigned length, value;
    bool two_bytes;
} hllRun;
bool hllNextRun(slice hll, size_t *at, hllRun *run);

#endif
