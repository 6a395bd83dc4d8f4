/* hyperloglog.c -- estimates the number of different elements from 16384 registers, in the published layout.
 *
 * An element's hash is 64 bits: the lowest 14 select a register, which keeps one more than the largest number of zero
 * bits that the other 50 bits of any element began with, from the low end. (P. Flajolet et al.,
 * "HyperLogLog", 2007; S. Heule et al., "HyperLogLog in Practice", 2013, for 64 bits and the sparse form.) The
 * estimate is O. Ertl's, "New cardinality estimation algorithms for HyperLogLog sketches", 2017: a function of how
 * many registers have each value, good over the whole range without tables of corrections.
 *
 * A sparse one is changed in place: the run of the register is cut in up to three, and then a few runs from the
 * one before are merged where neighbours have the same value and fit in one. Both are part of the published behaviour,
 * as they determine the bytes.
 *
 * Not here    strings, keys, errors (commands/string/hyperloglog.c).
 * Threads     any: functions use only their arguments.
 * Invariants  1. No byte outside the slice is read, whatever the runs say.
 *             2. A run covers at least one register, so a search ends after HLL_REGISTERS of them.
 * Cost        An element: the hash, and the runs before its register if sparse. An estimate: one pass. Merging a dense
 *             one: 15 instructions for 32 registers with AVX2.
 * Tests       tests/unit/ds/hyperloglog_test.c, tests/fuzz/hyperloglog_fuzz.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "hyperloglog.h"

#include "endian.h"
#include <math.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define INDEX_BITS 14
#define HASH_BITS 50 /* the bits that ranks are made of */
#define RANK_MAX (HASH_BITS + 1)
#define REGISTER_MAX 63 /* the largest value of a dense register */
#define HASH_SEED 0xadc83b19
static_assert(HLL_REGISTERS == 1 << INDEX_BITS, "an index for each register");

enum { ENCODING_DENSE, ENCODING_SPARSE };
#define ENCODING_AT 4
#define COUNT_AT 8
#define STALE_BIT 0x80 /* in the last byte of the count */

#define ZERO_MAX 64
#define VALUE_MAX 32
#define VALUE_LENGTH_MAX 4
#define TWO_BYTES 0x40
#define IS_VALUE 0x80
#define JOIN_RUNS 5 /* runs that are examined for neighbours to merge */
/* A longer one has at least one run too many. */
#define SPARSE_BYTES_MAX (HLL_HEADER_BYTES + 2 * HLL_REGISTERS)

/* ---- The header -------------------------------------------------------------------------------------------------- */

bool hllHasHeader(slice hll) {
    if (hll.len < HLL_HEADER_BYTES || memcmp(hll.ptr, "HYLL", 4) != 0) return false;
    return hll.ptr[ENCODING_AT] == ENCODING_SPARSE ||
           (hll.ptr[ENCODING_AT] == ENCODING_DENSE && hll.len == HLL_DENSE_BYTES);
}

bool hllIsDense(slice hll) { return hll.ptr[ENCODING_AT] == ENCODING_DENSE; }

static void writeHeader(char *out, char encoding) {
    memcpy(out, "HYLL", 4);
    out[ENCODING_AT] = encoding;
    memset(out + ENCODING_AT + 1, 0, COUNT_AT - ENCODING_AT - 1);
}

void hllWriteEmpty(char *out) {
    writeHeader(out, ENCODING_SPARSE);
    memset(out + COUNT_AT, 0, 8);
    out[HLL_HEADER_BYTES] = (char)(TWO_BYTES | ((HLL_REGISTERS - 1) >> 8));
    out[HLL_HEADER_BYTES + 1] = (char)((HLL_REGISTERS - 1) & 0xff);
    hllForgetCount(out);
}

bool hllStoredCount(slice hll, uint64_t *count) {
    *count = loadLe64(hll.ptr + COUNT_AT);
    return !(hll.ptr[COUNT_AT + 7] & STALE_BIT);
}

void hllStoreCount(char *hll, uint64_t count) { storeLe64(hll + COUNT_AT, count); }
void hllForgetCount(char *hll) { hll[COUNT_AT + 7] = (char)(hll[COUNT_AT + 7] | STALE_BIT); }

