/* command_defs.h -- the commands of this layer and the ones that layers above bind handlers to.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef COMMANDS_COMMAND_DEFS_H
#define COMMANDS_COMMAND_DEFS_H

#include "command_table.h"

/* Register every group of table/. Boot only; then layers above bind their handlers, and commandTableSeal(). */
void commandsRegister(void);

#endif
