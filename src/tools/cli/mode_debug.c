/* mode_debug.c -- --ldb: the debugger of Lua scripts, which run on the server line by line.
 *
 * The server replies to each command with an array of lines. After the line <endsession> it sends the reply of EVAL and
 * closes the connection. The commands restart and quit are implemented here.
 *
 * Tests       tests/tools/cli_debugger.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "line_editor.h"
#include "modes.h"
#include "sds.h"
#include "terminal.h"
#include "zmalloc.h"
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

static const char *colorOf(const char *line) {
    if (!strncmp(line, "<debug>", 7)) return "\x1b[1;33m";
    if (!strncmp(line, "<redis>", 7) || !strncmp(line, "<command>", 9)) return "\x1b[1;32m";
    if (!strncmp(line, "<reply>", 7)) return "\x1b[1;36m";
    if (!strncmp(line, "<error>", 7)) return "\x1b[1;31m";
    if (!strncmp(line, "<hint>", 6)) return "\x1b[0;35m";
    if (!strncmp(line, "<value>", 7) || !strncmp(line, "<retval>", 8)) return "\x1b[1;35m";
    if (!strncmp(line, "->", 2)) return "\x1b[1;37m";
    if (line[0] == ' ' && strlen(line) > 2 && line[2] == '#') return "\x1b[0;31m";
    return NULL;
}

static void printLine(const char *line) {
    const char *color = terminalHasColours() ? colorOf(line) : NULL;
    if (color) printf("%s%s\x1b[0m\n", color, line);
    else printf("%s\n", line);
}

/* Prints the lines of a reply. Returns true if the debugger run continues. */
static bool printLines(const replyValue *reply) {
    bool runs = true;
    if (!replyIsList(reply)) {
        sds text = replyTextPretty(sdsEmpty(), reply, "");
        fputs(text, stdout);
        sdsFree(text);
        return false;
    }
    for (size_t i = 0; i < reply->count; i++) {
        const char *line = reply->items[i].str;
        if (!line) continue;
        if (!strcmp(line, "<endsession>")) runs = false;
        else printLine(line);
    }
    return runs;
}

/* Prints the reply of EVAL after the end of the debugger run. */
static void printResult(cliConnection *c) {
    replyValue *result = linkRead(c->link);
    if (result) {
        sds text = replyTextPretty(sdsEmpty(), result, "");
        printf("\n%s", text);
        sdsFree(text);
    }
    replyValueFree(result);
    printf("\n(Lua debugging session ended -- dataset changes %s)\n",
           c->options->debug_sync ? "retained" : "rolled back");
}

/* Words of a line; eval takes the rest of the line as it is. */
static sds *modeDebugSplit(const char *line, int *count) {
    const char *rest = line + strspn(line, " \t");
    size_t first = strcspn(rest, " \t\r\n");
    if ((first == 1 && !strncasecmp(rest, "e", 1)) || (first == 4 && !strncasecmp(rest, "eval", 4))) {
        const char *code = rest + first + strspn(rest + first, " \t");
        sds *words = zmalloc(2 * sizeof(sds));
        words[0] = sdsNewLen(rest, first);
        words[1] = sdsNewLen(code, strcspn(code, "\r\n"));
        *count = sdsLen(words[1]) ? 2 : 1;
        if (*count == 1) sdsFree(words[1]);
        return words;
    }
    return sdsSplitInline(line, count);
}

static bool sendWords(cliConnection *c, sds *words, int count) {
    slice *argv = linkWordSlices(words, (size_t)count);
    bool sent = linkSend(c->link, count, argv);
    zfree(argv);
    return sent;
}

typedef enum { LINE_SENT, LINE_NOTHING, LINE_RESTART, LINE_QUIT, LINE_BROKEN } lineResult;

static lineResult dispatchLine(cliConnection *c, sds line) {
    int count = 0;
    sds *words = modeDebugSplit(line, &count);
    lineResult result = LINE_NOTHING;
    if (!words) {
        printf("Invalid argument(s)\n");
        return LINE_NOTHING;
    }
    if (count && !strcasecmp(words[0], "restart")) result = LINE_RESTART;
    else if (count && (!strcasecmp(words[0], "quit") || !strcasecmp(words[0], "exit"))) result = LINE_QUIT;
    else if (count) result = sendWords(c, words, count) ? LINE_SENT : LINE_BROKEN;
    sdsFreeSplitRes(words, count);
    return result;
}

static debugEnd debuggerLoop(cliConnection *c, lineEditor *editor, lineHistory *history) {
    for (;;) {
        replyValue *reply = linkRead(c->link);
        if (!reply) {
            fprintf(stderr, "Connection lost: %s\n", linkError(c->link));
            return DEBUG_BROKEN;
        }
        bool list = replyIsList(reply), runs = printLines(reply);
        replyValueFree(reply);
        if (!runs) {
            if (list) printResult(c);
            return list ? DEBUG_ENDED : DEBUG_BROKEN;
        }
        fflush(stdout);
        lineResult result = LINE_NOTHING;
        while (result == LINE_NOTHING) {
            sds line = editor ? lineEditorRead(editor, "lua debugger> ") : terminalReadLine();
            if (!line) return DEBUG_QUIT;
            if (history) lineHistoryAdd(history, line);
            result = dispatchLine(c, line);
            sdsFree(line);
        }
        if (result == LINE_RESTART) return DEBUG_RESTART;
        if (result == LINE_QUIT) return DEBUG_QUIT;
    }
}

debugEnd modeDebug(cliConnection *c, int argc, const slice *argv) {
    bool sync = c->options->debug_sync;
    replyValueFree(cliAsk(c, "SCRIPT", "DEBUG", sync ? "sync" : "yes", NULL));
    printf("The script is stopped before its first line. Type 'help' for the commands, 'restart' to start over, 'quit' "
           "to leave.\n");
    if (sync)
        printf("This session is synchronous: the server serves no other client, and dataset changes are retained.\n");
    printf("\n");
    if (!linkSend(c->link, argc, argv)) return DEBUG_BROKEN;
    const lineAdvice advice = {.complete = NULL};
    bool edits = isatty(STDIN_FILENO) && terminalIsCapable();
    lineHistory *history = edits ? lineHistoryOpen(NULL) : NULL;
    lineEditor *editor = edits ? lineEditorNew(&advice, history) : NULL;
    debugEnd end = debuggerLoop(c, editor, history);
    if (editor) lineEditorFree(editor);
    if (history) lineHistoryClose(history);
    cliDisconnect(c);
    return end;
}
