/* terminal.c -- the modes, size and colors of the terminal, and its Ctrl-C.
 *
 * A program that ends while its terminal is raw leaves the user with a shell without echo. So restore() is called on
 * every way out: by atexit() for exit(), and by handlers for the signals that end a program. The handlers call only
 * async-signal-safe functions (tcsetattr, write), reinstall the previous handler and raise the signal again, so that
 * the exit status is that of the signal.
 *
 * Modes change immediately (TCSANOW): the output modes do not change, so pending output need not be awaited, and a
 * terminal stopped by Ctrl-S would block a program that ends.
 *
 * Owns        the terminal's settings before and after the change; static, as a process has one terminal.
 * Invariants  1. `changed_mode` is set exactly while the terminal differs from `original_mode`.
 * Tests       tests/tools/cli_terminal.tcl, tests/tools/cli_progress.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "terminal.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#define PASTE_ON "\x1b[?2004h"
#define PASTE_OFF "\x1b[?2004l"

volatile sig_atomic_t terminal_changed;

static struct termios original_mode, current_mode;
static volatile sig_atomic_t changed_mode, paste_marked;

static const int fatal_signals[] = {SIGINT,  SIGTERM, SIGHUP, SIGQUIT, SIGABRT,
                                    SIGSEGV, SIGBUS,  SIGFPE, SIGILL,  SIGPIPE};
static const int change_signals[] = {SIGWINCH, SIGCONT};
static struct sigaction fatal_before[array_len(fatal_signals)], change_before[array_len(change_signals)];

/* ---- Modes ------------------------------------------------------------------------------------------------------ */

/* Restores the terminal. Async-signal-safe. */
static void restore(void) {
    if (!changed_mode) return;
    tcsetattr(STDIN_FILENO, TCSANOW, &original_mode);
    if (paste_marked && write(STDOUT_FILENO, PASTE_OFF, sizeof(PASTE_OFF) - 1) < 0) {
        /* The terminal is closed. */
    }
    changed_mode = paste_marked = 0;
}

static void onFatal(int sig) {
    restore();
    for (size_t i = 0; i < array_len(fatal_signals); i++)
        if (fatal_signals[i] == sig) sigaction(sig, &fatal_before[i], NULL);
    raise(sig);
}

static void onChange(int sig) {
    unused(sig);
    terminal_changed = 1;
}

/* Installs the handlers. A signal that the program ignores stays ignored. */
static void watchSignals(void) {
    struct sigaction fatal = {.sa_handler = onFatal}, noted = {.sa_handler = onChange};
    for (size_t i = 0; i < array_len(fatal_signals); i++) {
        sigaction(fatal_signals[i], &fatal, &fatal_before[i]);
        if (fatal_before[i].sa_handler == SIG_IGN) sigaction(fatal_signals[i], &fatal_before[i], NULL);
    }
    for (size_t i = 0; i < array_len(change_signals); i++) sigaction(change_signals[i], &noted, &change_before[i]);
}

static void restoreSignals(void) {
    for (size_t i = 0; i < array_len(fatal_signals); i++) sigaction(fatal_signals[i], &fatal_before[i], NULL);
    for (size_t i = 0; i < array_len(change_signals); i++) sigaction(change_signals[i], &change_before[i], NULL);
}

static bool terminalEnter(struct termios mode) {
    static bool at_exit;
    current_mode = mode;
    if (!at_exit) atexit(restore);
    at_exit = true;
    watchSignals();
    changed_mode = 1;
    if (tcsetattr(STDIN_FILENO, TCSANOW, &mode) == 0) return true;
    changed_mode = 0;
    restoreSignals();
    return false;
}

/* Sets the mode again after a shell has changed it. */
static bool enterAgain(void) { return tcsetattr(STDIN_FILENO, TCSANOW, &current_mode) == 0; }

static bool findMode(struct termios *mode) {
    if (tcgetattr(STDIN_FILENO, &original_mode) != 0) return false;
    *mode = original_mode;
    return true;
}

bool terminalSetRaw(void) {
    struct termios mode;
    if (changed_mode) return enterAgain();
    if (!findMode(&mode)) return false;
    mode.c_iflag &= ~(tcflag_t)(BRKINT | ICRNL | INPCK | ISTRIP | IXON);
    mode.c_lflag &= ~(tcflag_t)(ECHO | ICANON | IEXTEN | ISIG);
    mode.c_cflag |= CS8;
    mode.c_cc[VMIN] = 1;
    mode.c_cc[VTIME] = 0;
    if (!terminalEnter(mode)) return false;
    paste_marked = 1;
    if (write(STDOUT_FILENO, PASTE_ON, sizeof(PASTE_ON) - 1) < 0) paste_marked = 0;
    return true;
}

bool terminalSetKeys(void) {
    struct termios mode;
    if (changed_mode) return enterAgain();
    if (!findMode(&mode)) return false;
    mode.c_lflag &= ~(tcflag_t)(ECHO | ICANON);
    return terminalEnter(mode);
}

void terminalRestore(void) {
    if (!changed_mode) return;
    restore();
    restoreSignals();
}

void terminalSuspend(void) {
    terminalRestore();
    raise(SIGTSTP);
    terminalSetRaw();
    terminal_changed = 1;
}

/* ---- Size ------------------------------------------------------------------------------------------------------- */

bool terminalIsCapable(void) {
    const char *term = getenv("TERM");
    return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && term && *term && strcmp(term, "dumb") != 0;
}

void terminalSize(int *columns, int *rows) {
    struct winsize size;
    *columns = 80;
    *rows = 24;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return;
    if (size.ws_col > 0) *columns = size.ws_col;
    if (size.ws_row > 0) *rows = size.ws_row;
}

/* ---- Colors ----------------------------------------------------------------------------------------------------- */

bool terminalHasColours(void) {
    static int known = -1;
    if (known >= 0) return known;
    const char *refused = getenv("NO_COLOR"), *term = getenv("TERM");
    known = isatty(STDOUT_FILENO) && !(refused && *refused) && term && *term && strcmp(term, "dumb") != 0;
    return known;
}

const char *terminalStyle(const char *code) {
    static char ring[8][24];
    static unsigned next;
    if (!terminalHasColours()) return "";
    char *text = ring[next++ % array_len(ring)];
    snprintf(text, sizeof(ring[0]), "\x1b[%sm", code);
    return text;
}

/* ---- Ctrl-C ----------------------------------------------------------------------------------------------------- */

static volatile sig_atomic_t caught;

static void onInterrupt(int sig) {
    unused(sig);
    caught = 1;
}

void interruptCatch(void) {
    struct sigaction act = {.sa_handler = onInterrupt, .sa_flags = SA_RESTART | (int)SA_RESETHAND};
    sigaction(SIGINT, &act, NULL);
}

bool interruptCaught(void) { return caught; }

/* ---- Lines ------------------------------------------------------------------------------------------------------ */

sds terminalReadLine(void) {
    char *line = NULL;
    size_t size = 0;
    ssize_t len = getline(&line, &size, stdin);
    sds out = len < 0 ? NULL : sdsNewLen(line, (size_t)len);
    if (out) sdsTrim(out, "\r\n");
    free(line);
    return out;
}
