/* repl.h -- runs lines of commands from a terminal or a pipe.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_REPL_H
#define CLI_REPL_H

#include "session.h"

/* Run lines until the end of input. Return the exit code. */
int replRunTerminal(cliSession *s);
int replRunPipe(cliSession *s);

#endif
