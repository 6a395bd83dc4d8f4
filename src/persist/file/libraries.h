/* libraries.h -- function libraries in files: what another layer keeps of them, for those that write and read files.
 *
 * Runs on: who has main's role; librariesEach() also the only thread of a child.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_LIBRARIES_H
#define PERSIST_LIBRARIES_H

#include "sds.h"

typedef struct librariesOwner {
    void (*each)(void (*take)(void *arg, slice text), void *arg);
    /* A file has one; `replace`: in place of one of its name. NULL, or the text of an error, which is the caller's. */
    sds (*add)(slice text, bool replace);
    void (*clear)(void);
} librariesOwner;

/* Boot. Without an owner there are none, and those of files are dropped. */
void librariesSetOwner(const librariesOwner *owner);

void librariesEach(void (*take)(void *arg, slice text), void *arg);
sds librariesAdd(slice text, bool replace) must_check;
void librariesClear(void);

#endif
