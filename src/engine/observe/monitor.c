/* monitor.c -- MONITOR: clients that get a line for each command that runs.
 *
 * The line is made once. The replies of all monitors get a copy of it, or, if it is long, a reference.
 *
 * Not here    which commands are shown (call.c), which arguments are hidden (redact.h).
 * Owns        the list of monitors; the client layer owns the clients.
 * Threads     main.
 * Invariants  1. A client is in the list exactly while CLIENT_MONITOR is set, once.
 * Tests       tests/unit/engine/observe/commandlog_test.c, tests/engine/monitor.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "monitor.h"

#include "adlist.h"
#include "command_memory.h"
#include "command_table.h"
#include "panic.h"
#include "redact.h"
#include "reply.h"

size_t monitor_count;

static list monitors; /* clients borrowed until they are freed */

static void monitorForget(client *c) {
    if (!(c->flags & CLIENT_MONITOR)) return;
    debugAssert(monitor_count == listLength(&monitors) && c->flags & CLIENT_REPLICA);
    listDelNode(&monitors, listSearchValue(&monitors, c));
    monitor_count--;
    c->flags &= ~(CLIENT_MONITOR | CLIENT_REPLICA);
    gateEnableClient(c, GATE_REPLICA_CLIENT, false);
}

void monitorInit(void) {
    assertMainRole();
    clientOnFree(monitorForget);
    clientOnReset(monitorForget);
}

static sds lineOf(const client *c) {
    int64_t now_us = clockWallUs();
    bool is_unix = c->flags & CLIENT_UNIX_SOCKET;
    size_t peer_len = sdsLen(c->peer);

    /* A Unix socket has no port: its path is shown without the ":0" that peers end in elsewhere. */
    if (is_unix && peer_len > 2 && strcmp(c->peer + peer_len - 2, ":0") == 0) peer_len -= 2;
    sds line = sdsCatPrintf(sdsEmpty(), "+%lld.%06lld [%d %s%.*s]", (long long)(now_us / 1000000),
                            (long long)(now_us % 1000000), dbId(c->db), is_unix ? "unix:" : "", (int)peer_len, c->peer);
    for (uint32_t i = 0; i < c->req->argc; i++) {
        slice arg = redactedArgument(c, i);
        line = sdsCatRepr(sdsCatLen(line, " ", 1), arg.ptr, arg.len);
    }
    return sdsCatLen(line, "\r\n", 2);
}

/* A line may have four times the length of the command, and is copied while it grows. */
#define LINE_BYTES_MAX(c) (12 * (size_t)(c)->req->wire_len)

/* If there is no memory for the line, monitors miss the command: it has run already. */
void monitorFeed(client *c) {
    assertMainRole();
    debugAssert(monitor_count > 0);
    if (unlikely(c->req->flags & REQ_LARGE) && !commandMemoryTry(c, LINE_BYTES_MAX(c))) return;
    sds line = lineOf(c);
    robj *shared = monitor_count > 1 ? replyShare(sdsSlice(line)) : NULL;
    listIter it = listBegin(&monitors, false);

    for (listNode *n = listNext(&it); n; n = listNext(&it)) addReplyShared(listNodeValue(n), sdsSlice(line), shared);
    if (shared) decrRefCount(shared);
    sdsFree(line);
}

void monitorCommand(client *c) {
    assertMainRole();
    if (c->flags & CLIENT_DENY_BLOCKING) {
        addReplyError(c, "MONITOR isn't allowed for DENY BLOCKING client");
        return;
    }
    if (c->flags & (CLIENT_REPLICA | CLIENT_MONITOR)) return;
    c->flags |= CLIENT_REPLICA | CLIENT_MONITOR;
    gateEnableClient(c, GATE_REPLICA_CLIENT, true);
    listAddNodeTail(&monitors, c);
    monitor_count++;
    debugAssert(monitor_count == listLength(&monitors));
    addReplyOk(c);
}

gateResult replicaClientGate(client *c) {
    assertMainRole();
    if (!(c->cmd->flags & (CMD_WRITE | CMD_READONLY | CMD_MAY_REPLICATE))) return GATE_PASSED;
    addReplyError(c, "Replica can't interact with the keyspace");
    return GATE_REFUSED;
}
