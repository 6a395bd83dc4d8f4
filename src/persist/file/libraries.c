/* libraries.c -- calls the functions that the owner of the function libraries has registered.
 *
 * Not here    where libraries are in a file (rdb_save.c, rdb_load.c, aof_base.c); what they contain
 *             (script/functions/functions.h).
 * Owns        nothing.
 * Threads     main.
 * Tests       tests/persist/loading.tcl, tests/script/functions.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "libraries.h"

static const librariesOwner *owner; /* borrowed, until the process ends */

void librariesSetOwner(const librariesOwner *of) { owner = of; }

void librariesEach(void (*take)(void *arg, slice text), void *arg) {
    if (owner) owner->each(take, arg);
}

sds librariesAdd(slice text, bool replace) { return owner ? owner->add(text, replace) : NULL; }

void librariesClear(void) {
    if (owner) owner->clear();
}