/* ---- Elements ---------------------------------------------------------------------------------------------------- */

/* MurmurHash64A (A. Appleby, public domain). */
static uint64_t hashOf(const char *p, size_t len) {
    const uint64_t m = 0xc6a4a7935bd1e995;
    uint64_t h = HASH_SEED ^ (len * m);

    for (; len >= 8; p += 8, len -= 8) {
        uint64_t k = loadLe64(p) * m;
        h = (h ^ ((k ^ (k >> 47)) * m)) * m;
    }
    if (len) {
        uint64_t k = 0;
        for (size_t i = len; i > 0; i--) k = k << 8 | (unsigned char)p[i - 1];
        h = (h ^ k) * m;
    }
    h = (h ^ (h >> 47)) * m;
    return h ^ (h >> 47);
}

hllElement hllElementOf(slice bytes) {
    uint64_t hash = hashOf(bytes.ptr, bytes.len);
    uint64_t rest = hash >> INDEX_BITS | (uint64_t)1 << HASH_BITS;

    return (hllElement){.index = hash & (HLL_REGISTERS - 1), .rank = (unsigned)__builtin_ctzll(rest) + 1};
}

/* ---- Dense ------------------------------------------------------------------------------------------------------- */

#define GROUP_BYTES 6 /* eight registers */
#define GROUPS (HLL_REGISTERS / 8)

/* Reading two bytes before the group is safe: they are in the header or in the group before it. */
static uint64_t loadGroup(const char *dense, size_t group) {
    return loadLe64(dense + HLL_HEADER_BYTES + group * GROUP_BYTES - 2) >> 16;
}

static void storeGroup(char *dense, size_t group, uint64_t w) {
    w = LE64(w);
    memcpy(dense + HLL_HEADER_BYTES + group * GROUP_BYTES, &w, GROUP_BYTES);
}

static unsigned denseGet(const char *dense, unsigned index) {
    return loadGroup(dense, index / 8) >> (index % 8 * 6) & REGISTER_MAX;
}

static void denseSet(char *dense, unsigned index, unsigned value) {
    unsigned shift = index % 8 * 6;
    uint64_t w = loadGroup(dense, index / 8) & ~((uint64_t)REGISTER_MAX << shift);
    storeGroup(dense, index / 8, w | (uint64_t)value << shift);
}

/* Four groups form a vector, which the compiler maps to the processor's registers: two of 16 bytes on any x86-64. AVX2
 * has loops of its own, which handle the bytes of four groups at once. */
#define LANES 4
static_assert(GROUPS % LANES == 0, "all groups in vectors");

typedef uint64_t lanes __attribute__((vector_size(LANES * 8)));
typedef int8_t laneBytes __attribute__((vector_size(LANES * 8)));

/* Unpacks eight registers of 6 bits each to eight bytes, the first lowest, and packs them again. `w` is a word or a
 * vector. */
#define SPREAD_3(w) (((w)&0xffffff) | ((w)&0xffffff000000) << 8)
#define SPREAD_2(w) (((w)&0x00000fff00000fff) | ((w)&0x00fff00000fff000) << 4)
#define SPREAD_1(w) (((w)&0x003f003f003f003f) | ((w)&0x0fc00fc00fc00fc0) << 2)
#define GATHER_1(w) (((w)&0x003f003f003f003f) | ((w)&0x3f003f003f003f00) >> 2)
#define GATHER_2(w) (((w)&0x00000fff00000fff) | ((w)&0x0fff00000fff0000) >> 4)
#define GATHER_3(w) (((w)&0xffffff) | ((w)&0x00ffffff00000000) >> 8)

static inline __attribute__((always_inline)) void spreadLanes(lanes *out, const char *dense, size_t group) {
    lanes w;
    for (size_t i = 0; i < LANES; i++) w[i] = loadGroup(dense, group + i);
    w = SPREAD_3(w);
    w = SPREAD_2(w);
    w = SPREAD_1(w);
    for (size_t i = 0; i < LANES; i++) w[i] = LE64(w[i]);
    *out = w;
}

