/* processors.h -- the number of processors that this process may use.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_PROCESSORS_H
#define BASE_PROCESSORS_H

#include "slice.h"

/* Returns the number of processors that the process's first thread may run on, limited by the CPU time of its cgroup,
 * rounded up; at least 1. Both may change at run time. Reads a few files of the system, some ten microseconds. */
int processorsAvailable(void);

/* --- its parts, for tests ------------------------------------------------------------------------- */
/* Returns the limit in the text of cpu.max ("50000 100000", "max 100000"), in processors, rounded up; 0: no limit, or
 * not understood. */
int processorsOfMax(slice text);
/* Like processorsOfMax(), for cpu.cfs_quota_us and cpu.cfs_period_us ("-1": no limit). */
int processorsOfQuota(slice quota, slice period);
/* Returns the smallest limit of the groups of `text` and the groups above them, under `root`; 0: no limit. */
int processorsGranted(const char *root, slice text);

#endif
