/* repl_info.h -- the INFO fields of replication.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPL_REPL_INFO_H
#define REPL_REPL_INFO_H

#include "platform.h"

/* Bytes received from primaries and sent to replicas since startup, RDBs included. CONFIG RESETSTAT resets the INFO
 * fields, but not these. */
typedef struct replTraffic {
    uint64_t input, output;
} replTraffic;
replTraffic replTrafficNow(void);

/* Registers the INFO fields of this layer. Call at startup only. */
void replInfoRegister(void);

#endif
