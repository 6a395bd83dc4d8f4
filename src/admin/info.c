/* info.c -- the INFO command: selects sections and writes their text.
 *
 * Not here    the contents of sections: their layers register INFO fields (base/info_table.h).
 * Owns        the start time.
 * Threads     main; infoPrintCrash() also on a thread that crashes.
 * Invariants  1. A section appears once, however often it is requested, in the order of the table.
 * Tests       tests/server/info.tcl, tests/differential/server_compare.py
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "info.h"

#include "clock.h"
#include "info_table.h"
#include "one_line.h"
#include "panic.h"
#include "reply.h"

#include <stdio.h>
#include <string.h>

#define TEXT_ROOM 8192 /* capacity for the default sections */

static int64_t started_s;

void infoInit(void) { started_s = clockWallMs() / 1000; }

int64_t infoStartedAt(void) { return started_s; }

/* ---- Writing --------------------------------------------------------------------------------------- */

static void putText(void *arg, const char *fmt, va_list ap) {
    sds *text = arg;
    size_t from = sdsLen(*text);
    *text = sdsCatVprintf(*text, fmt, ap);
    oneLine(*text + from, sdsLen(*text) - from);
    *text = sdsMakeRoomFor(*text, 2);
    memcpy(*text + sdsLen(*text), "\r\n", 2);
    sdsIncrLen(*text, 2);
}

static void putCrash(void *arg, const char *fmt, va_list ap) {
    char line[512];
    unused(arg);
    vsnprintf(line, sizeof(line), fmt, ap);
    oneLine(line, strlen(line));
    panicPrint("%s\r\n", line);
}

static void writeSection(infoOut *o, const infoSection *s, bool first) {
    if (!first) infoLine(o, "%s", "");
    infoLine(o, "# %s", s->title);
    infoTableWrite(s, o);
}

/* ---- Selecting ------------------------------------------------------------------------------------- */

/* Returns whether INFO's argument `name` selects the section. */
static bool asksFor(slice name, const infoSection *s) {
    if (sliceIs(name, "default")) return s->flags & INFO_DEFAULT;
    if (sliceIs(name, "all") || sliceIs(name, "everything")) return !(s->flags & INFO_BY_NAME);
    return sliceIs(name, s->name);
}

static bool isWanted(const infoSection *s, const slice *names, uint32_t count) {
    if (count == 0) return s->flags & INFO_DEFAULT;
    for (uint32_t i = 0; i < count; i++)
        if (asksFor(names[i], s)) return true;
    return false;
}

static sds textOfSections(const slice *names, uint32_t count) {
    sds text = sdsMakeRoomFor(sdsEmpty(), TEXT_ROOM);
    infoOut o = {putText, &text};
    const infoSection *s;
    const char *last_title = "";
    for (size_t i = 0; (s = infoTableSection(i)) != NULL; i++) {
        /* A section may be in the table under two names, one after the other. */
        if (!isWanted(s, names, count) || !strcmp(s->title, last_title)) continue;
        writeSection(&o, s, !*last_title);
        last_title = s->title;
    }
    return text;
}

void infoPrintCrash(void) {
    infoOut o = {putCrash, NULL};
    const infoSection *s;
    bool first = true;
    for (size_t i = 0; (s = infoTableSection(i)) != NULL; i++) {
        if (!(s->flags & INFO_IN_CRASH)) continue;
        writeSection(&o, s, first);
        first = false;
    }
}

void infoCommand(client *c) {
    sds text = textOfSections(c->argv + 1, c->argc - 1);
    addReplyVerbatim(c, sdsSlice(text), "txt");
    sdsFree(text);
}
