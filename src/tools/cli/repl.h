/* repl.h -- lines of commands: from a person at a terminal, or from a pipe.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_REPL_H
#define CLI_REPL_H

#include "session.h"

/* Returns the exit code. */
int replRunTerminal(cliSession *s);
int replRunPipe(cliSession *s);

#endif
