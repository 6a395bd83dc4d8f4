/* libraries.c -- see libraries.h.
 *
 * Not here    where they stand in a file (rdb_save.c, rdb_load.c, aof_base.c); what they are
 *             (script/functions/functions.h).
 * Owns        nothing.
 * Threads     main.
 * Tests       tests/persist/loading.tcl, tests/script/functions.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "libraries.h"

static const librariesOwner *owner; /* borrowed, for good */

void librariesSetOwner(const librariesOwner *of) {
    owner = of;
}

void librariesEach(void (*take)(void *arg, slice text), void *arg) {
    if (owner) owner->each(take, arg);
}

sds librariesAdd(slice text, bool replace) {
    return owner ? owner->add(text, replace) : NULL;
}

void librariesClear(void) {
    if (owner) owner->clear();
}
