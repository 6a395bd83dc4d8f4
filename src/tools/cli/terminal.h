/* terminal.h -- the terminal's modes, measures and colours.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_TERMINAL_H
#define CLI_TERMINAL_H

#include "platform.h"
#include <signal.h>

/* Can a line be edited here: are stdin and stdout terminals that know escape sequences? */
bool terminalIsCapable(void);

/* Raw: each key at once, nothing echoed, Ctrl-C a key like others. Keys: at once and unseen as well, but Ctrl-C is
 * still a signal. Set once more, a mode undoes what a shell changed while the program was stopped. False when the
 * terminal refuses. terminalRestore() ends each; so does whatever ends the program. */
bool terminalSetRaw(void);
bool terminalSetKeys(void);
void terminalRestore(void);

void terminalSize(int *columns, int *rows);
/* Stop, as Ctrl-Z asks, with the terminal as the shell wants it; returns when the program goes on, raw again. */
void terminalSuspend(void);
/* Set by signals while raw: the size changed, or the program was stopped and goes on. */
extern volatile sig_atomic_t terminal_changed;

/* `code` ("1", "38;5;202") as an escape sequence when stdout shows colours, else "". The text lives in a ring of a few:
 * good for one printf. */
const char *terminalStyle(const char *code);
/* Does stdout show colours? Not in a file, with NO_COLOR, or on a dumb terminal. */
bool terminalHasColours(void);

#endif
