/* module_cmds.h -- the list of modules, for MODULE LIST and HELLO.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef COMMANDS_MODULE_CMDS_H
#define COMMANDS_MODULE_CMDS_H

#include "client.h"

/* Adds the list of modules to the reply, in the form of MODULE LIST and HELLO. */
void replyModules(client *c);

#endif
