/* keyspace_touch.c -- debug builds: whoever looks at the keyspace or changes it passes here.
 *
 * Changes are told where the door of keyspace_events.h is, which debug builds see to be passed by each of them; so only
 * lookups need a call of their own.
 *
 * Not here    who may touch what (engine/key_check.c).
 * Owns        nothing.
 * Threads     main.
 * Tests       the suite, under sanitizers
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "keyspace_touch.h"

#ifdef DEBUG_ASSERTIONS
static keyTouchedFn *touched;

void storeOnTouch(keyTouchedFn *fn) {
    touched = fn;
}

void keyspaceTouched(const serverDb *db, uint64_t hash, keyTouch touch) {
    if (touched) touched(db, hash, touch);
}
#endif
