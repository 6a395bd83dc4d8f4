/* help.h -- what the server says about its commands, for help, hints and completion.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include "line_editor.h"
#include "session.h"

/* Ask the server, until it has answered once. A server that knows no answer has no help to show, which is no error; one
 * that breaks the connection is told on stderr. */
void helpLoad(cliSession *s);
/* `help`, `help <command>`, `help @group`. */
void helpShow(cliSession *s, int argc, const slice *argv);
/* What the last word of `line` may become: commands, their subcommands and options, groups, words of the program
 * itself. */
lineChoices helpChoices(const char *line);
/* What may follow `line`, with a blank before it where one is needed; NULL when nothing is known. */
sds helpHint(const char *line);
/* The command, in upper case and borrowed, that somebody may have meant by `word`; NULL when none is near. */
const char *helpNearest(const char *word);

#endif
