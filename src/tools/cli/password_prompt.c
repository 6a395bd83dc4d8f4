/* password_prompt.c -- reads a password, which is shown as asterisks.
 *
 * One asterisk is shown per character, not per byte, so that the user notices a typing error. The prompt is written to
 * stderr, as stdout is for the result.
 *
 * Tests       tests/tools/cli_terminal.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "terminal.h"
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#define PASSWORD_MAX 65536
#define CTRL_D 0x04
#define CTRL_U 0x15

static bool startsCharacter(char byte) { return ((unsigned char)byte & 0xc0) != 0x80; }

/* Nothing can be done for a terminal that takes no output. */
static void passwordPromptShow(const char *text) {
    fputs(text, stderr);
    fflush(stderr);
}

static void deleteLast(sds word) {
    while (sdsLen(word) > 0) {
        char byte = word[sdsLen(word) - 1];
        sdsIncrLen(word, -1);
        if (!startsCharacter(byte)) continue;
        passwordPromptShow("\b \b");
        return;
    }
}

/* Processes one byte. Returns false at the end of the line. */
static bool takeByte(sds *word, char byte) {
    switch (byte) {
    case '\r':
    case '\n': return false;
    case CTRL_D: return sdsLen(*word) > 0;
    case CTRL_U:
        while (sdsLen(*word) > 0) deleteLast(*word);
        return true;
    case 0x08:
    case 0x7f: deleteLast(*word); return true;
    default: break;
    }
    if (sdsLen(*word) == PASSWORD_MAX) return true;
    if (startsCharacter(byte)) passwordPromptShow("*");
    *word = sdsCatLen(*word, &byte, 1);
    return true;
}

static sds readTyped(void) {
    sds word = sdsEmpty();
    char byte;
    for (;;) {
        ssize_t n = read(STDIN_FILENO, &byte, 1);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0 || !takeByte(&word, byte)) return word;
    }
}

sds passwordPrompt(const char *prompt) {
    if (!isatty(STDIN_FILENO)) {
        sds line = terminalReadLine();
        return line ? line : sdsEmpty();
    }
    terminalSetKeys();
    passwordPromptShow(prompt);
    sds word = readTyped();
    terminalRestore();
    passwordPromptShow("\n");
    return word;
}
