/* libraries.h -- function libraries that a snapshot had: nobody here can run them, and none is to be lost.
 *
 * They are kept as text and stand in each snapshot that is written, as they were read.
 *
 * Runs on: who has main's role; librariesCount() and librariesAt() also the only thread of a child.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_LIBRARIES_H
#define PERSIST_LIBRARIES_H

#include "sds.h"

/* Take a copy of a library's text. `replace`: one of the same name goes; O(libraries). */
void librariesAdd(slice code, bool replace);
void librariesClear(void);
size_t librariesCount(void);
/* Borrowed until the next call that changes something. */
slice librariesAt(size_t index);
/* Their names as "a, b, ..."; of many the first few. The caller's. */
sds librariesNames(void);

#endif
