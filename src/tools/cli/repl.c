/* repl.c -- runs lines of commands from a terminal or a pipe.
 *
 * Not here    editing a line (line_editor.c), the documentation of commands (help.c).
 * Tests       tests/tools/cli.tcl, tests/tools/cli_terminal.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "modes.h"
#include "clock.h"
#include "help.h"
#include "line_editor.h"
#include "numbers.h"
#include "sds.h"
#include "terminal.h"
#include "utf8.h"
#include "zmalloc.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SLOW_MS 500 /* the time of a slower reply is printed */

/* ---- Preferences ------------------------------------------------------------------------------------------------ */

/* Runs a line that starts with ":". */
static void setPreference(cliOptions *o, int argc, char **argv, bool from_file) {
    const char *verb = argv[0] + 1, *what = argc > 1 ? argv[1] : "";
    if (strcasecmp(verb, "set") == 0 && argc > 1) {
        if (strcasecmp(what, "hints") == 0) o->hints = true;
        else if (strcasecmp(what, "nohints") == 0) o->hints = false;
        else printf("%sunknown preference '%s': use hints or nohints\n", from_file ? ".valkeyclirc: " : "", what);
    } else {
        printf("%sunknown command ':%s': use :set\n", from_file ? ".valkeyclirc: " : "", verb);
    }
}

/* Returns the path of `name` in the home directory, or the value of `variable` or `older` (the first that is not
 * empty); NULL if there is none, or if it is /dev/null. */
static sds userFile(const char *variable, const char *older, const char *name) {
    const char *path = getenv(variable), *home = getenv("HOME");
    if (!path || !*path) path = getenv(older);
    if (path && *path) return strcmp(path, "/dev/null") != 0 ? sdsNew(path) : NULL;
    return home && *home ? sdsCatPrintf(sdsEmpty(), "%s/%s", home, name) : NULL;
}

static void loadPreferences(cliOptions *o) {
    sds path = userFile("VALKEYCLI_RCFILE", "REDISCLI_RCFILE", ".valkeyclirc");
    FILE *file = path ? fopen(path, "r") : NULL;
    char line[512];
    while (file && fgets(line, sizeof(line), file)) {
        int count;
        sds *words = sdsSplitInline(line, &count);
        if (words && count > 0 && words[0][0] == ':') setPreference(o, count, words, true);
        sdsFreeSplitRes(words, count);
    }
    if (file) fclose(file);
    sdsFree(path);
}

/* ---- One line --------------------------------------------------------------------------------------------------- */

static void runWords(cliConnection *c, const sds *words, int count) {
    long long repeat = 1;
    int first = count > 1 && string2ll(words[0], sdsLen(words[0]), &repeat) ? 1 : 0;
    slice *argv = linkWordSlices(words + first, (size_t)(count - first));
    if (repeat < 1) {
        printf("Invalid repeat count %lld: it must be at least 1\n", repeat);
    } else if (sliceIs(argv[0], "help") || sliceIs(argv[0], "?")) {
        helpShow(c, count - first, argv);
    } else {
        uint64_t begun_ms = clockMonotonicMs();
        c->unknown_command = c->streamed = false;
        bool answered = cliRunRepeated(c, count - first, argv, repeat);
        uint64_t passed_ms = clockMonotonicMs() - begun_ms;
        if (answered && !c->streamed && passed_ms >= SLOW_MS && c->options->style == STYLE_PRETTY)
            printf("(%.2fs)\n", (double)passed_ms / 1000);
        const char *near = c->interactive && c->unknown_command ? helpNearest(words[first]) : NULL;
        if (near) printf("%sDid you mean %s?%s\n", terminalStyle("90"), near, terminalStyle("0"));
    }
    zfree(argv);
    fflush(stdout);
}

static bool isWord(const sds *words, int count, const char *word) {
    return count == 1 && strcasecmp(words[0], word) == 0;
}

