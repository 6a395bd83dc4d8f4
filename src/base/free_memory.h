/* free_memory.h -- the memory that this process may still take.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_FREE_MEMORY_H
#define BASE_FREE_MEMORY_H

#include "slice.h"

/* Returns the bytes that the machine has available, limited by the memory of the process's cgroup and of the groups
 * around it, less what they use; file cache that the kernel can drop counts as free. SIZE_MAX if nothing is known.
 * Reads some files of the system, some ten microseconds. */
size_t freeMemoryBytes(void);

/* --- its parts, for tests ------------------------------------------------------------------------- */
/* Returns the number of the line "NAME N" or "NAME: N kB" in a text of such lines, in bytes; 0 if there is none. */
size_t freeMemoryField(slice text, const char *name);
/* Returns what the groups of `text` (/proc/self/cgroup) leave under `root`; SIZE_MAX: no limit. */
size_t freeMemoryInGroups(const char *root, slice text);

#endif
