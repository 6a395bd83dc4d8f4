/* repl.c -- lines of commands: from a person at a terminal, or from a pipe.
 *
 * libedit draws the line, completes and keeps the history; it cannot draw hints behind the cursor, so with
 * `:set hints` a Tab after a whole command shows its arguments below the line.
 *
 * Tests       tests/tools/cli.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "repl.h"
#include "help.h"
#include "numbers.h"
#include "zmalloc.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#ifdef HAVE_LIBEDIT
#include <editline/readline.h>
#endif

#define HISTORY_MAX 1000

static cliOptions *repl_options; /* libedit's callbacks have no argument of their own */

/* ---- Preferences ------------------------------------------------------------------------------------------------ */

/* A line that starts with ":". */
static void setPreference(cliOptions *o, int argc, char **argv, bool from_file) {
    const char *verb = argv[0] + 1, *what = argc > 1 ? argv[1] : "";
    if (strcasecmp(verb, "set") == 0 && argc > 1) {
        if (strcasecmp(what, "hints") == 0) o->hints = true;
        else if (strcasecmp(what, "nohints") == 0) o->hints = false;
        else printf("%sunknown valkey-cli preference '%s'\n", from_file ? ".valkeyclirc: " : "", what);
    } else if (strcasecmp(verb, "get") == 0 && argc > 1) {
        printf("%sunknown valkey-cli get option '%s'\n", from_file ? ".valkeyclirc: " : "", what);
    } else {
        printf("%sunknown valkey-cli internal command '%s'\n", from_file ? ".valkeyclirc: " : "", verb);
    }
}

/* `name` in the home directory, or what the environment says instead; NULL for none. */
static sds userFile(const char *variable, const char *name) {
    const char *path = getenv(variable), *home = getenv("HOME");
    if (path) return *path && strcmp(path, "/dev/null") != 0 ? sdsNew(path) : NULL;
    return home && *home ? sdsCatPrintf(sdsEmpty(), "%s/%s", home, name) : NULL;
}

static void loadPreferences(cliOptions *o) {
    sds path = userFile("VALKEYCLI_RCFILE", ".valkeyclirc");
    FILE *file = path ? fopen(path, "r") : NULL;
    char line[512];
    while (file && fgets(line, sizeof(line), file)) {
        int count;
        sds *words = sdsSplitArgs(line, &count);
        if (words && count > 0 && words[0][0] == ':') setPreference(o, count, words, true);
        sdsFreeSplitRes(words, count);
    }
    if (file) fclose(file);
    sdsFree(path);
}

/* ---- One line --------------------------------------------------------------------------------------------------- */

static void runWords(cliSession *s, const sds *words, int count) {
    slice *argv = zmalloc(sizeof(slice) * (size_t)count);
    long long repeat = 1;
    int first = 0;
    if (count > 1 && string2ll(words[0], sdsLen(words[0]), &repeat)) first = 1;
    for (int i = first; i < count; i++) argv[i - first] = sdsSlice(words[i]);
    if (repeat < 1) printf("Invalid valkey-cli repeat command option value.\n");
    else if (sliceIs(argv[0], "help") || sliceIs(argv[0], "?")) helpShow(s, count - first, argv);
    else sessionRunRepeated(s, count - first, argv, repeat);
    zfree(argv);
    fflush(stdout);
}

static bool isWord(const sds *words, int count, const char *word) {
    return count == 1 && strcasecmp(words[0], word) == 0;
}

/* "connect host port" from the prompt. */
static void reconnectTo(cliSession *s, const sds *words, int count) {
    long long port = 0;
    if (count != 3 || !string2ll(words[2], sdsLen(words[2]), &port) || port < 1 || port > 65535) {
        printf("Usage: connect <host> <port>\n");
        return;
    }
    static sds host;
    sdsFree(host);
    host = sdsDup(words[1]);
    s->options->host = host;
    s->options->port = (int)port;
    sessionConnect(s, false);
}

/* False when the line asks to leave. */
static bool runLine(cliSession *s, const char *line) {
    int count;
    sds *words = sdsSplitArgs(line, &count);
    bool go_on = true;
    if (!words) printf("Invalid argument(s)\n");
    else if (count == 0) go_on = true;
    else if (isWord(words, count, "quit") || isWord(words, count, "exit")) go_on = false;
    else if (words[0][0] == ':') setPreference(s->options, count, words, false);
    else if (s->interactive && isWord(words, count, "clear")) printf("\x1b[H\x1b[2J");
    else if (s->interactive && strcasecmp(words[0], "connect") == 0) reconnectTo(s, words, count);
    else runWords(s, words, count);
    if (words) sdsFreeSplitRes(words, count);
    fflush(stdout);
    return go_on;
}

int replRunPipe(cliSession *s) {
    char *line = NULL;
    size_t room = 0;
    ssize_t len;
    int code = 0;
    while ((len = getline(&line, &room, stdin)) >= 0) {
        if (len > 0 && line[len - 1] == '\n') line[len - 1] = '\0';
        if (!runLine(s, line)) break;
        if (s->broken) {
            code = 1;
            break;
        }
    }
    free(line);
    return code;
}

/* ---- Terminal --------------------------------------------------------------------------------------------------- */

