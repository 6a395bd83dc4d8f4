/* info.c -- the INFO command: which sections, in which order.
 *
 * Not here    what a section says (info_server.c, info_memory.c, info_stats.c).
 * Owns        the table of sections, the time of the start.
 * Threads     main.
 * Invariants  a section appears once, however often it is asked for, in the order of the table.
 * Tests       tests/server/info.tcl, tests/differential/server_compare.py
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "info.h"

#include "clock.h"
#include "info_internal.h"
#include "numbers.h"
#include "panic.h"
#include "reply.h"

#include <stdio.h>

static const struct {
    const char *name, *title;
    bool is_default;
    bool in_crash; /* can be made when nothing may be allocated */
    void (*write)(infoOut *o);
} sections[] = {
    {"server", "Server", true, true, infoServer},
    {"tls", "TLS", false, false, infoTls},
    {"clients", "Clients", true, true, infoClients},
    {"memory", "Memory", true, false, infoMemory},
    {"persistence", "Persistence", true, true, infoPersistence},
    {"stats", "Stats", true, true, infoStats},
    {"replication", "Replication", true, false, infoReplication},
    {"cpu", "CPU", true, true, infoCpu},
    {"module_list", "Modules", false, false, infoModules},
    {"modules", "Modules", true, false, infoModules},
    {"commandstats", "Commandstats", false, true, infoCommandstats},
    {"errorstats", "Errorstats", true, false, infoErrorstats},
    {"latencystats", "Latencystats", false, false, infoLatencystats},
    {"cluster", "Cluster", true, true, infoCluster},
    {"cluster_info", "Cluster Info", false, false, infoClusterInfo},
    {"scriptingengines", "Scripting Engines", false, false, infoScriptingEngines},
    {"keyspace", "Keyspace", true, true, infoKeyspace},
};

static int64_t started_s;

void infoInit(void) {
    started_s = clockWallMs() / 1000;
}

int64_t infoStartedAt(void) {
    return started_s;
}

/* ---- Writing --------------------------------------------------------------------------------------- */

void infoLine(infoOut *o, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    if (o->text) {
        o->text = sdsCatVprintf(o->text, fmt, ap);
        o->text = sdsCatLen(o->text, "\r\n", 2);
    } else {
        char line[512];
        vsnprintf(line, sizeof(line), fmt, ap);
        panicPrint("%s\r\n", line);
    }
    va_end(ap);
}

void infoBytes(infoOut *o, const char *field, size_t bytes) {
    char human[64];
    bytes2human(human, sizeof(human), bytes);
    infoLine(o, "%s:%zu", field, bytes);
    infoLine(o, "%s_human:%s", field, human);
}

static void writeSection(infoOut *o, size_t i) {
    if (o->begun) infoLine(o, "%s", "");
    o->begun = true;
    infoLine(o, "# %s", sections[i].title);
    sections[i].write(o);
}

/* ---- Choosing -------------------------------------------------------------------------------------- */

/* A set of sections, one bit each. */
typedef uint32_t sectionSet;
static_assert(array_len(sections) <= 32, "a bit for each section");

static sectionSet defaultSections(void) {
    sectionSet set = 0;
    for (size_t i = 0; i < array_len(sections); i++)
        if (sections[i].is_default) set |= 1u << i;
    return set;
}

static sectionSet sectionsNamed(slice name) {
    if (sliceIs(name, "default")) return defaultSections();
    if (sliceIs(name, "all") || sliceIs(name, "everything")) return (1u << array_len(sections)) - 1;
    for (size_t i = 0; i < array_len(sections); i++)
        if (sliceIs(name, sections[i].name)) return 1u << i;
    return 0;
}

sds infoText(const slice *names, uint32_t count) {
    sectionSet set = count == 0 ? defaultSections() : 0;
    for (uint32_t i = 0; i < count; i++) set |= sectionsNamed(names[i]);
    infoOut o = {.text = sdsEmpty()};
    const char *last_title = "";
    for (size_t i = 0; i < array_len(sections); i++) {
        /* Two names of one section stand side by side in the table. */
        if (!(set & 1u << i) || !strcmp(sections[i].title, last_title)) continue;
        last_title = sections[i].title;
        writeSection(&o, i);
    }
    return o.text;
}

void infoPrintCrash(void) {
    infoOut o = {.text = NULL};
    for (size_t i = 0; i < array_len(sections); i++)
        if (sections[i].in_crash) writeSection(&o, i);
}

void infoCommand(client *c) {
    sds text = infoText(c->argv + 1, c->argc - 1);
    addReplyVerbatim(c, sdsSlice(text), "txt");
    sdsFree(text);
}
