/* progress_line.c -- shows the progress of long work and the time left, in a line of the terminal that is overwritten.
 *
 * The line is overwritten with blanks and not cleared by an escape sequence, so that it works on a dumb terminal.
 *
 * Tests       tests/unit/tools/progress_line_test.c, tests/tools/cli_progress.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "progress_line.h"
#include "clock.h"
#include "numbers.h"
#include "terminal.h"
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DRAW_EVERY_MS 100
#define ESTIMATE_AFTER_MS 1000
#define TEXT_MAX 160
#define CARET_C 2 /* "^C" */

/* Appends the time left: "8 s", "3 min 05 s" or "2 h 07 min". */
static void catTime(char *text, size_t size, uint64_t seconds) {
    unsigned long long s = seconds;
    size_t len = strlen(text);
    if (s < 60) snprintf(text + len, size - len, ", %llu s left", s);
    else if (s < 3600) snprintf(text + len, size - len, ", %llu min %02llu s left", s / 60, s % 60);
    else snprintf(text + len, size - len, ", %llu h %02llu min left", s / 3600, s / 60 % 60);
}

static void amountText(char *text, size_t size, const char *unit, uint64_t amount) {
    if (unit) snprintf(text, size, "%llu", (unsigned long long)amount);
    else bytes2human(text, size, amount);
}

void progressText(char *text, size_t size, const char *unit, uint64_t done, uint64_t all, uint64_t passed_ms) {
    char so_far[32], whole[32];
    amountText(so_far, sizeof(so_far), unit, done);
    amountText(whole, sizeof(whole), unit, all);
    const char *blank = unit ? " " : "", *name = unit ? unit : "";
    if (all == 0) {
        snprintf(text, size, "%s%s%s", so_far, blank, name);
        return;
    }
    /* `done` may exceed `all`, as keys can be added during the walk. */
    double share = done < all ? (double)done / (double)all : 1;
    snprintf(text, size, "%5.1f%%  %s of %s%s%s", 100 * share, so_far, whole, blank, name);
    if (passed_ms < ESTIMATE_AFTER_MS || share < 0.01 || done >= all) return;
    catTime(text, size, (uint64_t)((double)passed_ms * (1 - share) / share / 1000 + 0.5));
}

static bool isPipe(int fd) {
    struct stat st;
    return fstat(fd, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode));
}

void progressBegin(progressLine *p, const char *unit) {
    *p = (progressLine){.unit = unit, .begun_ms = clockMonotonicMs()};
    p->visible = isatty(STDERR_FILENO) && (!unit || !isPipe(STDOUT_FILENO));
}

static int progressLineLesser(int a, int b) { return a < b ? a : b; }

/* The cursor stays at the first column, so that a Ctrl-C that the terminal shows stands in what is written over. */
static void progressLineDraw(progressLine *p, const char *text) {
    int columns, rows;
    terminalSize(&columns, &rows);
    int len = progressLineLesser((int)strlen(text), columns - 1);
    fprintf(stderr, "\r%-*.*s\r", progressLineLesser(p->drawn_len > CARET_C ? p->drawn_len : CARET_C, columns - 1), len,
            text);
    fflush(stderr);
    p->drawn_len = len;
}

void progressPrint(progressLine *p, const char *text) {
    if (!p->visible) return;
    fflush(stdout);
    progressLineDraw(p, text);
}

void progressClear(progressLine *p) {
    if (p->drawn_len > 0) progressLineDraw(p, "");
}

void progressShow(progressLine *p, uint64_t done, uint64_t all) {
    char text[TEXT_MAX];
    if (!p->visible) return;
    p->drawn_ms = clockMonotonicMs();
    progressText(text, sizeof(text), p->unit, done, all, p->drawn_ms - p->begun_ms);
    progressPrint(p, text);
}

void progressStep(progressLine *p, uint64_t done, uint64_t all) {
    if (p->visible && clockMonotonicMs() - p->drawn_ms >= DRAW_EVERY_MS) progressShow(p, done, all);
}
