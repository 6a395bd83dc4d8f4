/* keyspace_touch.h -- debug builds: whoever looks at the keyspace or changes it passes here.
 *
 * What the server does on its own (expiry, eviction, files that are loaded) does not.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef STORE_KEYSPACE_TOUCH_H
#define STORE_KEYSPACE_TOUCH_H

#include "platform.h"

typedef struct serverDb serverDb;

/* One key is looked up, or changed by the running command; a database as a whole is read, or emptied or exchanged. */
typedef enum { TOUCH_LOOKUP, TOUCH_CHANGE, TOUCH_READ_ALL, TOUCH_CHANGE_ALL } keyTouch;

#ifdef DEBUG_ASSERTIONS
/* `hash` is the key's; 0 where there is none. */
typedef void keyTouchedFn(const serverDb *db, uint64_t hash, keyTouch touch);
void storeOnTouch(keyTouchedFn *fn); /* boot: there is one */
void keyspaceTouched(const serverDb *db, uint64_t hash, keyTouch touch);
#else
static inline void keyspaceTouched(const serverDb *db, uint64_t hash, keyTouch touch) {
    unused(db), unused(hash), unused(touch);
}
#endif

#endif
