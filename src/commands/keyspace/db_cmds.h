/* db_cmds.h -- what FLUSHALL and FLUSHDB do beyond emptying databases.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef COMMANDS_DB_CMDS_H
#define COMMANDS_DB_CMDS_H

#include "ae.h"

/* Sets the function that FLUSHALL calls after it has emptied all databases and before it replies; for a layer that has
 * another copy of the dataset. Call only at startup. */
void flushallSetAfter(void (*after)(void));
/* Call at startup, with main's loop: FLUSHALL SYNC waits for a thread, which ends the wait by it. */
void flushInit(aeEventLoop *loop);

#endif
