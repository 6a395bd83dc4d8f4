/* client_list.c -- CLIENT LIST and CLIENT KILL: all clients that match a filter.
 *
 * Not here    the filter (client_filter.c), the description of a client (client/client.c).
 * Threads     main.
 * Cost        each client is visited once.
 * Tests       tests/unit/commands/connection/connection_cmds_test.c, tests/engine/client.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "call.h"
#include "client_filter.h"
#include "client_describe.h"
#include "commands.h"
#include "script_context.h"
#include "pubsub.h"
#include "reply.h"

static sds catMatching(sds s, const clientFilter *f) {
    listIter it = listBegin(client_state.clients, false);

    for (listNode *n = listNext(&it); n; n = listNext(&it)) {
        const client *other = listNodeValue(n);
        if (clientFilterMatches(f, other)) s = sdsCatLen(clientCatInfo(s, other), "\n", 1);
    }
    return s;
}

void clientListCommand(client *c) {
    clientFilter filter;

    if (c->argc == 3) { /* an option without its value; only ID may lack it, after other options */
        addReplySyntaxError(c);
        return;
    }
    if (clientFilterParse(&filter, c, 2, false)) {
        sds text = catMatching(sdsEmpty(), &filter);
        addReplyVerbatim(c, sdsSlice(text), "txt");
        sdsFree(text);
    }
    clientFilterFree(&filter);
}

/* Closes another client. It is freed later, but its subscriptions end now: PUBLISH does not count it any more. */
static void killOther(client *c) {
    pubsubEnd(c);
    clientCloseAsap(c);
}

/* Closes all matching clients except `except`, which gets the reply with their number. Sets *self if it matches,
 * too. */
static long long killMatching(client *except, const clientFilter *f, bool *self) {
    long long killed = 0;
    listIter it = listBegin(client_state.clients, false);

    *self = false;
    for (listNode *n = listNext(&it); n; n = listNext(&it)) {
        client *c = listNodeValue(n);
        if (!clientFilterMatches(f, c)) continue;
        if (c == except) *self = true;
        else killOther(c);
        killed++;
    }
    return killed;
}

/* Returns the client for which the command runs; for a command of a script, the client that has called the script. */
static client *caller(client *c) { return scriptContextIsClient(c) ? callCurrentClient() : c; }

/* CLIENT KILL ip:port, the form without options: kills one client, which may be the calling one. */
static void killByAddress(client *c) {
    listIter it = listBegin(client_state.clients, false);

    for (listNode *n = listNext(&it); n; n = listNext(&it)) {
        client *other = listNodeValue(n);
        if (other->flags & CLIENT_CLOSE_ASAP || !sliceEq(sdsSlice(other->peer), c->argv[2])) continue;
        addReplyOk(c);
        if (other == caller(c)) other->flags |= CLIENT_CLOSE_AFTER_REPLY;
        else killOther(other);
        return;
    }
    addReplyError(c, "No such client");
}

void clientKillCommand(client *c) {
    clientFilter filter;

    if (c->argc == 3) {
        killByAddress(c);
        return;
    }
    if (clientFilterParse(&filter, c, 2, true)) {
        bool self;
        filter.me = caller(c);
        addReplyLongLong(c, killMatching(caller(c), &filter, &self));
        if (self) caller(c)->flags |= CLIENT_CLOSE_AFTER_REPLY;
    }
    clientFilterFree(&filter);
}
