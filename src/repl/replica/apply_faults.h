/* apply_faults.h -- reacts to commands of the primary that fail on this replica, or that cannot be written to its disk.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPL_APPLY_FAULTS_H
#define REPL_APPLY_FAULTS_H

#include "client.h"

/* Call at startup. */
void applyFaultsInit(void);
/* Call when a command of the primary has run: if it is a write that cannot be written to disk, logs that or ends the
 * process. */
void applyFaultsCheck(const client *c);

#endif
