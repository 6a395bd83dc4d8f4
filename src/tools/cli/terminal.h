/* terminal.h -- the modes, size and colors of the terminal.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_TERMINAL_H
#define CLI_TERMINAL_H

#include "platform.h"
#include <signal.h>

/* Returns true if lines can be edited: stdin and stdout are terminals that support escape sequences. */
bool terminalIsCapable(void);

/* Set a mode until terminalRestore() or the end of the program. Raw: each key is delivered at once, without echo, and
 * Ctrl-C is an ordinary key. Keys: the same, but Ctrl-C is still a signal. Call again after the program was stopped, as
 * a shell may have changed the mode. Return false if the terminal refuses. */
bool terminalSetRaw(void);
bool terminalSetKeys(void);
void terminalRestore(void);

void terminalSize(int *columns, int *rows);
/* Stops the program, as for Ctrl-Z, with the terminal restored. Returns in raw mode when the program continues. */
void terminalSuspend(void);
/* Set by signals in raw mode: the size has changed, or the program was stopped and continues. */
extern volatile sig_atomic_t terminal_changed;

/* Returns the escape sequence of `code` ("1", "38;5;202") if stdout shows colors, else "". The text is in a small ring
 * of buffers: valid for one printf. */
const char *terminalStyle(const char *code);
/* Returns true if stdout shows colors: not in a file, with NO_COLOR, or on a dumb terminal. */
bool terminalHasColours(void);

#endif
