/* help.h -- the server's documentation of its commands, for help, hints and completion.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include "line_editor.h"
#include "cli_connection.h"

/* Requests COMMAND DOCS unless it was loaded or refused before. A server without COMMAND DOCS has no help, which is not
 * an error. If the server closes the connection or denies access, a line on stderr reports it and the session is
 * disconnected. */
void helpLoad(cliConnection *c);
/* Runs `help`, `help <command>` and `help @group`. */
void helpShow(cliConnection *c, int argc, const slice *argv);
/* Returns the words that may complete the last word of `line`: commands, their subcommands and options, groups, and the
 * words of the program itself. */
lineChoices helpChoices(const char *line);
/* Returns the arguments that may follow `line`, after a blank if one is needed; NULL if they are not known. */
sds helpHint(const char *line);
/* Returns the command most similar to `word`, in upper case and borrowed; NULL if none is similar. */
const char *helpNearest(const char *word);

#endif
