/* progress_line.h -- how far long work has come, and when it may be done: a line of a terminal that is written over.
 *
 * Nothing is written unless somebody sees it: stderr is a terminal, and stdout is no pipe for lines of text, whose
 * reader may write on the same terminal.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_PROGRESS_LINE_H
#define CLI_PROGRESS_LINE_H

#include "platform.h"

typedef struct progressLine {
    const char *unit; /* borrowed; "keys"; NULL: bytes */
    uint64_t begun_ms, drawn_ms;
    int drawn_len; /* characters of the terminal's line that are ours */
    bool seen;
} progressLine;

/* Work begins, of which each step is one `unit` (NULL: a byte). */
void progressBegin(progressLine *p, const char *unit);
/* So much is done of about `all` (0: nobody knows). Draws ten times a second at most. */
void progressStep(progressLine *p, uint64_t done, uint64_t all);
/* The same at once, before work rests. */
void progressShow(progressLine *p, uint64_t done, uint64_t all);
/* Say something that has no figures. */
void progressPrint(progressLine *p, const char *text);
/* Before anything else is written to the terminal, and at the end. */
void progressWipe(progressLine *p);

/* What progressStep() shows. The estimate comes when a second and a hundredth of the work have passed. */
void progressText(char *text, size_t size, const char *unit, uint64_t done, uint64_t all, uint64_t passed_ms);

#endif
