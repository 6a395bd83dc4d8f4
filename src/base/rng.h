/* rng.h -- random numbers: fast ones for choices, strong ones for secrets.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_RNG_H
#define BASE_RNG_H

#include "platform.h"

/* A small fast generator (xoshiro256** by Blackman and Vigna, prng.di.unimi.it, public domain). For repeatable numbers,
 * use one of your own. */
typedef struct rng {
    uint64_t s[4];
} rng;
void rngSeed(rng *r, uint64_t seed); /* equal seeds give equal numbers */
uint64_t rngNext(rng *r);
/* Returns a number uniform in [0, bound), without bias; bound > 0. */
uint64_t rngBelow(rng *r, uint64_t bound);
/* Returns a number uniform in [0, 1). */
double rngDouble(rng *r);

/* Returns the calling thread's own generator, seeded from the system at first use. */
rng *rngThread(void);

/* Fills `out` with bytes from the system's strong source. Ends the process if there is none. */
void rngSecure(void *out, size_t len);
/* Writes `len` lower-case hexadecimal digits from the strong source, without a NUL. */
void rngSecureHex(char *out, size_t len);

#endif
