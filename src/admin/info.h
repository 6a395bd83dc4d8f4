/* info.h -- the INFO command.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ADMIN_INFO_H
#define ADMIN_INFO_H

#include "client.h"

/* INFO [section ...] */
void infoCommand(client *c);
/* Prints, by panicPrint(), the sections that need neither allocation nor the allocator's statistics. */
void infoPrintCrash(void);
/* Records the start time. Call at startup. */
void infoInit(void);
int64_t infoStartedAt(void); /* in unix seconds */

#endif
