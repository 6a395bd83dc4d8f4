/* file_limit.h -- how many file descriptors the server needs, and the system's limit.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_FILE_LIMIT_H
#define NET_FILE_LIMIT_H

#include "platform.h"

/* Returns how many descriptors are needed for other things than clients: listeners, logs, files, event loops. */
long long fileLimitReserved(void);
/* Returns how many are needed for maxclients clients and everything else. */
long long fileLimitWanted(void);
/* Raises the limit of this process to fileLimitWanted(), or as far as the system allows; never lowers it. Returns the
 * limit now in force, and in *why the errno if that is less. Returns -1, with *why set, if the limit is unknown. */
long long fileLimitRaise(int *why);

#endif
