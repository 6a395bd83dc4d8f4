/* line_editor.c -- reads a line from a terminal, and lets the user edit it.
 *
 * Why not a library: hints after the cursor need an editor that draws text that is not part of the line. libedit cannot
 * (and its readline interface drops non-ASCII bytes without a locale), readline can be made to but is under the GPL,
 * and Debian 12 packages none of the small ones that can (linenoise, isocline, replxx). The terminal features that are
 * needed are few and the same in all terminals since xterm: this file and its four neighbors suffice.
 *
 *     bytes -> line_keys -> this file -> line_text     changes the line
 *                               |
 *                               '------> line_screen   draws the rows again
 *
 * Text is UTF-8 in any locale (utf8.c). Lines end with Enter. A paste (marked by the terminal) may contain newlines,
 * which are shown as line breaks and entered with the rest of the line.
 *
 * Not here    which completions to propose and which lines to keep (repl.c).
 * Threads     one editor at a time, as there is one terminal.
 * Invariants  1. The terminal is raw only within lineEditorRead().
 *             2. `input` contains no complete key while the editor waits, except bytes after Enter, which belong to the
 *                next line.
 * Tests       tests/tools/cli_terminal.tcl; the parts have unit tests of their own
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "line_editor.h"
#include "line_keys.h"
#include "line_screen.h"
#include "line_text.h"
#include "terminal.h"
#include "zmalloc.h"
#include <errno.h>
#include <poll.h>
#include <unistd.h>

#define READ_SIZE 4096
#define ESCAPE_WAIT_MS 100 /* limit of the time between the bytes of one key */
#define LIST_MAX 200       /* completions that are listed at most */
#define CTRL_C 0x03

typedef enum { LINE_EDITING, LINE_ENTERED, LINE_ENDED } lineState;

struct lineEditor {
    const lineAdvice *advice; /* borrowed */
    lineHistory *history;     /* borrowed */
    lineText line;
    lineScreen screen;
    sds input;          /* owns; bytes that are not yet a complete key */
    const char *prompt; /* borrowed from lineEditorRead() */
    size_t back;        /* index of the shown line of the history plus 1; 0: none is shown */
    sds draft;          /* owns; the line typed before the history was opened */
    bool pasting, tabbed;
    /* Backward search in the history. */
    bool searching;
    lineText search_text;
    size_t found; /* index in the history; its length if nothing matches */
};

lineEditor *lineEditorNew(const lineAdvice *advice, lineHistory *history) {
    lineEditor *e = zcalloc(1, sizeof(*e));
    e->advice = advice;
    e->history = history;
    e->input = sdsEmpty();
    e->draft = sdsEmpty();
    lineTextInit(&e->line);
    lineTextInit(&e->search_text);
    return e;
}

void lineEditorFree(lineEditor *e) {
    if (!e) return;
    lineTextClear(&e->line);
    lineTextClear(&e->search_text);
    sdsFree(e->input);
    sdsFree(e->draft);
    zfree(e);
}

/* ---- Drawing ---------------------------------------------------------------------------------------------------- */

/* Writes to the terminal and takes ownership of `bytes`. An error means that the terminal is closed, which the next
 * read reports. */
static void writeOut(sds bytes) {
    size_t done = 0;
    while (done < sdsLen(bytes)) {
        ssize_t n = write(STDOUT_FILENO, bytes + done, sdsLen(bytes) - done);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) {
            struct pollfd p = {.fd = STDOUT_FILENO, .events = POLLOUT};
            poll(&p, 1, -1);
            continue;
        }
        if (n < 0) break;
        done += (size_t)n;
    }
    sdsFree(bytes);
}

/* Returns the view of the line, or in a search of the line that was found, with the cursor at the match. */
static lineView viewOf(const lineEditor *e) {
    lineView v = {.prompt = sliceStr(e->prompt), .text = sdsSlice(e->line.bytes), .cursor = e->line.cursor};
    terminalSize(&v.columns, &v.rows);
    if (!e->searching || e->found >= lineHistoryCount(e->history)) return v;
    v.text = sliceStr(lineHistoryAt(e->history, e->found));
    const char *at = strstr(v.text.ptr, e->search_text.bytes);
    v.cursor = at ? (size_t)(at - v.text.ptr) : 0;
    return v;
}

