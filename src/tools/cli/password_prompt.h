/* password_prompt.h -- a password that is typed, seen as asterisks.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_PASSWORD_PROMPT_H
#define CLI_PASSWORD_PROMPT_H

#include "sds.h"

/* Ask at the terminal, or take a line of stdin where that is none. The caller owns what was typed; "" at the end of
 * input. Ctrl-C ends the program, with the terminal as it was. */
sds passwordPrompt(const char *prompt);

#endif
