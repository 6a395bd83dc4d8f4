/* file_limit.h -- how many descriptors the server needs, and the system's limit of them.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_FILE_LIMIT_H
#define NET_FILE_LIMIT_H

#include "platform.h"

/* Descriptors that are no clients: listeners, logs, files, what threads wait with. */
long long fileLimitReserved(void);
/* For maxclients clients and all else. */
long long fileLimitWanted(void);
/* Raise this process's limit to what is wanted, or as far as the system lets; never lower it. Returns the limit then in
 * force, and in *why the system's reason when that is less than wanted. -1 with *why: the limit cannot be known. */
long long fileLimitRaise(int *why);

#endif