static void lineEditorDraw(lineEditor *e, bool with_hint) {
    lineView v = viewOf(e);
    sds hint = NULL, prompt = NULL;
    bool at_end = e->line.cursor == sdsLen(e->line.bytes) && e->line.cursor > 0;
    if (e->searching) {
        bool failed = e->found >= lineHistoryCount(e->history);
        prompt = sdsCatPrintf(sdsEmpty(), "%s \"%s\": ", failed && *e->search_text.bytes ? "not found" : "search",
                              e->search_text.bytes);
        v.prompt = sdsSlice(prompt);
    } else if (with_hint && at_end && e->advice->hint && !strchr(e->line.bytes, '\n')) {
        hint = e->advice->hint(e->advice->arg, e->line.bytes);
        if (hint) v.hint = sdsSlice(hint);
    }
    /* Without colors faint text distinguishes a hint from the line. */
    v.hint_on = terminalHasColours() ? "\x1b[90m" : "\x1b[2m";
    v.style_off = "\x1b[0m";
    writeOut(lineScreenDraw(sdsEmpty(), &e->screen, &v));
    sdsFree(hint);
    sdsFree(prompt);
}

static void leaveScreen(lineEditor *e) { writeOut(lineScreenLeave(sdsEmpty(), &e->screen)); }

/* Redraws after the terminal's size has changed or another program may have written to it. */
static void drawAgain(lineEditor *e) {
    lineView v = viewOf(e);
    terminal_changed = 0;
    if (!e->searching) lineScreenResized(&e->screen, &v);
    lineEditorDraw(e, true);
}

/* ---- Completion ------------------------------------------------------------------------------------------------- */

static size_t commonLen(const lineChoices *c) {
    size_t len = c->count ? sdsLen(c->words[0]) : 0;
    for (size_t i = 1; i < c->count; i++) {
        size_t n = 0;
        while (n < len && n < sdsLen(c->words[i]) && c->words[i][n] == c->words[0][n]) n++;
        len = n;
    }
    return len;
}

/* Lists the completions in columns filled from top to bottom, like `ls`. */
static void listChoices(lineEditor *e, const lineChoices *c) {
    int columns, rows;
    size_t widest = 0;
    sds out = sdsEmpty();
    leaveScreen(e);
    terminalSize(&columns, &rows);
    for (size_t i = 0; i < c->count; i++) widest = sdsLen(c->words[i]) > widest ? sdsLen(c->words[i]) : widest;
    size_t shown = c->count < LIST_MAX ? c->count : LIST_MAX, across = (size_t)columns / (widest + 2);
    if (across < 1) across = 1;
    size_t down = (shown + across - 1) / across;
    for (size_t row = 0; row < down; row++) {
        for (size_t i = row; i < shown; i += down) out = sdsCatPrintf(out, "%-*s", (int)widest + 2, c->words[i]);
        out = sdsCat(out, "\r\n");
    }
    if (shown < c->count) out = sdsCatPrintf(out, "... and %zu more\r\n", c->count - shown);
    writeOut(out);
}

/* Complete as far as all choices agree; a second TAB shows them. */
static void lineEditorComplete(lineEditor *e) {
    lineText *t = &e->line;
    if (!e->advice->complete || t->cursor != sdsLen(t->bytes)) return;
    lineChoices c = e->advice->complete(e->advice->arg, t->bytes);
    size_t typed = sdsLen(t->bytes) - c.from, common = commonLen(&c);
    bool again = e->tabbed;
    if (c.count == 0) writeOut(sdsNew("\a"));
    if (c.count > 0 && (common > typed || c.count == 1)) {
        sds line = sdsNewLen(t->bytes, c.from);
        line = sdsCatLen(line, c.words[0], common);
        if (c.count == 1) line = sdsCat(line, " ");
        lineTextSet(t, line, sdsLen(line));
        sdsFree(line);
    } else if (c.count > 1 && again) {
        listChoices(e, &c);
    } else if (c.count > 1) {
        e->tabbed = true;
    }
    for (size_t i = 0; i < c.count; i++) sdsFree(c.words[i]);
    zfree(c.words);
}

/* ---- History ---------------------------------------------------------------------------------------------------- */

static void showHistory(lineEditor *e, size_t back) {
    if (back > lineHistoryCount(e->history)) return;
    if (e->back == 0) e->draft = sdsCpyLen(e->draft, e->line.bytes, sdsLen(e->line.bytes));
    e->back = back;
    const char *line = back ? lineHistoryAt(e->history, back - 1) : e->draft;
    lineTextSet(&e->line, line, strlen(line));
}

