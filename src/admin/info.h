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
/* The text of the sections that `names` ask for, as INFO answers; none: the default ones. The caller owns it. */
/* The sections that can be made without allocating and without the allocator's figures, through panicPrint(). */
void infoPrintCrash(void);
/* Boot: the moment of the start. */
void infoInit(void);
int64_t infoStartedAt(void); /* unix seconds */

#endif
