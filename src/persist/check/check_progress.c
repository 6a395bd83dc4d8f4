/* check_progress.c -- a progress bar on the terminal while files are read.
 *
 * It is drawn again when another thousandth has been read and a tenth of a second has passed.
 *
 * Owns        the bar.
 * Threads     one.
 * Tests       tests/tools/check_aof.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "check_progress.h"

#include "clock.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CELLS 40
#define REDRAW_MS 100

static struct {
    bool on, shown;
    uint64_t bytes, next; /* next: from this offset on the clock is read again */
    int64_t drawn_ms;
} bar;

void checkProgressBegin(uint64_t bytes) {
    bar.on = isatty(STDERR_FILENO) && bytes > 0;
    bar.bytes = bytes;
    bar.next = 0;
}

static void checkProgressDraw(uint64_t done) {
    char cells[CELLS + 1];
    double part = done < bar.bytes ? (double)done / (double)bar.bytes : 1;
    size_t full = (size_t)(part * CELLS);
    memset(cells, ' ', CELLS);
    memset(cells, '=', full);
    cells[CELLS] = '\0';
    fprintf(stderr, "\r[%s] %3d%% of %.1f MB", cells, (int)(part * 100), (double)bar.bytes / 1e6);
    fflush(stderr);
    bar.shown = true;
}

void checkProgressAt(uint64_t bytes) {
    if (!bar.on || bytes < bar.next) return;
    int64_t now_ms = clockWallMs();
    bar.next = bytes + bar.bytes / 1000;
    if (now_ms - bar.drawn_ms < REDRAW_MS && now_ms >= bar.drawn_ms) return;
    bar.drawn_ms = now_ms;
    checkProgressDraw(bytes);
}

void checkProgressHide(void) {
    if (!bar.shown) return;
    fputs("\r\033[K", stderr);
    fflush(stderr);
    bar.shown = false;
}