static void startSearch(lineEditor *e) {
    e->searching = true;
    e->found = lineHistoryCount(e->history);
    lineTextSet(&e->search_text, "", 0);
}

/* Ends a search. With `take` the line that was found becomes the line that is edited. */
static void endSearch(lineEditor *e, bool take) {
    if (take && e->found < lineHistoryCount(e->history)) {
        lineView v = viewOf(e);
        size_t cursor = v.cursor;
        lineTextSet(&e->line, v.text.ptr, v.text.len);
        e->line.cursor = cursor;
    }
    e->searching = false;
}

/* Handles a key during a search and returns true. Any other key ends the search, takes the line found, and returns
 * false: it has its ordinary meaning then. */
static bool searchKey(lineEditor *e, lineKey key, slice bytes) {
    size_t count = lineHistoryCount(e->history);
    switch (key) {
    case KEY_TEXT:
        lineTextInsert(&e->search_text, bytes.ptr, bytes.len);
        e->found = lineHistoryFind(e->history, e->search_text.bytes, e->found < count ? e->found : 0);
        return true;
    case KEY_DELETE_LEFT:
        lineTextDeleteLeft(&e->search_text);
        e->found = *e->search_text.bytes ? lineHistoryFind(e->history, e->search_text.bytes, 0) : count;
        return true;
    case KEY_SEARCH: {
        size_t next = *e->search_text.bytes ? lineHistoryFind(e->history, e->search_text.bytes, e->found + 1) : count;
        if (next < count) e->found = next;
        return true;
    }
    case KEY_INTERRUPT:
    case KEY_ESCAPE: endSearch(e, false); return true;
    default: endSearch(e, true); return false;
    }
}

/* ---- Keys ------------------------------------------------------------------------------------------------------- */

/* Inserts pasted bytes as text: any kind of newline as '
 * ', tabs as blanks, without other control characters. */
static void insertPasted(lineEditor *e, slice bytes) {
    sds clean = sdsEmpty();
    for (size_t i = 0; i < bytes.len; i++) {
        char c = bytes.ptr[i];
        bool second = c == '\n' && i > 0 && bytes.ptr[i - 1] == '\r';
        if (c == '\r') c = '\n';
        if (c == '\t') c = ' ';
        if (second || ((unsigned char)c < 0x20 && c != '\n') || c == 0x7f) continue;
        clean = sdsCatLen(clean, &c, 1);
    }
    lineTextInsert(&e->line, clean, sdsLen(clean));
    sdsFree(clean);
}

/* Inserts a paste once its end has arrived. Returns false if more must be read first. */
static bool takePaste(lineEditor *e) {
    static const char mark[] = "\x1b[201~";
    char *end = memmem(e->input, sdsLen(e->input), mark, sizeof(mark) - 1);
    if (!end && memchr(e->input, CTRL_C, sdsLen(e->input))) {
        sdsClear(e->input); /* Ctrl-C ends a paste whose end mark was lost */
        e->pasting = false;
    }
    if (!end) return false;
    insertPasted(e, sliceOf(e->input, (size_t)(end - e->input)));
    /* Newlines at the end are removed: the user must press Enter. */
    lineText *t = &e->line;
    while (t->cursor == sdsLen(t->bytes) && t->cursor > 0 && t->bytes[t->cursor - 1] == '\n') lineTextDeleteLeft(t);
    sdsRange(e->input, end - e->input + (ptrdiff_t)sizeof(mark) - 1, -1);
    e->pasting = false;
    return true;
}

static void interrupt(lineEditor *e) {
    lineTextEnd(&e->line);
    lineEditorDraw(e, false);
    writeOut(sdsNew("^C"));
    leaveScreen(e);
    lineTextSet(&e->line, "", 0);
    e->back = 0;
}