/* Unpacks the registers of `dense` to bytes. */
static inline __attribute__((always_inline)) void spreadAll(uint8_t *registers, const char *dense) {
    for (size_t group = 0; group < GROUPS; group += LANES) {
        lanes w;
        spreadLanes(&w, dense, group);
        memcpy(registers + group * 8, &w, sizeof(w));
    }
}

/* Raises `registers` to those of `dense`. All are below 128, so comparing them as signed bytes is right. */
static inline __attribute__((always_inline)) void raiseAll(uint8_t *registers, const char *dense) {
    for (size_t group = 0; group < GROUPS; group += LANES) {
        lanes w;
        laneBytes has, other;
        spreadLanes(&w, dense, group);
        memcpy(&other, &w, sizeof(w));
        memcpy(&has, registers + group * 8, sizeof(has));
        laneBytes larger = other > has;
        has = (other & larger) | (has & ~larger);
        memcpy(registers + group * 8, &has, sizeof(has));
    }
}

/* Writes all groups, eight bytes at a time: the two excess bytes belong to the next group, or are left out for the last
 * one. */
static inline __attribute__((always_inline)) void gatherAll(char *dense, const uint8_t *registers) {
    char *out = dense + HLL_HEADER_BYTES;
    for (size_t group = 0; group < GROUPS; group += LANES) {
        lanes w;
        memcpy(&w, registers + group * 8, sizeof(w));
        for (size_t i = 0; i < LANES; i++) w[i] = LE64(w[i]);
        w = GATHER_1(w);
        w = GATHER_2(w);
        w = GATHER_3(w);
        for (size_t i = 0; i < LANES - 1; i++, out += GROUP_BYTES) storeLe64(out, w[i]);
        storeGroup(dense, group + LANES - 1, w[LANES - 1]);
        out += GROUP_BYTES;
    }
}

#if defined(__x86_64__)
#define WITH_AVX2 __attribute__((target("avx2")))
#define VECTOR_REGISTERS 32
#define VECTOR_BYTES (VECTOR_REGISTERS * 6 / 8) /* in the dense form; 12 in each half of a vector */

/* Returns the registers of the next VECTOR_BYTES, one per byte. Each half of the vector loads 16 bytes, of which it
 * needs the first 12 or the last 12, so that nothing beyond them is read. */
WITH_AVX2 static inline __m256i spreadVector(const char *p) {
    const __m256i position = _mm256_setr_epi8(0, 1, 2, -1, 3, 4, 5, -1, 6, 7, 8, -1, 9, 10, 11, -1, 4, 5, 6, -1, 7, 8,
                                              9, -1, 10, 11, 12, -1, 13, 14, 15, -1);
    __m256i w = _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)p));
    w = _mm256_inserti128_si256(w, _mm_loadu_si128((const __m128i *)(const void *)(p + VECTOR_BYTES - 16)), 1);
    w = _mm256_shuffle_epi8(w, position); /* four registers in each 32 bits */
    w = _mm256_or_si256(_mm256_and_si256(w, _mm256_set1_epi32(0xfff)),
                        _mm256_slli_epi32(_mm256_and_si256(w, _mm256_set1_epi32(0xfff000)), 4));
    return _mm256_or_si256(_mm256_and_si256(w, _mm256_set1_epi16(0x3f)),
                           _mm256_slli_epi16(_mm256_and_si256(w, _mm256_set1_epi16(0xfc0)), 2));
}

WITH_AVX2 static void spreadAvx2(uint8_t *registers, const char *dense) {
    const char *p = dense + HLL_HEADER_BYTES;
    for (size_t at = 0; at < HLL_REGISTERS; at += VECTOR_REGISTERS, p += VECTOR_BYTES)
        _mm256_storeu_si256((__m256i *)(void *)(registers + at), spreadVector(p));
}

