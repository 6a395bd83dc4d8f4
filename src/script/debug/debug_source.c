/* debug_source.c -- the source lines of the script that is debugged, and its breakpoints.
 *
 *     ->#12  local x = 1        the arrow: the script is stopped here; '#': a breakpoint
 *
 * Not here    stopping (debugger.c).
 * Owns        the text.
 * Threads     main's own, or a forked child's only one.
 * Tests       tests/script/debugger.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "debug_source.h"

#include "debug_wire.h"
#include "numbers.h"
#include "zmalloc.h"

#include <limits.h>
#include <string.h>

#define BREAKPOINTS_MAX 64
#define LINES_MAX 1000000

static struct {
    sds text;     /* owns */
    slice *lines; /* owns: into the text */
    int count;
    int breakpoints[BREAKPOINTS_MAX];
    int nbreakpoints;
} source;

static int countLines(slice text) {
    int lines = 0;
    for (size_t at = 0; at < text.len && lines < LINES_MAX; lines++) {
        const char *end = memchr(text.ptr + at, '\n', text.len - at);
        at = end ? (size_t)(end - text.ptr) + 1 : text.len;
    }
    return lines ? lines : 1;
}

void debugSourceBegin(slice text) {
    source.text = sdsNewLen(text.ptr, text.len);
    source.count = countLines(text);
    source.lines = zcalloc((size_t)source.count, sizeof(slice));
    source.nbreakpoints = 0;
    const char *begin = source.text, *end = begin + text.len;
    for (int i = 0; i < source.count; i++) {
        const char *stop = memchr(begin, '\n', (size_t)(end - begin));
        source.lines[i] = sliceOf(begin, (size_t)((stop ? stop : end) - begin));
        begin = stop ? stop + 1 : end;
    }
}

void debugSourceEnd(void) {
    sdsFree(source.text);
    zfree(source.lines);
    source.text = NULL;
    source.lines = NULL;
    source.count = source.nbreakpoints = 0;
}

/* ---- Breakpoints ------------------------------------------------------------------------------------------------- */

/* Returns the index of the breakpoint at that line, or nbreakpoints if there is none. */
static int debugSourceFind(int line) {
    int i = 0;
    while (i < source.nbreakpoints && source.breakpoints[i] != line) i++;
    return i;
}

bool debugHasBreakpoint(int line) { return debugSourceFind(line) < source.nbreakpoints; }

bool debugHasBreakpoints(void) { return source.nbreakpoints > 0; }

void debugRemoveBreakpoints(void) { source.nbreakpoints = 0; }

void debugPrintBreakpoints(int current) {
    if (source.nbreakpoints == 0) {
        debugPrintFormat("No breakpoints set. Use 'b <line>' to add one.");
        return;
    }
    debugPrintFormat("%d breakpoints set:", source.nbreakpoints);
    for (int i = 0; i < source.nbreakpoints; i++) debugPrintLine(source.breakpoints[i], current);
}

static void removeBreakpoint(int line) {
    int i = debugSourceFind(line);
    if (i == source.nbreakpoints) {
        debugPrintFormat("No breakpoint in the specified line.");
        return;
    }
    source.nbreakpoints--;
    memmove(source.breakpoints + i, source.breakpoints + i + 1, (size_t)(source.nbreakpoints - i) * sizeof(int));
    debugPrintFormat("Breakpoint removed.");
}

static void addBreakpoint(int line, int current) {
    if (line > source.count || debugHasBreakpoint(line)) {
        debugPrintFormat("Wrong line number.");
    } else if (source.nbreakpoints == BREAKPOINTS_MAX) {
        debugPrintFormat("Too many breakpoints set.");
    } else {
        source.breakpoints[source.nbreakpoints++] = line;
        debugPrintLinesAround(line, 1, current);
    }
}

void debugBreakCommand(slice word, int current) {
    long long line;
    if (!string2ll(word.ptr, word.len, &line) || line < -INT_MAX || line > INT_MAX) {
        debugPrint(sdsCat(sdsCatLen(sdsNew("Invalid argument:'"), word.ptr, word.len), "'"));
    } else if (line == 0) {
        source.nbreakpoints = 0;
        debugPrintFormat("All breakpoints removed.");
    } else if (line < 0) {
        removeBreakpoint((int)-line);
    } else {
        addBreakpoint((int)line, current);
    }
}

/* ---- Lines ------------------------------------------------------------------------------------------------------- */

void debugPrintLine(int line, int current) {
    slice text = line >= 1 && line <= source.count ? source.lines[line - 1]
                                                   : sliceStr("<out of range source code line>");
    const char *arrow = line == current ? "->" : "  ", *mark = debugHasBreakpoint(line) ? "#" : " ";
    debugPrint(sdsCatLen(sdsCatPrintf(sdsEmpty(), "%s%s%-3d ", arrow, mark, line), text.ptr, text.len));
}

void debugPrintLinesAround(int line, int context, int current) {
    long long first = (long long)line - context, last = (long long)line + context;
    if (first < 1) first = 1;
    if (last > source.count) last = source.count;
    for (long long i = first; i <= last; i++) debugPrintLine((int)i, current);
}
