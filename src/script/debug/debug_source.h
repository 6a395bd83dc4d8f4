/* debug_source.h -- the source lines of the script that is debugged, and its breakpoints.
 *
 * Runs on: main's own thread, or a forked child.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_DEBUG_SOURCE_H
#define SCRIPT_DEBUG_SOURCE_H

#include "slice.h"

/* Sets the text, which is copied. Lines are numbered from 1. */
void debugSourceBegin(slice text);
void debugSourceEnd(void); /* frees the text and removes all breakpoints */

bool debugHasBreakpoint(int line);
bool debugHasBreakpoints(void);    /* at any line */
void debugRemoveBreakpoints(void); /* removes all */
/* Prints a source line with an arrow if it is `current` and a '#' if it is a breakpoint. The other functions print
 * lines in the same form. */
void debugPrintLine(int line, int current);
/* Prints line `line` with `context` lines before and after it. */
void debugPrintLinesAround(int line, int context, int current);
/* Prints the lines of all breakpoints. */
void debugPrintBreakpoints(int current);
/* Executes `break`: a positive number sets a breakpoint, a negative one removes it, 0 removes all. */
void debugBreakCommand(slice word, int current);

#endif