/* Runs "connect host port". */
static void reconnectTo(cliConnection *c, const sds *words, int count) {
    long long port = 0;
    if (count != 3 || !string2ll(words[2], sdsLen(words[2]), &port) || port < 1 || port > 65535) {
        printf("Usage: connect <host> <port>\n");
        return;
    }
    cliSetAddress(c, sdsSlice(words[1]), (int)port);
    cliConnect(c, false);
}

/* Runs a line. Returns false if it is quit or exit. */
static bool runLine(cliConnection *c, const char *line) {
    int count;
    sds *words = sdsSplitInline(line, &count);
    bool go_on = true;
    if (!words) printf("Invalid argument(s)\n");
    else if (count == 0) go_on = true;
    else if (isWord(words, count, "quit") || isWord(words, count, "exit")) go_on = false;
    else if (words[0][0] == ':') setPreference(c->options, count, words, false);
    else if (c->interactive && isWord(words, count, "clear")) printf("\x1b[H\x1b[2J");
    else if (c->interactive && strcasecmp(words[0], "connect") == 0) reconnectTo(c, words, count);
    else runWords(c, words, count);
    if (words) sdsFreeSplitRes(words, count);
    fflush(stdout);
    return go_on;
}

/* Buffered bytes of stdin that have not been run. stdio cannot report whether its buffer has a line. */
typedef struct pipeLines {
    sds unread; /* owns */
    size_t at;
    bool over;
} pipeLines;

/* Returns the next line without its end; bytes after the last line end are a line as well. NULL at the end of input. */
static sds nextPipeLine(pipeLines *in) {
    size_t searched = in->at;
    for (;;) {
        const char *start = in->unread + in->at, *more = in->unread + searched;
        size_t len = sdsLen(in->unread);
        const char *newline = memchr(more, '\n', len - searched);
        if (newline || (in->over && in->at < len)) {
            sds line = sdsNewLen(start, newline ? (size_t)(newline - start) : len - in->at);
            in->at = newline ? (size_t)(newline + 1 - in->unread) : len;
            return line;
        }
        if (in->over) return NULL;
        char block[16384];
        ssize_t got = read(STDIN_FILENO, block, sizeof(block));
        if (got < 0 && errno == EINTR) continue;
        in->over = got <= 0;
        sdsRange(in->unread, (ssize_t)in->at, -1);
        in->at = 0;
        searched = sdsLen(in->unread);
        if (got > 0) in->unread = sdsCatLen(in->unread, block, (size_t)got);
    }
}

int replRunPipe(cliConnection *c) {
    pipeLines in = {.unread = sdsEmpty()};
    int code = 0;
    c->reads_lines = true;
    for (sds line = nextPipeLine(&in); line; line = nextPipeLine(&in)) {
        c->line_waits = in.at < sdsLen(in.unread) || in.over;
        bool go_on = runLine(c, line);
        sdsFree(line);
        if (c->broken) code = 1;
        if (!go_on || c->broken) break;
    }
    sdsFree(in.unread);
    return c->options->exit_on_error && c->any_failed ? 1 : code;
}

/* ---- Terminal --------------------------------------------------------------------------------------------------- */

static sds makePrompt(const cliConnection *c) {
    if (!c->link) return sdsNew("not connected> ");
    sds prompt = c->options->target.unix_path ? sdsCatPrintf(sdsEmpty(), "valkey %s", c->options->target.unix_path)
                                              : cliAddress(c);
    if (c->db) prompt = sdsCatPrintf(prompt, "[%d]", c->db);
    if (c->in_transaction) prompt = sdsCat(prompt, "(TX)");
    if (c->subscribed) prompt = sdsCat(prompt, "(subscribed mode)");
    return sdsCat(prompt, "> ");
}