WITH_AVX2 static void raiseAvx2(uint8_t *registers, const char *dense) {
    const char *p = dense + HLL_HEADER_BYTES;
    for (size_t at = 0; at < HLL_REGISTERS; at += VECTOR_REGISTERS, p += VECTOR_BYTES) {
        __m256i *has = (__m256i *)(void *)(registers + at);
        _mm256_storeu_si256(has, _mm256_max_epu8(_mm256_loadu_si256(has), spreadVector(p)));
    }
}

/* Each half of a vector stores 16 bytes, the last 4 of which the next half overwrites; the very last half stores its 12
 * bytes in two parts. */
WITH_AVX2 static void gatherAvx2(char *dense, const uint8_t *registers) {
    const __m256i position = _mm256_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1, 0, 1, 2, 4, 5, 6,
                                              8, 9, 10, 12, 13, 14, -1, -1, -1, -1);
    char *p = dense + HLL_HEADER_BYTES;
    for (size_t at = 0; at < HLL_REGISTERS; at += VECTOR_REGISTERS, p += VECTOR_BYTES) {
        __m256i w = _mm256_loadu_si256((const __m256i *)(const void *)(registers + at));
        w = _mm256_or_si256(_mm256_and_si256(w, _mm256_set1_epi16(0x3f)),
                            _mm256_srli_epi16(_mm256_and_si256(w, _mm256_set1_epi16(0x3f00)), 2));
        w = _mm256_or_si256(_mm256_and_si256(w, _mm256_set1_epi32(0xfff)),
                            _mm256_srli_epi32(_mm256_and_si256(w, _mm256_set1_epi32(0xfff0000)), 4));
        w = _mm256_shuffle_epi8(w, position);
        __m128i last = _mm256_extracti128_si256(w, 1);
        _mm_storeu_si128((__m128i *)(void *)p, _mm256_castsi256_si128(w));
        if (at + VECTOR_REGISTERS < HLL_REGISTERS) {
            _mm_storeu_si128((__m128i *)(void *)(p + VECTOR_BYTES / 2), last);
            continue;
        }
        _mm_storel_epi64((__m128i *)(void *)(p + VECTOR_BYTES / 2), last);
        uint32_t end = (uint32_t)_mm_extract_epi32(last, 2);
        memcpy(p + VECTOR_BYTES / 2 + 8, &end, sizeof(end));
    }
}
#define CHOOSE(name, ...) (__builtin_cpu_supports("avx2") ? name##Avx2(__VA_ARGS__) : name##All(__VA_ARGS__))
#else
#define CHOOSE(name, ...) name##All(__VA_ARGS__)
#endif

void hllMakeDense(char *hll, const uint8_t registers[HLL_REGISTERS]) {
    hll[ENCODING_AT] = ENCODING_DENSE;
    CHOOSE(gather, hll, registers);
}

void hllWriteDense(char *out, const uint8_t registers[HLL_REGISTERS]) {
    writeHeader(out, ENCODING_DENSE);
    hllMakeDense(out, registers);
}

/* ---- Sparse ------------------------------------------------------------------------------------------------------ */

bool hllNextRun(slice hll, size_t *at, hllRun *run) {
    if (*at >= hll.len) return false;
    unsigned first = (unsigned char)hll.ptr[*at];
    run->two_bytes = !(first & IS_VALUE) && (first & TWO_BYTES);
    run->value = 0;
    if (first & IS_VALUE) {
        run->value = (first >> 2 & 0x1f) + 1;
        run->length = (first & 3) + 1;
    } else if (!run->two_bytes) {
        run->length = (first & 0x3f) + 1;
    } else {
        if (*at + 1 >= hll.len) return false;
        run->length = ((first & 0x3f) << 8 | (unsigned char)hll.ptr[*at + 1]) + 1;
    }
    *at += 1 + run->two_bytes;
    return true;
}

