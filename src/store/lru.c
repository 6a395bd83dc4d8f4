/* lru.c -- the arithmetic of the LRU clock and of the LFU counter.
 *
 *   LRU   23                                    0        LFU   23                      8 7           0
 *         +-------------------------------------+              +------------------------+-------------+
 *         | seconds, modulo 2^24                |              | minutes, modulo 2^16   | log counter |
 *         +-------------------------------------+              +------------------------+-------------+
 *
 * The counter grows by one with probability 1 / ((counter - 5) * lfu-log-factor + 1), so that 255 represents about
 * a million uses at factor 10. It loses one for each lfu-decay-time minutes that pass, which is computed when
 * the counter is next read.
 *
 * Not here    choosing keys to evict (evict.c).
 * Owns        the clock, refreshed by cron.
 * Threads     main.
 * Tests       tests/unit/store/lru_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "lru.h"

#include "panic.h"
#include "rng.h"

#define LFU_COUNTER_MAX 255u
#define LFU_MINUTES_MASK 0xffffu

uint32_t lru_clock = 1;
unsigned lru_frozen;
static uint32_t lfu_minutes;

void lruClockRefresh(int64_t now_ms) {
    assertMainRole();
    int64_t seconds = now_ms / 1000;
    lru_clock = (uint32_t)seconds & LRU_CLOCK_MAX;
    if (lru_clock == 0) lru_clock = 1; /* 0 means "not set yet" */
    lfu_minutes = (uint32_t)(seconds / 60) & LFU_MINUTES_MASK;
}

void lruSetFrozen(unsigned why, bool frozen) {
    assertMainRole();
    if (frozen) lru_frozen |= why;
    else lru_frozen &= ~why;
}

static uint32_t lfuBits(unsigned counter) { return lfu_minutes << 8 | counter; }

uint32_t lruInitialBits(void) {
    return store_settings.maxmemory_policy & MAXMEMORY_FLAG_LFU ? lfuBits(LFU_INITIAL) : lru_clock;
}

/* ---- LFU ---- */

unsigned lfuFrequency(const robj *o) {
    unsigned counter = o->lru & LFU_COUNTER_MAX;
    if (store_settings.lfu_decay_time == 0) return counter;
    uint32_t minutes = (lfu_minutes - (o->lru >> 8)) & LFU_MINUTES_MASK;
    long long periods = minutes / store_settings.lfu_decay_time;
    return periods > counter ? 0 : counter - (unsigned)periods;
}

static unsigned counterAfterUse(unsigned counter) {
    if (counter >= LFU_COUNTER_MAX) return LFU_COUNTER_MAX;
    double above = counter > LFU_INITIAL ? counter - LFU_INITIAL : 0;
    double chance = 1.0 / (above * (double)store_settings.lfu_log_factor + 1);
    return rngDouble(rngThread()) < chance ? counter + 1 : counter;
}

void lfuTouch(robj *o) {
    assertMainRole();
    o->lru = lfuBits(counterAfterUse(lfuFrequency(o))) & LRU_CLOCK_MAX;
}

void lfuSetFrequency(robj *o, unsigned freq) {
    o->lru = lfuBits(freq > LFU_COUNTER_MAX ? LFU_COUNTER_MAX : freq) & LRU_CLOCK_MAX;
    if (o->lru == 0) o->lru = LFU_MINUTES_MASK << 8; /* 0 means "not set yet": use the minute before */
}

/* ---- LRU ---- */

uint64_t lruIdleMs(const robj *o) {
    uint32_t idle_s = (lru_clock - o->lru) & LRU_CLOCK_MAX;
    return (uint64_t)idle_s * 1000;
}

/* An idle time longer than the clock's range counts as the longest possible. */
void lruSetIdle(robj *o, long long idle_s) {
    if (idle_s < 0) idle_s = 0;
    if (idle_s > LRU_CLOCK_MAX - 1) idle_s = LRU_CLOCK_MAX - 1;
    o->lru = (lru_clock - (uint32_t)idle_s) & LRU_CLOCK_MAX;
    if (o->lru == 0) o->lru = LRU_CLOCK_MAX; /* 0 means "not set yet" */
}