/* Returns true if the words may contain a password. */
static bool wordsAreSecret(const sds *words, int count) {
    static const char *const settings[] = {
        "requirepass",   "primaryauth", "masterauth", "tls-key-file-pass", "tls-client-key-file-pass",
        "sentinel-pass", "auth-pass"};
    long long number;
    int first = count > 1 && string2ll(words[0], sdsLen(words[0]), &number) ? 1 : 0;
    const char *verb = words[first], *second = first + 1 < count ? words[first + 1] : "";
    if (strcasecmp(verb, "auth") == 0) return true;
    if (strcasecmp(verb, "acl") == 0) {
        return strcasecmp(second, "setuser") == 0 || strcasecmp(second, "getuser") == 0 ||
               strcasecmp(second, "deluser") == 0;
    }
    bool config = (strcasecmp(verb, "config") == 0 && strcasecmp(second, "set") == 0) ||
                  strcasecmp(verb, "sentinel") == 0;
    bool logs_in = strcasecmp(verb, "hello") == 0 || strcasecmp(verb, "migrate") == 0;
    for (int i = first + 1; i < count; i++) {
        if (logs_in && (strcasecmp(words[i], "auth") == 0 || strcasecmp(words[i], "auth2") == 0)) return true;
        for (size_t k = 0; config && k < array_len(settings); k++)
            if (strcasecmp(words[i], settings[k]) == 0) return true;
    }
    return false;
}

/* Returns true if the line may contain a password, and so must not be added to the history. A line that cannot be split
 * is judged by its text. */
static bool isSecret(const char *line) {
    int count;
    sds *words = sdsSplitInline(line, &count);
    if (!words) return strcasestr(line, "auth") || strcasestr(line, "pass") || strcasestr(line, "setuser");
    bool secret = count > 0 && wordsAreSecret(words, count);
    sdsFreeSplitRes(words, count);
    return secret;
}

static lineChoices choices(void *arg, const char *line) {
    unused(arg);
    return helpChoices(line);
}

static sds hint(void *arg, const char *line) {
    const cliConnection *c = arg;
    return c->options->hints ? helpHint(line) : NULL;
}

/* Reads a line from a terminal that cannot edit. */
static sds readPlainLine(const char *prompt) {
    if (isatty(STDOUT_FILENO)) fputs(prompt, stdout);
    fflush(stdout);
    sds line = terminalReadLine();
    if (!line) fputs("\n", stdout);
    return line;
}

/* Runs each line of a text, as a paste may contain several. Returns false if one is quit or exit. */
static bool runLines(cliConnection *c, lineHistory *history, sds text) {
    int count;
    bool go_on = true;
    sds *lines = sdsSplitLen(text, sdsLen(text), "\n", 1, &count);
    for (int i = 0; i < count && go_on; i++) {
        if (!isSecret(lines[i])) lineHistoryAdd(history, lines[i]);
        if (!c->link) cliConnect(c, true);
        go_on = runLine(c, lines[i]);
    }
    sdsFreeSplitRes(lines, count);
    return go_on;
}

int replRunTerminal(cliConnection *c) {
    lineAdvice advice = {.complete = choices, .hint = hint, .arg = c};
    bool capable = terminalIsCapable();
    c->interactive = c->reads_lines = true;
    utf8Init();
    loadPreferences(c->options);
    sds path = capable ? userFile("VALKEYCLI_HISTFILE", "REDISCLI_HISTFILE", ".valkeycli_history") : NULL;
    lineHistory *history = lineHistoryOpen(path);
    lineEditor *editor = lineEditorNew(&advice, history);
    cliConnect(c, false);
    bool go_on = true;
    while (go_on) {
        helpLoad(c); /* before the prompt, for its hints */
        sds prompt = makePrompt(c);
        sds line = capable ? lineEditorRead(editor, prompt) : readPlainLine(prompt);
        sdsFree(prompt);
        if (!line && c->subscribed) { /* Ctrl-D leaves the subscriptions first */
            cliDisconnect(c);
            cliConnect(c, true);
            continue;
        }
        if (!line) break;
        go_on = runLines(c, history, line);
        sdsFree(line);
        if (go_on && !c->link) cliConnect(c, true); /* Ctrl-C has ended a subscription by closing the connection */
    }
    lineEditorFree(editor);
    lineHistoryClose(history);
    sdsFree(path);
    return 0;
}
