/* hot_keys.h -- finds the keys that take the most time and the most bytes, from a sample of the commands.
 *
 * The thread that reads commands picks one in `ratio` of them for the sample. When a picked command has been executed
 * and its request block is back, the same thread counts its cost for each of its keys. Main only stores the cost next
 * to the keys. Each thread has a hotCollector of its own; a reader adds them up. Design: docs/design/hot_keys.md.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_HOT_KEYS_H
#define ENGINE_HOT_KEYS_H

#include "client.h"
#include "command_record.h"
#include "command_table.h"
#include "heavy_hitters.h"

#include <stdatomic.h>

typedef enum { HOT_KEYS_CPU, HOT_KEYS_NET, HOT_KEYS_METRICS } hotKeysMetric;

/* The counts of one thread. Initialize to zero. Fields belong to the thread unless their comment says otherwise. */
typedef struct hotCollector {
    uint32_t session; /* session of the counts; 0: none */
    uint64_t until;   /* commands until the next one to pick, that one included */
    /* Under the lock of hot_keys.c: these pointers, which the thread changes and others read; not their targets. */
    heavyHitters *by[HOT_KEYS_METRICS]; /* owns; created by the first command that is counted */
    struct hotCollector *next, *prev;   /* in the list of all collectors with counts */
} hotCollector;

/* The session that commands are picked for; 0 if nothing is tracked. */
extern _Atomic uint32_t hot_keys_session;

/* --- On the thread that reads commands; hc is its own ------------------------------------------------------------- */
/* Returns true, and passes over the next `n` commands, if nothing is tracked or none of them is to be picked. */
static inline bool hotKeysPassBy(hotCollector *hc, size_t n) {
    uint32_t session = atomic_load_explicit(&hot_keys_session, memory_order_relaxed);
    if (likely(session == 0)) return true;
    if (unlikely(session != hc->session || n >= hc->until)) return false;
    hc->until -= n;
    return true;
}
/* Call if hotKeysPassBy() returns false. Picks commands among the `n` from `first` on, which have not been handed over
 * yet. Returns their samples, which lie in the arena; NULL if there are none. */
requestSample *hotKeysPick(hotCollector *hc, recordArena *a, parsedCommand *first, size_t n);
/* Counts the samples whose commands have run. Their requests must still be in memory. */
void hotKeysCount(hotCollector *hc, const requestSample *samples);
/* Discards the counts of a session that is no longer counted. */
void hotKeysTidy(hotCollector *hc);
/* Call when the thread of `hc` has ended: main's collector takes over its counts. Main. */
void hotKeysRetire(hotCollector *hc);

/* --- Main --------------------------------------------------------------------------------------------------------- */
typedef struct hotKeysPlan {
    unsigned metrics; /* a bit for each hotKeysMetric */
    uint64_t ratio;   /* on average one in `ratio` commands is picked; at least 1 */
} hotKeysPlan;
/* Begins a session and discards the counts of the previous one. */
void hotKeysBegin(const hotKeysPlan *plan);
/* Stops picking commands. The counts stay. */
void hotKeysEnd(void);
/* Ends the session and discards its counts. Their memory is freed when each thread has run hotKeysTidy(), which the
 * `tidy_threads` function of hotKeysSetNet() makes all threads do soon. */
void hotKeysForget(void);
/* Sets functions of net; call at startup. `tidy_threads` makes each thread call hotKeysTidy() soon. `gather` has the
 * commands counted that have run and whose requests main still has. */
void hotKeysSetNet(void (*tidy_threads)(void), void (*gather)(void));
/* Does the same as hotKeysCount() with main's collector, and marks the samples so that they are not counted again. */
void hotKeysCountHere(requestSample *samples);

/* Cost of all commands with keys since the last hotKeysBegin(), picked or not. Commands of a script are part of the
 * command that runs the script. Main. */
typedef struct hotKeysTotals {
    uint64_t ns, net_bytes;
} hotKeysTotals;
extern hotKeysTotals hot_keys_totals;

/* Part of hotKeysRan() for a picked command. */
void hotKeysRanSampled(const parsedCommand *req, uint64_t ns, size_t reply_bytes);
/* Stores the cost of the client's command, which has run (CALL_AFTER_HOT_KEYS). */
static inline void hotKeysRan(const client *c, uint64_t ns, size_t reply_bytes) {
    const parsedCommand *req = c->req;
    if (req->nkeys == 0 || unlikely(c->flags & CLIENT_FAKE)) return; /* a script's client */
    hot_keys_totals.ns += ns;
    hot_keys_totals.net_bytes += req->wire_len + reply_bytes;
    if (unlikely(req->flags & REQ_SAMPLED)) hotKeysRanSampled(req, ns, reply_bytes);
}

/* --- Any thread --------------------------------------------------------------------------------------------------- */
/* Writes the keys with the largest weights since the last hotKeysBegin(), largest first, at most `max`, and returns
 * their number. A weight is the nanoseconds or bytes of the picked commands; of a command with several keys, each gets
 * the same share. The caller frees the keys with heavyKeysFree(). */
size_t hotKeysTop(hotKeysMetric metric, heavyKey *out, size_t max);
/* Returns the weight of all keys together, including those that hotKeysTop() does not return. */
uint64_t hotKeysSum(hotKeysMetric metric);
/* Returns the bytes that all collectors use. */
size_t hotKeysMemory(void);

/* --- HOTKEYS (hot_keys_cmd.c) ------------------------------------------------------------------------------------- */

/* Call from cron: stops a session whose DURATION has passed. */
void hotkeysTick(void);

commandHandler hotkeysStartCommand, hotkeysStopCommand, hotkeysGetCommand, hotkeysResetCommand;

#endif