/* Finds the run that contains the register. Returns false if there is none. */
static bool findRun(slice hll, unsigned index, hllPosition *position) {
    /* The starts of the last three runs: the one before the run that is found, and two earlier ones, from which a later
     * search may begin if that one is merged with others. */
    struct {
        size_t at;
        unsigned first;
    } last[3];
    size_t at = position->resume_at ? position->resume_at : HLL_HEADER_BYTES;
    unsigned first = position->resume_at ? position->resume_first : 0;
    hllRun run;

    if (hll.len > SPARSE_BYTES_MAX) return false;
    for (int i = 0; i < 3; i++) {
        last[i].at = at;
        last[i].first = first;
    }
    for (size_t start = at; hllNextRun(hll, &at, &run); start = at, first += run.length) {
        if (index < first + run.length) {
            *position = (hllPosition){start, last[2].at, first, run.length, run.value, last[0].at, last[0].first};
            return true;
        }
        last[0] = last[1];
        last[1] = last[2];
        last[2].at = start;
        last[2].first = first;
    }
    return false;
}

static size_t putZeros(unsigned char *out, unsigned length) {
    if (length == 0) return 0;
    if (length <= ZERO_MAX) {
        out[0] = (unsigned char)(length - 1);
        return 1;
    }
    out[0] = (unsigned char)(TWO_BYTES | (length - 1) >> 8);
    out[1] = (unsigned char)((length - 1) & 0xff);
    return 2;
}

static size_t putValues(unsigned char *out, unsigned value, unsigned length) {
    if (length == 0) return 0;
    out[0] = (unsigned char)(IS_VALUE | (value - 1) << 2 | (length - 1));
    return 1;
}

#define CUT_BYTES 5 /* zeros, a value, zeros */

/* Writes the runs that replace the run once the register is `rank`, and returns their size. */
static size_t cutRun(unsigned char out[CUT_BYTES], hllElement element, const hllPosition *position) {
    unsigned left = element.index - position->first, right = position->length - left - 1;
    size_t n = position->value ? putValues(out, position->value, left) : putZeros(out, left);

    n += putValues(out + n, element.rank, 1);
    n += position->value ? putValues(out + n, position->value, right) : putZeros(out + n, right);
    return n;
}

static size_t runBytes(char first) { return !(first & IS_VALUE) && (first & TWO_BYTES) ? 2 : 1; }

/* Merges runs of the same value from `at` on, within JOIN_RUNS runs. Returns the new length. */
static size_t joinRuns(char *hll, size_t len, size_t at) {
    for (int examined = 0; examined < JOIN_RUNS && at < len; examined++) {
        unsigned here = (unsigned char)hll[at], next = at + 1 < len ? (unsigned char)hll[at + 1] : 0;
        unsigned length = (here & 3) + (next & 3) + 2;
        if (!(here & IS_VALUE) || (here & ~3u) != (next & ~3u) || length > VALUE_LENGTH_MAX) {
            at += runBytes(hll[at]);
            continue;
        }
        hll[at] = (char)((here & ~3u) | (length - 1));
        memmove(hll + at + 1, hll + at + 2, len - at - 2);
        len--;
    }
    return len;
}

hllVerdict hllProbe(slice hll, hllElement element, size_t sparse_max, hllPosition *position) {
    unsigned char cut[CUT_BYTES];

    if (hllIsDense(hll)) return denseGet(hll.ptr, element.index) >= element.rank ? HLL_PRESENT : HLL_RAISES;
    if (!findRun(hll, element.index, position)) return HLL_CORRUPT;
    if (position->value >= element.rank) return HLL_PRESENT;
    if (element.rank > VALUE_MAX) return HLL_RAISES_DENSE;
    size_t had = runBytes(hll.ptr[position->at]), needs = cutRun(cut, element, position);
    return needs > had && hll.len + needs - had > sparse_max ? HLL_RAISES_DENSE : HLL_RAISES;
}

size_t hllRaise(char *hll, size_t len, hllElement element, const hllPosition *position) {
    unsigned char cut[CUT_BYTES];

    if (hllIsDense(sliceOf(hll, len))) {
        denseSet(hll, element.index, element.rank);
        return len;
    }
    size_t had = runBytes(hll[position->at]), needs = cutRun(cut, element, position), after = position->at + had;
    memmove(hll + position->at + needs, hll + after, len - after);
    memcpy(hll + position->at, cut, needs);
    return joinRuns(hll, len - had + needs, position->previous);
}

/* ---- All registers ----------------------------------------------------------------------------------------------- */

