/* control_groups.h -- the control groups (cgroups) of this process: which they are, and their files.
 *
 * Groups are nested, and each may have a limit. In a container the folder may be that of the container's own group
 * while the path is the one outside of the container, so the folder itself is a group, too.
 *
 * Trust       the files belong to the system, or to an attacker who can replace them: lengths are bounded, and a path
 *             with ".." is not followed.
 * Threads     any: there is no state.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_CONTROL_GROUPS_H
#define BASE_CONTROL_GROUPS_H

#include "slice.h"

#define CONTROL_GROUPS_ROOT "/sys/fs/cgroup"
#define SYSTEM_TEXT_MAX 16384 /* bytes of a file that are read */

/* Reads a file of the system into `buf` and returns its text, up to `size` bytes; empty if it cannot be read. */
slice systemFileRead(const char *path, char *buf, size_t size);
/* Returns the group in the text of /proc/self/cgroup: that of version 2 if `controller` is NULL, else the one of that
 * controller. Empty if there is none. */
slice controlGroupOf(slice text, const char *controller);
/* Like systemFileRead(), for file `name` of the group in `folder`. */
slice controlGroupRead(const char *folder, slice group, const char *name, char *buf, size_t size);

typedef void controlGroupFn(void *arg, const char *folder, slice group);
/* Calls `fn` for the group in the folder root/mount, for the groups around it, and for the folder itself (an empty
 * group), innermost first. */
void controlGroupEach(const char *root, const char *mount, slice group, controlGroupFn *fn, void *arg);

#endif
