/* processors.h -- how many processors this process may use.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_PROCESSORS_H
#define BASE_PROCESSORS_H

#include "slice.h"

/* Those that the process's first thread may run on, but no more than the time that its group of processes gets of them,
 * rounded up; at least 1. Both may change while it runs. Reads a few files of the system, some ten microseconds. */
int processorsAvailable(void);

/* --- its parts, for tests ------------------------------------------------------------------------- */
/* What cpu.max grants ("50000 100000", "max 100000"), in processors, rounded up; 0: no limit, or not understood. */
int processorsOfMax(slice text);
/* The same of cpu.cfs_quota_us and cpu.cfs_period_us ("-1": no limit). */
int processorsOfQuota(slice quota, slice period);
/* The group in the text of /proc/self/cgroup: version 2's for NULL, else the one of that controller. Empty when there
 * is none. */
slice processorsGroup(slice text, const char *controller);
/* The smallest grant to the groups of `text` and those that they are in, under `root`; 0: no limit. */
int processorsGranted(const char *root, slice text);

#endif
