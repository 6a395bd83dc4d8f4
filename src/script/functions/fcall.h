/* fcall.h -- FCALL, FCALL_RO: call a function of a library.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_FCALL_H
#define SCRIPT_FCALL_H

#include "command_table.h"

commandHandler fcallCommand, fcallRoCommand;
/* Flags of both that follow from the function. */
commandFlagsFn fcallFlags;

#endif