/* Counts how many registers have each value. */
typedef struct histogram {
    uint32_t of[REGISTER_MAX + 1];
} histogram;

/* Reads all runs into `registers` and `counts`; either may be NULL. Returns false if they do not describe exactly all
 * registers. */
static bool readRuns(slice hll, uint8_t *registers, histogram *counts) {
    size_t at = HLL_HEADER_BYTES;
    unsigned first = 0;
    hllRun run;

    if (hll.len > SPARSE_BYTES_MAX) return false;
    while (hllNextRun(hll, &at, &run)) {
        if (run.length > HLL_REGISTERS - first) return false;
        if (counts) counts->of[run.value] += run.length;
        for (unsigned i = 0; registers && run.value && i < run.length; i++) {
            if (registers[first + i] < run.value) registers[first + i] = (uint8_t)run.value;
        }
        first += run.length;
    }
    return at == hll.len && first == HLL_REGISTERS;
}

bool hllIsSound(slice hll) { return hllIsDense(hll) || readRuns(hll, NULL, NULL); }

bool hllUnpack(uint8_t registers[HLL_REGISTERS], slice hll) {
    if (hllIsDense(hll)) {
        CHOOSE(spread, registers, hll.ptr);
        return true;
    }
    memset(registers, 0, HLL_REGISTERS);
    return readRuns(hll, registers, NULL);
}

bool hllMerge(uint8_t registers[HLL_REGISTERS], slice hll) {
    if (!hllIsDense(hll)) return readRuns(hll, registers, NULL);
    CHOOSE(raise, registers, hll.ptr);
    return true;
}

/* ---- The estimate ------------------------------------------------------------------------------------------------ */

/* Ertl's sigma, for registers that are 0, and tau, for those that have their largest value. Both sum a series until it
 * no longer changes. */
static double sigma(double x) {
    if (x == 1.0) return INFINITY;
    double sum = x, before, factor = 1;
    do {
        x *= x;
        before = sum;
        sum += x * factor;
        factor += factor;
    } while (sum != before);
    return sum;
}

static double tau(double x) {
    if (x == 0.0 || x == 1.0) return 0.0;
    double sum = 1 - x, before, factor = 1;
    do {
        x = sqrt(x);
        before = sum;
        factor *= 0.5;
        sum -= (1 - x) * (1 - x) * factor;
    } while (sum != before);
    return sum / 3;
}

static uint64_t hyperloglogEstimate(const histogram *counts) {
    const double m = HLL_REGISTERS, alpha = 0.721347520444481703680; /* 1 / (2 ln 2) */
    double z = m * tau((m - counts->of[RANK_MAX]) / m);

    for (int rank = HASH_BITS; rank >= 1; rank--) z = (z + counts->of[rank]) * 0.5;
    z += m * sigma(counts->of[0] / m);
    return (uint64_t)llroundl(alpha * m * m / z);
}

/* Uses four sums side by side, so that equal neighbours do not wait for one another. */
static void countBytes(const uint8_t *bytes, size_t count, uint32_t sums[4][256]) {
    for (size_t i = 0; i < count; i += 4) {
        for (int lane = 0; lane < 4; lane++) sums[lane][bytes[i + (size_t)lane]]++;
    }
}

uint64_t hllEstimateRegisters(const uint8_t registers[HLL_REGISTERS]) {
    uint32_t sums[4][256] = {0};
    histogram counts;

    countBytes(registers, HLL_REGISTERS, sums);
    for (int v = 0; v <= REGISTER_MAX; v++) counts.of[v] = sums[0][v] + sums[1][v] + sums[2][v] + sums[3][v];
    return hyperloglogEstimate(&counts);
}

bool hllEstimate(slice hll, uint64_t *count) {
    if (hllIsDense(hll)) {
        uint8_t registers[HLL_REGISTERS];
        (void)hllUnpack(registers, hll);
        *count = hllEstimateRegisters(registers);
        return true;
    }
    histogram counts = {{0}};
    if (!readRuns(hll, NULL, &counts)) return false;
    *count = hyperloglogEstimate(&counts);
    return true;
}
