/* keyspace_touch.h -- in debug builds, reports all access of commands to the keyspace.
 *
 * Actions of the server itself (expiry, eviction, loading) are not reported.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef STORE_KEYSPACE_TOUCH_H
#define STORE_KEYSPACE_TOUCH_H

#include "platform.h"

typedef struct serverDb serverDb;

/* A lookup of a key, or a change by the running command; a whole database is read, or is emptied or swapped. */
typedef enum { TOUCH_LOOKUP, TOUCH_CHANGE, TOUCH_READ_ALL, TOUCH_CHANGE_ALL } keyTouch;

#ifdef DEBUG_ASSERTIONS
/* `hash` is that of the key; 0 if there is none. */
typedef void keyTouchedFn(const serverDb *db, uint64_t hash, keyTouch touch);
void storeOnTouch(keyTouchedFn *fn); /* sets the only one, at startup */
void keyspaceTouched(const serverDb *db, uint64_t hash, keyTouch touch);
#else
static inline void keyspaceTouched(const serverDb *db, uint64_t hash, keyTouch touch) {
    unused(db), unused(hash), unused(touch);
}
#endif

#endif
