/* db_cmds.h -- what else FLUSHALL means.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef COMMANDS_DB_CMDS_H
#define COMMANDS_DB_CMDS_H

/* Whoever keeps the dataset elsewhere, too, says what is to be done when FLUSHALL has emptied all databases, before
 * it is answered. Boot only. */
void flushallSetAfter(void (*after)(void));

#endif
