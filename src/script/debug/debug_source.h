/* debug_source.h -- the text of the script that is debugged, by lines, and where it is to stop.
 *
 * Runs on: main's own thread, or a forked child.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_DEBUG_SOURCE_H
#define SCRIPT_DEBUG_SOURCE_H

#include "slice.h"

/* Lines count from 1. The text is copied. */
void debugSourceBegin(slice text);
void debugSourceEnd(void);

bool debugHasBreakpoint(int line);
bool debugHasBreakpoints(void);
void debugForgetBreakpoints(void);
/* The commands `break`, `list` and what shows a place: they say what there is to say. `current` gets the arrow. */
void debugPrintLine(int line, int current);
void debugPrintLinesAround(int line, int context, int current);
void debugPrintBreakpoints(int current);
void debugBreakCommand(slice word, int current);

#endif
