/* libraries.h -- gives code that reads and writes files access to the function libraries, which the layer `script`
 * owns.
 *
 * Runs on: the thread that has the main role; librariesEach() also on the only thread of a forked child.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_LIBRARIES_H
#define PERSIST_LIBRARIES_H

#include "sds.h"

typedef struct librariesOwner {
    void (*each)(void (*take)(void *arg, slice text), void *arg);
    /* Adds a library from a file; with `replace` it replaces one of the same name. Returns NULL, or the text of an
     * error, which the caller owns. */
    sds (*add)(slice text, bool replace);
    void (*clear)(void);
} librariesOwner;

/* Call at startup. Without an owner there are no libraries, and those in files are ignored. */
void librariesSetOwner(const librariesOwner *owner);

/* Calls `take` with the source text of each library. */
void librariesEach(void (*take)(void *arg, slice text), void *arg);
/* Calls the owner's add(). Returns NULL if there is no owner. */
sds librariesAdd(slice text, bool replace) must_check;
/* Deletes all libraries. */
void librariesClear(void);

#endif
