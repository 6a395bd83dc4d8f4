/* rng.c -- xoshiro256** for choices, getrandom(2) for secrets.
 *
 * Threads     a generator has one owner at a time; any thread may use the strong source.
 * Tests       tests/unit/base/rng_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "rng.h"
#include "panic.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

static uint64_t rotl(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }

/* splitmix64 spreads one word over the state, which must not be all zeros. */
void rngSeed(rng *r, uint64_t seed) {
    for (int i = 0; i < 4; i++) {
        uint64_t z = (seed += 0x9e3779b97f4a7c15u);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        r->s[i] = z ^ (z >> 31);
    }
}

uint64_t rngNext(rng *r) {
    uint64_t *s = r->s;
    uint64_t result = rotl(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotl(s[3], 45);
    return result;
}

/* Multiplies and takes the high word; the few low words that would favour some results are drawn again (Lemire, "Fast
 * random integer generation in an interval", 2019). */
uint64_t rngBelow(rng *r, uint64_t bound) {
    __extension__ typedef unsigned __int128 u128;
    debugAssert(bound > 0);
    u128 m = (u128)rngNext(r) * bound;
    if ((uint64_t)m < bound) {
        uint64_t unfair = (0 - bound) % bound;
        while ((uint64_t)m < unfair) m = (u128)rngNext(r) * bound;
    }
    return (uint64_t)(m >> 64);
}

double rngDouble(rng *r) { return (double)(rngNext(r) >> 11) * 0x1.0p-53; }

rng *rngThread(void) {
    static _Thread_local rng mine;
    static _Thread_local bool seeded;
    if (unlikely(!seeded)) {
        uint64_t seed;
        rngSecure(&seed, sizeof(seed));
        rngSeed(&mine, seed);
        seeded = true;
    }
    return &mine;
}

/* Reads the device, which exists even if a kernel or sandbox does not have the system call. */
static bool readDevice(uint8_t *p, size_t len) {
    int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    while (len > 0) {
        ssize_t n = read(fd, p, len);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        p += n;
        len -= (size_t)n;
    }
    close(fd);
    return len == 0;
}

void rngSecure(void *out, size_t len) {
    uint8_t *p = out;
    while (len > 0) {
        ssize_t n = getrandom(p, len, 0);
        if (n < 0) {
            if (errno == EINTR) continue;
            if (!readDevice(p, len)) serverPanic("Cannot read random bytes from the system: %s", strerror(errno));
            return;
        }
        p += n;
        len -= (size_t)n;
    }
}

void rngSecureHex(char *out, size_t len) {
    uint8_t bytes[64];
    for (size_t done = 0; done < len; done++) {
        size_t at = done % (2 * sizeof(bytes));
        if (at == 0) rngSecure(bytes, sizeof(bytes));
        uint8_t b = bytes[at / 2];
        out[done] = "0123456789abcdef"[at % 2 ? b & 15 : b >> 4];
    }
}
