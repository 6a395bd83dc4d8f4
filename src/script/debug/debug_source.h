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
void debugSourceEnd(void);

bool debugHasBreakpoint(int line);
bool debugHasBreakpoints(void);
void debugForgetBreakpoints(void);
/* Print source lines and breakpoints, and execute the command `break`. An arrow marks line `current`. */
void debugPrintLine(int line, int current);
void debugPrintLinesAround(int line, int context, int current);
void debugPrintBreakpoints(int current);
void debugBreakCommand(slice word, int current);

#endif
