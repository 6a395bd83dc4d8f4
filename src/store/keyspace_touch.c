/* keyspace_touch.c -- in debug builds, reports all access of commands to the keyspace.
 *
 * Changes are reported by keyspace_events.h, which debug builds verify for each of them, so only
 * lookups need a call of their own.
 *
 * Not here    the rules of access (engine/key_check.c).
 * Owns        nothing.
 * Threads     main.
 * Tests       the suite, under sanitizers
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "keyspace_touch.h"

#ifdef DEBUG_ASSERTIONS
static keyTouchedFn *touched;

void storeOnTouch(keyTouchedFn *fn) { touched = fn; }

void keyspaceTouched(const serverDb *db, uint64_t hash, keyTouch touch) {
    if (touched) touched(db, hash, touch);
}
#endif
