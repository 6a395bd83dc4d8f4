/* module_cmds.h -- MODULE, and what programs that ask for modules are shown.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef COMMANDS_MODULE_CMDS_H
#define COMMANDS_MODULE_CMDS_H

#include "client.h"

/* The list of modules, as MODULE LIST and HELLO have it. */
void replyModules(client *c);

#endif
