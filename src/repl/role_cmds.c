/* role_cmds.c -- REPLICAOF and ROLE: change and show whether this server is a primary or a replica. READONLY and
 * READWRITE: allow or forbid a replica to serve the reads of a client.
 *
 * Threads     main; REPLICAOF, main's own thread.
 * Tests       tests/repl/role.tcl, tests/repl/redirect.tcl, tests/server/info.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "role_cmds.h"

#include "client_describe.h"
#include "failover.h"
#include "log.h"
#include "primary_link.h"
#include "repl_settings.h"
#include "replicas.h"
#include "reply.h"
#include "repl_stream.h"
#include "slot_table.h"

#include <strings.h>

#define PORT_MAX 65535
#define ADDRESS_BYTES 256

/* ---- REPLICAOF ---- */

void roleLogPromotion(const char *why, const client *c) {
    sds who = clientCatIdentity(sdsEmpty(), c, log_hide_user_data);
    serverLog(LL_NOTICE, "PRIMARY MODE enabled (%s from '%s')", why, who);
    sdsFree(who);
}

static void becomePrimary(client *c) {
    if (primaryLinkIsOn()) {
        primaryLinkLeave();
        roleLogPromotion("user request", c);
    }
    addReplyOk(c);
}

static bool isFollowed(slice host, long long port) {
    const char *now = repl_settings.primary_host;
    return primaryLinkIsOn() && now && host.len == strlen(now) && !strncasecmp(host.ptr, now, host.len) &&
           port == repl_settings.primary_port;
}

/* Handles REPLICAOF with the primary that is followed already. */
static void followSame(client *c) {
    if (primaryLinkTakeEmpty()) {
        sds who = clientCatIdentity(sdsEmpty(), c, log_hide_user_data);
        serverLog(LL_NOTICE,
                  "REPLICAOF again: the dataset of the primary is taken, even if it is empty (user request "
                  "from '%s')",
                  who);
        sdsFree(who);
        addReplyOk(c);
        return;
    }
    serverLog(LL_NOTICE, "REPLICAOF would result into synchronization with the primary we are already connected "
                         "with. No operation performed.");
    addReplyStatus(c, "OK Already connected to specified master");
}

static void roleFollow(client *c, slice host, long long port) {
    if (isFollowed(host, port)) {
        followSame(c);
        return;
    }
    sds name = sdsFromSlice(host);
    primaryLinkFollow(name, port);
    sdsFree(name);
    sds who = clientCatIdentity(sdsEmpty(), c, log_hide_user_data);
    serverLog(LL_NOTICE, "REPLICAOF %s:%lld enabled (user request from '%s')", repl_settings.primary_host, port, who);
    sdsFree(who);
    addReplyOk(c);
}

void replicaofCommand(client *c) {
    long long port;
    if (slots_enabled) {
        addReplyError(c, "REPLICAOF not allowed in cluster mode.");
        return;
    }
    if (failoverNow() != FAILOVER_NONE) {
        addReplyError(c, "REPLICAOF not allowed while failing over.");
        return;
    }
    if (sliceIs(c->argv[1], "no") && sliceIs(c->argv[2], "one")) {
        becomePrimary(c);
        return;
    }
    const replicaState *r = replicaFind(c);
    if (r && r->phase != REPLICA_NONE) {
        addReplyError(c, "Command is not valid when client is a replica.");
        return;
    }
    if (!getRangeLongFromArg(c, 2, 0, PORT_MAX, &port, "Invalid master port")) return;
    roleFollow(c, c->argv[1], port);
}

void slaveofCommand(client *c) { replicaofCommand(c); }

/* ---- ROLE ---- */

static void replyReplica(client *c, const replicaState *r) {
    char ip[ADDRESS_BYTES];
    replicaAddress(r, ip, sizeof(ip));
    addReplyArrayLen(c, 3);
    addReplyBulkCString(c, ip);
    addReplyBulkLongLong(c, r->port);
    addReplyBulkLongLong(c, r->acked);
}

static void replyPrimary(client *c) {
    addReplyArrayLen(c, 3);
    addReplyBulkCString(c, "master");
    addReplyLongLong(c, (long long)replStreamOffset());
    void *length = addReplyDeferredLen(c);
    long long count = 0;
    for (const replicaState *r = NULL; (r = replicasNext(r)) != NULL;) {
        if (r->phase != REPLICA_ONLINE) continue;
        replyReplica(c, r);
        count++;
    }
    setDeferredArrayLen(c, length, count);
}

void roleCommand(client *c) {
    if (!primaryLinkIsOn()) {
        replyPrimary(c);
        return;
    }
    primaryFigures f = primaryLinkFigures();
    addReplyArrayLen(c, 5);
    addReplyBulkCString(c, "slave");
    addReplyBulkCString(c, repl_settings.primary_host);
    addReplyLongLong(c, repl_settings.primary_port);
    addReplyBulkCString(c, f.role_word);
    addReplyLongLong(c, f.state == PRIMARY_UP ? f.applied_offset : -1);
}

/* ---- READONLY, READWRITE ---- */

void readonlyCommand(client *c) {
    c->flags |= CLIENT_READONLY;
    addReplyOk(c);
}

void readwriteCommand(client *c) {
    c->flags &= ~CLIENT_READONLY;
    addReplyOk(c);
}
