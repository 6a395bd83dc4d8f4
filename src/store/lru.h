/* lru.h -- the 24 bits of an object that record how recently, or how often, it was used.
 *
 * LRU policies: seconds, wrapping after 194 days. LFU policies: 16 bits of minutes of the last decay, and a logarithmic
 * counter of 8 bits. 0 means "not set yet".
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef STORE_LRU_H
#define STORE_LRU_H

#include "object.h"
#include "store_state.h"

#define LRU_BITS 24
#define LRU_CLOCK_MAX ((1u << LRU_BITS) - 1)
#define LFU_INITIAL 5

extern uint32_t lru_clock; /* read it by lruClock() */
/* Returns the clock in seconds, 24 bits; cron refreshes it. */
static inline uint32_t lruClock(void) { return lru_clock; }
void lruClockRefresh(int64_t now_ms); /* sets the clock to this time */
uint32_t lruInitialBits(void);        /* for a new object: LRU now, or LFU counter 5 */
void lfuTouch(robj *o);               /* lruTouch() for LFU */
/* No use is recorded for a client with NO-TOUCH, nor while a child process shares the pages, as a write would copy the
 * page of a key that is only read. */
enum { LRU_FROZEN_BY_CLIENT = 1, LRU_FROZEN_BY_CHILD = 2 };
extern unsigned lru_frozen; /* LRU_FROZEN_ bits */
/* Sets or clears one of these reasons. */
void lruSetFrozen(unsigned why, bool frozen);

/* Records a lookup. The clock advances once a second, so most lookups of a hot key write nothing. */
static inline void lruTouch(robj *o) {
    if (unlikely(lru_frozen)) return;
    if (unlikely(store_settings.maxmemory_policy & MAXMEMORY_FLAG_LFU)) lfuTouch(o);
    else if (o->lru != lru_clock) o->lru = lru_clock & LRU_CLOCK_MAX;
}

uint64_t lruIdleMs(const robj *o);            /* OBJECT IDLETIME */
unsigned lfuFrequency(const robj *o);         /* OBJECT FREQ: counter after decay */
void lruSetIdle(robj *o, long long idle_s);   /* RESTORE IDLETIME */
void lfuSetFrequency(robj *o, unsigned freq); /* RESTORE FREQ */

#endif