static lineState applyKey(lineEditor *e, lineKey key, slice bytes) {
    lineText *t = &e->line;
    bool empty = sdsLen(t->bytes) == 0;
    if (e->searching && searchKey(e, key, bytes)) return LINE_EDITING;
    if (key != KEY_TAB) e->tabbed = false;
    switch (key) {
    case KEY_TEXT: lineTextInsert(t, bytes.ptr, bytes.len); break;
    case KEY_ENTER: return LINE_ENTERED;
    case KEY_TAB: lineEditorComplete(e); break;
    case KEY_INTERRUPT:
        if (empty) return LINE_ENDED;
        interrupt(e);
        break;
    case KEY_DELETE_OR_END:
        if (empty) return LINE_ENDED;
        lineTextDeleteRight(t);
        break;
    case KEY_SUSPEND:
        leaveScreen(e);
        terminalSuspend();
        break;
    case KEY_CLEAR:
        e->screen = (lineScreen){0};
        writeOut(sdsNew("\x1b[H\x1b[2J"));
        break;
    case KEY_SEARCH: startSearch(e); break;
    case KEY_LEFT: lineTextLeft(t); break;
    case KEY_RIGHT: lineTextRight(t); break;
    case KEY_UP: showHistory(e, e->back + 1); break;
    case KEY_DOWN:
        if (e->back > 0) showHistory(e, e->back - 1);
        break;
    case KEY_HOME: lineTextHome(t); break;
    case KEY_END: lineTextEnd(t); break;
    case KEY_WORD_LEFT: lineTextWordLeft(t); break;
    case KEY_WORD_RIGHT: lineTextWordRight(t); break;
    case KEY_DELETE_LEFT: lineTextDeleteLeft(t); break;
    case KEY_DELETE_RIGHT: lineTextDeleteRight(t); break;
    case KEY_CUT_LEFT: lineTextCutLeft(t); break;
    case KEY_CUT_RIGHT: lineTextCutRight(t); break;
    case KEY_CUT_WORD_LEFT: lineTextCutWordLeft(t); break;
    case KEY_CUT_WORD_RIGHT: lineTextCutWordRight(t); break;
    case KEY_PASTE: lineTextPaste(t); break;
    case KEY_SWAP: lineTextSwap(t); break;
    case KEY_PASTE_BEGINS: e->pasting = true; break;
    case KEY_MORE:
    case KEY_UNKNOWN:
    case KEY_ESCAPE:
    case KEY_PASTE_ENDS: break;
    }
    return LINE_EDITING;
}

/* Applies the keys in `input`. `waited` is true if no more bytes have come for ESCAPE_WAIT_MS. */
static lineState applyInput(lineEditor *e, bool waited) {
    lineState state = LINE_EDITING;
    while (state == LINE_EDITING && sdsLen(e->input) > 0) {
        if (e->pasting) {
            if (!takePaste(e)) break;
            continue;
        }
        size_t used;
        lineKey key = lineKeyDecode(e->input, sdsLen(e->input), waited, &used);
        if (key == KEY_MORE) break;
        state = applyKey(e, key, sliceOf(e->input, used));
        sdsRange(e->input, (ptrdiff_t)used, -1);
    }
    return state;
}

/* Waits for bytes. Returns 1 after input or a signal, 0 if the rest of a key has not come in time, -1 if the terminal
 * is closed. */
static int readInput(lineEditor *e) {
    bool partly = sdsLen(e->input) > 0 && !e->pasting;
    struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
    int ready = poll(&p, 1, partly ? ESCAPE_WAIT_MS : -1);
    if (ready == 0) return 0;
    if (ready < 0) return errno == EINTR ? 1 : -1;
    e->input = sdsMakeRoomFor(e->input, READ_SIZE);
    ssize_t n = read(STDIN_FILENO, e->input + sdsLen(e->input), READ_SIZE);
    if (n > 0) sdsIncrLen(e->input, n);
    if (n < 0) return errno == EINTR || errno == EAGAIN ? 1 : -1;
    return n > 0 ? 1 : -1;
}

sds lineEditorRead(lineEditor *e, const char *prompt) {
    lineState state;
    int got = 1;
    if (!terminalSetRaw()) return NULL;
    e->prompt = prompt;
    e->screen = (lineScreen){0};
    e->back = 0;
    e->pasting = e->tabbed = e->searching = false;
    lineTextSet(&e->line, "", 0);
    terminal_changed = 0;
    for (;;) {
        state = applyInput(e, got == 0);
        if (state != LINE_EDITING) break;
        lineEditorDraw(e, true);
        got = readInput(e);
        if (got < 0) break;
        if (terminal_changed) {
            terminalSetRaw();
            drawAgain(e);
        }
    }
    /* Leave the line without its hint, and the cursor below it. */
    e->searching = false;
    lineEditorDraw(e, false);
    leaveScreen(e);
    terminalRestore();
    return state == LINE_ENTERED ? sdsDup(e->line.bytes) : NULL;
}
