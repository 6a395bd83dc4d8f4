/* repl_info.h -- what INFO says of replication.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPL_REPL_INFO_H
#define REPL_REPL_INFO_H

#include "platform.h"

/* Bytes that came from primaries and went to replicas, snapshots with them, since the start: CONFIG RESETSTAT, which
 * resets the fields of INFO, does not change them. */
typedef struct replTraffic {
    uint64_t input, output;
} replTraffic;
replTraffic replTrafficNow(void);

/* Boot. */
void replInfoRegister(void);

#endif
