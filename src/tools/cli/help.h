/* help.h -- what the server says about its commands, for help and completion.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include "session.h"

/* Ask the server, once per process. Without an answer there is nothing to show, which is no error. */
void helpLoad(cliSession *s);
/* `help`, `help <command>`, `help @group`. */
void helpShow(cliSession *s, int argc, const slice *argv);
/* The n-th completion of `line`, zmalloc'ed; NULL when there are no more. */
char *helpCompletion(const char *line, size_t n);
/* The arguments of the command that `line` starts with, borrowed; NULL when it is none. */
const char *helpSyntax(const char *line);

#endif
