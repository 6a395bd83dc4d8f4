/* terminal.h -- the modes, size and colors of the terminal, and input from it that needs no editor.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_TERMINAL_H
#define CLI_TERMINAL_H

#include "sds.h"
#include <signal.h>

/* Returns true if lines can be edited: stdin and stdout are terminals that support escape sequences. */
bool terminalIsCapable(void);

/* Set a mode until terminalRestore() or the end of the program. Raw: each key is delivered at once, without echo, and
 * Ctrl-C is an ordinary key. Keys: the same, but Ctrl-C is still a signal. Call again after the program was stopped, as
 * a shell may have changed the mode. Return false if the terminal refuses. */
bool terminalSetRaw(void);
bool terminalSetKeys(void);
void terminalRestore(void);

void terminalSize(int *columns, int *rows); /* 80 and 24 if stdout is not a terminal */
/* Stops the program, as for Ctrl-Z, with the terminal restored. Returns in raw mode when the program continues. */
void terminalSuspend(void);
/* Set by signals in raw mode: the size has changed, or the program was stopped and continues. */
extern volatile sig_atomic_t terminal_changed;

/* Returns the escape sequence of `code` ("1", "38;5;202") if stdout shows colors, else "". The text is in a small ring
 * of buffers: valid for one printf. */
const char *terminalStyle(const char *code);
/* Returns true if stdout shows colors: not in a file, with NO_COLOR, or on a dumb terminal. */
bool terminalHasColours(void);

/* Catches the next Ctrl-C, which then only sets the flag of interruptCaught(): for work that prints a result when it
 * is stopped. A second one ends the program. Reads from the server continue after a Ctrl-C; sleep and poll end
 * early. */
void interruptCatch(void);
bool interruptCaught(void);

/* Reads a line of stdin, which need not be a terminal, and returns it without its end; the caller frees it. Returns
 * NULL at the end of input. */
sds terminalReadLine(void);

/* --- password_prompt.c --- */
/* Reads a password from the terminal, or a line of stdin if that is not a terminal. The caller owns the text, "" at the
 * end of input. Ctrl-C restores the terminal and ends the program. */
sds passwordPrompt(const char *prompt);

#endif
