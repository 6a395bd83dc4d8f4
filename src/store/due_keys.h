/* due_keys.h -- the keys of a database by the time at which they, or elements of their values, expire.
 *
 * An index beside `expires`, and one beside `volatile_items`, which expire.c deletes due keys from and db.c informs. It
 * knows keys by their hash, and nothing is removed from it: see due_keys.c. It is filled in slices, and may be absent.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef STORE_DUE_KEYS_H
#define STORE_DUE_KEYS_H

#include "dict.h"
#include "object.h"
#include "time_wheel.h"

typedef struct dueKeys {
    timeWheel *wheel;  /* owns; NULL: none */
    timeWheel *coming; /* owns; being filled, and replaces `wheel` when it is complete; NULL: none */
    uint64_t cursor;   /* of the walk over the table that fills it */
    bool of_elements;  /* const: the table is `volatile_items`, and the time that of the first element */
} dueKeys;

/* At most the time at which the first key of any index is due; INT64_MAX: none within the next seconds. expire.c sets
 * it from dueKeysNextMs() of all databases, and due_keys.c to an earlier time, which it reports. */
extern int64_t due_keys_earliest_ms;
void dueKeysOnEarlier(void (*report)(void)); /* at startup */
int64_t dueKeysNextMs(const dueKeys *due);

void dueKeysAdd(dueKeys *due, uint64_t hash, int64_t when_ms);
/* Call when a key has got an expire, or another one; `old_ms` is -1 if it had none. A key that expires later than
 * before is found at its old time, so that costs one comparison. */
static inline void dueKeysChanged(dueKeys *due, uint64_t hash, int64_t old_ms, int64_t when_ms) {
    if ((old_ms == -1 || when_ms < old_ms) && (due->wheel || due->coming)) dueKeysAdd(due, hash, when_ms);
}
/* The same for the elements of an entry, if its first time has become earlier, or if `is_new`. */
void dueKeysElements(dueKeys *due, const robj *entry, uint64_t hash, bool is_new);
/* Frees the index, because it is off, or is not complete any more: keys were loaded, or the database was emptied. */
void dueKeysDrop(dueKeys *due);

/* Takes up to `max` keys that may be due. The caller deletes what is expired, and returns those that are still in the
 * table with dueKeysAgain(). Returns their number; 0 once none is left. */
size_t dueKeysTake(dueKeys *due, int64_t now_ms, uint64_t *hashes, size_t max);
void dueKeysAgain(dueKeys *due, const robj *entry, uint64_t hash);

/* Call at each tick and while this returns true: makes an index of `table` if there is none or it has too many
 * numbers that do not matter any more. Returns true if that is not finished at `deadline_us`. */
bool dueKeysFill(dueKeys *due, const dict *table, int64_t now_ms, uint64_t deadline_us);
/* Returns whether expire-precise asks for an index of that many keys; `has`: there is one. */
bool dueKeysWanted(size_t keys, bool has);

size_t dueKeysSize(const dueKeys *due);     /* entries of the index, at least one for each key */
size_t dueKeysMemUsage(const dueKeys *due); /* bytes; O(1) */
/* Asserts that the index, if there is one, has each key of the table at its time or before. Reads all of them. */
void dueKeysCheck(const dueKeys *due, dict *table);

#endif