static sds makePrompt(const cliSession *s) {
    if (!s->link) return sdsNew("not connected> ");
    sds prompt = s->options->socket ? sdsCatPrintf(sdsEmpty(), "valkey %s", s->options->socket) : sessionAddress(s);
    if (s->db) prompt = sdsCatPrintf(prompt, "[%d]", s->db);
    if (s->in_transaction) prompt = sdsCat(prompt, "(TX)");
    if (s->subscribed) prompt = sdsCat(prompt, "(subscribed mode)");
    return sdsCat(prompt, "> ");
}

/* Passwords do not go into the history. */
static bool isSecret(const char *line) {
    static const char *const words[] = {"auth",
                                        "acl setuser",
                                        "acl deluser",
                                        "acl getuser",
                                        "config set requirepass",
                                        "config set primaryauth",
                                        "config set masterauth"};
    while (*line == ' ') line++;
    for (size_t i = 0; i < array_len(words); i++) {
        if (strncasecmp(line, words[i], strlen(words[i])) == 0) return true;
    }
    return (strncasecmp(line, "hello", 5) == 0 || strncasecmp(line, "migrate", 7) == 0) && strcasestr(line, "auth");
}

#ifdef HAVE_LIBEDIT
static char *completionAt(const char *text, int state) {
    static size_t n;
    unused(text);
    if (state == 0) n = 0;
    char *found = helpCompletion(rl_line_buffer, n++);
    /* libedit replaces the last word only and frees with free(). */
    if (!found) return NULL;
    const char *blank = strrchr(rl_line_buffer, ' ');
    char *copy = strdup(found + (blank ? blank - rl_line_buffer + 1 : 0));
    zfree(found);
    return copy;
}

static char **complete(const char *text, int start, int end) {
    unused(start);
    unused(end);
    rl_attempted_completion_over = 1;
    const char *syntax = helpSyntax(rl_line_buffer);
    char *another = helpCompletion(rl_line_buffer, 0);
    bool show = repl_options->hints && syntax && (!another || rl_line_buffer[strlen(rl_line_buffer) - 1] == ' ');
    zfree(another);
    if (show) {
        printf("\r\n%s\r\n", syntax);
        fflush(stdout);
        rl_forced_update_display();
        return NULL;
    }
    return rl_completion_matches(text, completionAt);
}

/* One line per command, as other programs of the field keep it; libedit's own format is another. Lines are appended
 * one by one, and the file is cut back here. */
static void loadHistory(const char *path) {
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t room = 0, count = 0;
    if (!file) return;
    for (; getline(&line, &room, file) >= 0; count++) {
        line[strcspn(line, "\r\n")] = '\0';
        if (*line) add_history(line);
    }
    free(line);
    fclose(file);
    if (count < 2 * HISTORY_MAX || !(file = fopen(path, "w"))) return;
    for (int i = 0; i < history_length; i++) {
        HIST_ENTRY *entry = history_get(history_base + i);
        if (entry && entry->line) fprintf(file, "%s\n", entry->line);
    }
    fclose(file);
}

static void appendHistory(const char *path, const char *line) {
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0) return;
    dprintf(fd, "%s\n", line);
    close(fd);
}

static sds startEditor(cliSession *s) {
    sds path = userFile("VALKEYCLI_HISTFILE", ".valkeycli_history");
    repl_options = s->options;
    rl_readline_name = (char *)"valkey-cli";
    using_history();
    stifle_history(HISTORY_MAX);
    if (path) loadHistory(path);
    rl_attempted_completion_function = complete;
    return path;
}

static char *readOneLine(const char *prompt) {
    return readline(prompt);
}

static void remember(const char *line, const char *path) {
    if (!*line || isSecret(line)) return;
    HIST_ENTRY *last = history_length > 0 ? history_get(history_base + history_length - 1) : NULL;
    if (last && last->line && strcmp(last->line, line) == 0) return;
    add_history(line);
    if (path) appendHistory(path, line);
}
#else
static sds startEditor(cliSession *s) {
    repl_options = s->options;
    return NULL;
}

static char *readOneLine(const char *prompt) {
    char *line = NULL;
    size_t room = 0;
    fputs(prompt, stdout);
    fflush(stdout);
    ssize_t len = getline(&line, &room, stdin);
    if (len < 0) {
        free(line);
        return NULL;
    }
    line[strcspn(line, "\r\n")] = '\0';
    return line;
}

static void remember(const char *line, const char *path) {
    unused(path);
    unused(isSecret(line));
}
#endif

int replRunTerminal(cliSession *s) {
    s->interactive = true;
    loadPreferences(s->options);
    sds history = startEditor(s);
    sessionConnect(s, false);
    helpLoad(s);
    bool go_on = true;
    while (go_on) {
        sds prompt = makePrompt(s);
        char *line = readOneLine(prompt);
        sdsFree(prompt);
        if (!line) break;
        remember(line, history);
        if (!s->link) sessionConnect(s, true);
        helpLoad(s);
        go_on = runLine(s, line);
        free(line);
        if (go_on && !s->link) sessionConnect(s, true); /* Ctrl-C ended a stream by closing the connection */
    }
    sdsFree(history);
    return 0;
}
