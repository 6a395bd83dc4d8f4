/* hot_keys.h -- which keys take the most time and the most bytes, found where commands pass.
 *
 * The thread that reads a command picks it or does not (one in `ratio`), and when it has been executed and its block
 * is back, the same thread counts it for each of its keys. Main only leaves what the command has cost beside the keys.
 * Each thread has a hotCollector of its own; reading adds them up. docs/design/hot_keys.md has the whole.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_HOT_KEYS_H
#define ENGINE_HOT_KEYS_H

#include "client.h"
#include "command_record.h"
#include "heavy_hitters.h"

#include <stdatomic.h>

typedef enum { HOT_KEYS_CPU, HOT_KEYS_NET, HOT_KEYS_METRICS } hotKeysMetric;

/* What one thread has counted. Starts as zeroes; all fields are the thread's, but where it says something else. */
typedef struct hotCollector {
    uint32_t session; /* that it counts for; 0: none */
    uint64_t until;   /* commands until the next that is picked, itself included */
    /* hot_keys.c's lock: pointers, which the thread changes and others read; not what they point to. */
    heavyHitters *by[HOT_KEYS_METRICS]; /* own; made with the first command that is counted */
    struct hotCollector *next, *prev;   /* of all that have counted something */
} hotCollector;

/* The session that commands are picked for; 0: nothing is tracked. */
extern _Atomic uint32_t hot_keys_session;

/* --- The thread that reads: hc is its own --- */
/* Nothing is tracked, or none of the next `n` commands is to be picked. */
static inline bool hotKeysPassBy(hotCollector *hc, size_t n) {
    uint32_t session = atomic_load_explicit(&hot_keys_session, memory_order_relaxed);
    if (likely(session == 0)) return true;
    if (unlikely(session != hc->session || n >= hc->until)) return false;
    hc->until -= n;
    return true;
}
/* After that, if it is false: pick commands of the `n` from `first` on, which have not been handed over. Their samples
 * are returned, NULL for none: they lie in the arena. */
requestSample *hotKeysPick(hotCollector *hc, recordArena *a, parsedCommand *first, size_t n);
/* Count those that have run. The requests are still there. */
void hotKeysCount(hotCollector *hc, const requestSample *samples);
/* Let go of what belongs to a session that is over. */
void hotKeysTidy(hotCollector *hc);
/* The thread has ended: what it has counted stays. Main. */
void hotKeysRetire(hotCollector *hc);

/* --- Main --- */
typedef struct hotKeysPlan {
    unsigned metrics; /* a bit for each hotKeysMetric */
    uint64_t ratio;   /* one command of so many is picked, on average; from 1 on */
} hotKeysPlan;
/* Begin: what was counted before is gone. */
void hotKeysBegin(const hotKeysPlan *plan);
/* Pick no more; what was counted stays. */
void hotKeysEnd(void);
/* What was counted is gone; memory, too, when each thread has been told, by `tell`, which has all of them call
 * hotKeysTidy() soon. */
void hotKeysForget(void);
/* Boot only. `gather`: see to it that commands that have run already are counted, as far as main still has them. */
void hotKeysSetNet(void (*tell)(void), void (*gather)(void));
/* To be counted by main itself. The same as hotKeysCount(), and not again. */
void hotKeysCountHere(requestSample *samples);

/* All commands with keys since the last hotKeysBegin(), picked or not; those of programs are part of what runs the
 * program. Main. */
typedef struct hotKeysTotals {
    uint64_t ns, net_bytes;
} hotKeysTotals;
extern hotKeysTotals hot_keys_totals;

/* hotKeysRan()'s, if it was picked. */
void hotKeysRanSampled(const parsedCommand *req, uint64_t ns, size_t reply_bytes);
/* The client's command has run: CALL_AFTER_HOT_KEYS. */
static inline void hotKeysRan(const client *c, uint64_t ns, size_t reply_bytes) {
    const parsedCommand *req = c->req;
    if (req->nkeys == 0 || unlikely(c->flags & CLIENT_FAKE)) return; /* fake: a program's */
    hot_keys_totals.ns += ns;
    hot_keys_totals.net_bytes += req->wire_len + reply_bytes;
    if (unlikely(req->flags & REQ_SAMPLED)) hotKeysRanSampled(req, ns, reply_bytes);
}

/* --- Any thread --- */
/* The keys with the most of it since the last hotKeysBegin(), most first, at most `max`: their number. Weights are
 * nanoseconds or bytes of the commands that were picked; of a command with several keys each has the same share. To be
 * freed by heavyKeysFree(). */
size_t hotKeysTop(hotKeysMetric metric, heavyKey *out, size_t max);
/* What all keys together have, those that are not told included. */
uint64_t hotKeysSum(hotKeysMetric metric);
/* Bytes that collectors take. */
size_t hotKeysMemory(void);

#endif
