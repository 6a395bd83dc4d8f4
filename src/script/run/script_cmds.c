/* script_cmds.c -- SCRIPT LOAD, EXISTS, FLUSH, KILL, SHOW, HELP.
 *
 * Owns        nothing.
 * Threads     main.
 * Tests       tests/script/script_commands.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "script_cmds.h"

#include "eval_cache.h"
#include "reply.h"
#include "script_run.h"
#include "store_settings.h"

void scriptLoadCommand(client *c) {
    sds error;
    const evalScript *s = evalCacheAdd(c->argv[2], true, &error);
    if (s) {
        addReplyBulk(c, sliceOf(s->sha, SHA1_HEX));
        return;
    }
    addReplyErrorSlice(c, sdsSlice(error));
    sdsFree(error);
}

void scriptExistsCommand(client *c) {
    addReplyArrayLen(c, c->argc - 2);
    for (uint32_t i = 2; i < c->argc; i++) addReplyLongLong(c, evalCacheFind(c->argv[i]) != NULL);
}

void scriptShowCommand(client *c) {
    const evalScript *s = evalCacheFind(c->argv[2]);
    if (s) addReplyBulk(c, sdsSlice(s->text));
    else addReplyError(c, "-NOSCRIPT No matching script.");
}

void scriptFlushCommand(client *c) {
    bool async = store_settings.lazyfree_user_flush;
    bool known = c->argc == 2;
    if (c->argc == 3) {
        known = sliceIs(c->argv[2], "async") || sliceIs(c->argv[2], "sync");
        async = sliceIs(c->argv[2], "async");
    }
    if (!known) {
        addReplyError(c, "SCRIPT FLUSH only support SYNC|ASYNC option");
        return;
    }
    evalCacheFlush(async);
    addReplyOk(c);
}

void scriptReplyKilled(client *c, killResult result) {
    switch (result) {
    case KILL_DONE: addReplyOk(c); break;
    case KILL_NOTHING: addReplyError(c, "-NOTBUSY No scripts in execution right now."); break;
    case KILL_HAS_WRITTEN:
        addReplyError(c, "-UNKILLABLE Sorry the script already executed write commands against the dataset. You can "
                         "either wait the script termination or kill the server in a hard way using the SHUTDOWN "
                         "NOSAVE command.");
        break;
    case KILL_OTHER_KIND: addReplyError(c, scriptBusyError()); break;
    }
}

void scriptKillCommand(client *c) { scriptReplyKilled(c, scriptKill(false)); }
