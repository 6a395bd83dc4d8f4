/* eval.h -- EVAL, EVALSHA, EVAL_RO, EVALSHA_RO: run a script that is given by its text or by the SHA1 of its text.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_EVAL_H
#define SCRIPT_EVAL_H

#include "command_table.h"

commandHandler evalCommand, evalRoCommand, evalshaCommand, evalshaRoCommand;
/* Compute the command flags of EVAL and EVALSHA from the script that they run. */
commandFlagsFn evalFlags, evalshaFlags;

#endif
