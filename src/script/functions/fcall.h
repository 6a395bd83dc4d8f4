/* fcall.h -- FCALL, FCALL_RO: call a function of a library.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_FCALL_H
#define SCRIPT_FCALL_H

#include "command_table.h"

commandHandler fcallCommand, fcallRoCommand;
/* Computes the command flags of both from the function that they call. */
commandFlagsFn fcallFlags;

#endif
