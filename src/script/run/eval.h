/* eval.h -- EVAL, EVALSHA, EVAL_RO, EVALSHA_RO: run a script by its text or by the SHA1 of it.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_EVAL_H
#define SCRIPT_EVAL_H

#include "command_table.h"

commandHandler evalCommand, evalRoCommand, evalshaCommand, evalshaRoCommand;
/* Flags of EVAL and EVALSHA that follow from the script. */
commandFlagsFn evalFlags, evalshaFlags;

#endif
