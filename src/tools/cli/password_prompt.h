/* password_prompt.h -- reads a password, which is shown as asterisks.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_PASSWORD_PROMPT_H
#define CLI_PASSWORD_PROMPT_H

#include "sds.h"

/* Reads a password from the terminal, or a line of stdin if that is not a terminal. The caller owns the text, "" at the
 * end of input. Ctrl-C restores the terminal and ends the program. */
sds passwordPrompt(const char *prompt);

#endif
