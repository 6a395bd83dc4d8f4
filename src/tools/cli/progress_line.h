/* progress_line.h -- shows the progress of long work and the time left, in a line of the terminal that is overwritten.
 *
 * The line is shown only if stderr is a terminal and stdout is not a pipe, whose reader may write to the same terminal.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_PROGRESS_LINE_H
#define CLI_PROGRESS_LINE_H

#include "platform.h"

typedef struct progressLine {
    const char *unit; /* borrowed, such as "keys"; NULL for bytes */
    uint64_t begun_ms, drawn_ms;
    int drawn_len; /* characters that the line takes on the terminal */
    bool visible;
} progressLine;

/* Begins the display; progress is counted in `unit` (NULL: bytes). */
void progressBegin(progressLine *p, const char *unit);
/* Reports that `done` of about `all` units (0 if not known) are done. Draws at most ten times a second. */
void progressStep(progressLine *p, uint64_t done, uint64_t all);
/* Like progressStep(), but draws at once. Call before a pause. */
void progressShow(progressLine *p, uint64_t done, uint64_t all);
/* Shows a text without figures. */
void progressPrint(progressLine *p, const char *text);
/* Clears the line. Call before anything else is written to the terminal, and at the end. */
void progressClear(progressLine *p);

/* Writes the text that progressStep() shows. It has an estimate of the time left once a second has passed and a
 * hundredth of the work is done. */
void progressText(char *text, size_t size, const char *unit, uint64_t done, uint64_t all, uint64_t passed_ms);

#endif
