/* client_info.c -- the INFO fields of clients and errors.
 *
 * Threads     main.
 * Cost        section Clients: one visit of each client.
 * Tests       tests/server/info.tcl, tests/differential/server_compare.py
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "client.h"

#include "client_describe.h"
#include "info_table.h"
#include "output_share.h"
#include "reply.h"
#include "zmalloc.h"

#include <stdlib.h>

/* ---- Clients --------------------------------------------------------------------------------------- */

/* Counted by the section's first INFO field for the following ones. */
static struct { size_t connected, blocked, tracking, pubsub; } counts;

static void countClients(void) {
    memset(&counts, 0, sizeof(counts));
    listIter it = listBegin(client_state.clients, false);
    listNode *node;
    while ((node = listNext(&it)) != NULL) {
        const client *c = listNodeValue(node);
        if (clientTypeOf(c) != CLIENT_TYPE_REPLICA) counts.connected++;
        if (clientIsBlocked(c)) counts.blocked++;
        if (c->flags & CLIENT_TRACKING) counts.tracking++;
        if (c->flags & CLIENT_PUBSUB) counts.pubsub++;
    }
}

static void clientInfoConnected(infoOut *o) {
    countClients();
    infoGauge(o, "connected_clients", counts.connected, "Connected clients, without replicas.");
}

static void clientFields(infoOut *o) {
    infoSize(o, "client_recent_max_input_buffer", client_state.recent_max_input,
             "Largest input buffer of a client recently.");
    infoSize(o, "client_recent_max_output_buffer", client_state.recent_max_output,
             "Largest output buffer of a client recently.");
    infoGauge(o, "blocked_clients", counts.blocked,
              "Clients blocked by a command such as BLPOP or WAIT, or by CLIENT PAUSE.");
    infoGauge(o, "tracking_clients", counts.tracking, "Clients with CLIENT TRACKING enabled.");
    infoGauge(o, "pubsub_clients", counts.pubsub, "Clients subscribed to channels or patterns.");
}

static void outputFields(infoOut *o) {
    infoGauge(o, "clients_waiting_for_output", client_state.output_full,
              "Clients whose commands wait until they have read more of their output.");
}

static void unreadField(infoOut *o) {
    infoSize(o, "mem_clients_unread_output", outputUnread(),
             "Memory of output that clients have not read, values whose keys were deleted included.");
}

/* ---- Stats, Errorstats ------------------------------------------------------------------------------ */

static void errorFields(infoOut *o) {
    infoCounter(o, "unexpected_error_replies", client_state.unexpected_error_replies,
                "Error replies to commands from a primary, or to replicas.");
    infoCounter(o, "total_error_replies", client_state.total_error_replies, "Error replies sent.",
                .family = "error_replies");
}

static void bufferFields(infoOut *o) {
    infoCounter(o, "client_query_buffer_limit_disconnections", client_state.query_limit_disconnections,
                "Clients disconnected because they exceeded the query buffer limit.");
    infoCounter(o, "client_output_buffer_limit_disconnections", client_state.output_limit_disconnections,
                "Clients disconnected because they exceeded an output buffer limit.");
    infoCounter(o, "client_output_waits", client_state.output_waits,
                "Times the commands of a client began to wait until it has read more of its output.");
    infoCounter(o, "reply_buffer_shrinks", 0,
                "Times a reply buffer was shrunk."); /* reply blocks never change their size */
    infoCounter(o, "reply_buffer_expands", 0, "Times a reply buffer was enlarged.");
}

typedef struct errorLines {
    sds *lines; /* owns */
    size_t count, capacity;
} errorLines;

static void errorCounter(void *arg, slice code, long long count) {
    errorLines *e = arg;
    e->lines = zgrowArray(e->lines, e->count, &e->capacity, sizeof(*e->lines));
    e->lines[e->count++] = sdsCatPrintf(sdsEmpty(), "errorstat_%.*s:count=%lld", (int)code.len, code.ptr, count);
}

static int byText(const void *a, const void *b) { return sdsCmp(*(const sds *)a, *(const sds *)b); }

/* Prints the counters in alphabetical order of their codes. */
static void errorCounters(infoOut *o) {
    errorLines e = {0};
    clientErrorStatsEach(errorCounter, &e);
    if (e.count) qsort(e.lines, e.count, sizeof(sds), byText);
    for (size_t i = 0; i < e.count; i++) {
        infoLine(o, "%s", e.lines[i]);
        sdsFree(e.lines[i]);
    }
    zfree(e.lines);
}

static void resetStats(void) {
    client_state.unexpected_error_replies = client_state.total_error_replies = 0;
    client_state.output_waits = 0;
    client_state.output_limit_disconnections = client_state.query_limit_disconnections = 0;
    clientErrorStatsReset();
}

void clientInfoRegister(void) {
    static const infoSection sections[] = {{"clients", "Clients", 30, INFO_DEFAULT | INFO_IN_CRASH},
                                           {"errorstats", "Errorstats", 120, INFO_DEFAULT},
                                           {.name = NULL}};
    static const infoFields fields[] = {{"clients", 10, clientInfoConnected}, {"clients", 40, clientFields},
                                        {"clients", 150, outputFields},       {"memory", 421, unreadField},
                                        {"stats", 470, errorFields},          {"stats", 590, bufferFields},
                                        {"errorstats", 10, errorCounters},    {.section = NULL}};
    infoTableAddSections(sections);
    infoTableAddFields(fields);
    infoTableOnReset(resetStats);
}
