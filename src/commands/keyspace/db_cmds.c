/* db_cmds.c -- commands about whole databases, and TIME.
 *
 * Not here    SELECT (connection_cmds.c); how a database is emptied (store/db.c).
 * Threads     main.
 * Tests       tests/unit/commands/keyspace/keys_test.c, tests/type/keys.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "db_cmds.h"

#include "clock.h"
#include "commands.h"
#include "db.h"
#include "script_context.h"
#include "reply.h"

#define US_PER_S 1000000
#define ALL_DBS (-1)

void dbsizeCommand(client *c) { addReplyLongLong(c, (long long)dbSize(c->db)); }

/* Parses [ASYNC|SYNC]. Returns false after an error reply. */
static bool parseFlushMode(client *c, bool *async) {
    *async = store_settings.lazyfree_user_flush;
    if (c->argc == 1) return true;
    bool wants_async = sliceIs(c->argv[1], "async");
    if (c->argc > 2 || (!wants_async && !sliceIs(c->argv[1], "sync"))) return addReplySyntaxError(c);
    *async = wants_async;
    return true;
}

static void (*after_flushall)(void); /* const after startup; may be NULL */

void flushallSetAfter(void (*after)(void)) { after_flushall = after; }

static void flushGeneric(client *c, int dbid) {
    bool async;
    if (!parseFlushMode(c, &async)) return;
    dbEmpty(dbid, async);
    if (dbid == ALL_DBS && after_flushall) after_flushall();
    addReplyOk(c);
}

void flushdbCommand(client *c) { flushGeneric(c, dbId(c->db)); }
void flushallCommand(client *c) { flushGeneric(c, ALL_DBS); }

/* A client keeps the number of its database, so after SWAPDB it sees the other database's keys. */
void swapdbCommand(client *c) {
    int first, second;
    if (!getIntFromArg(c, 1, &first, "invalid first DB index") ||
        !getIntFromArg(c, 2, &second, "invalid second DB index"))
        return;
    if (!dbSwap(first, second)) {
        addReplyError(c, "DB index is out of range");
        return;
    }
    addReplyOk(c);
}

void timeCommand(client *c) {
    int64_t now_us = scriptContextIsClient(c) ? scriptContextClockUs() : clockWallUs();
    addReplyArrayLen(c, 2);
    addReplyBulkLongLong(c, now_us / US_PER_S);
    addReplyBulkLongLong(c, now_us % US_PER_S);
}
