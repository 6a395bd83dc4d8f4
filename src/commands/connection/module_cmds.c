/* module_cmds.c -- MODULE: the list of modules, which has one entry; loading is refused.
 *
 * The engine of scripts is shown as the module `lua`, as in Valkey since 9.1. It is built in. Other modules cannot be
 * loaded: their API depends on the internals of Valkey.
 *
 * Not here    the check whether a client may call LOAD (admin/debug.h), INFO's section (server/pending_info.c).
 * Threads     main.
 * Tests       tests/server/introspection.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "connection_cmds.h"

#include "commands.h"
#include "log.h"
#include "reply.h"

#define NAME "lua"

void replyModules(client *c) {
    addReplyArrayLen(c, 1);
    addReplyMapLen(c, 4);
    addReplyBulkCString(c, "name");
    addReplyBulkCString(c, NAME);
    addReplyBulkCString(c, "ver");
    addReplyLongLong(c, 1);
    addReplyBulkCString(c, "path");
    addReplyBulkCString(c, NAME);
    addReplyBulkCString(c, "args");
    addReplyEmptyArray(c);
}

void moduleListCommand(client *c) { replyModules(c); }

void moduleLoadCommand(client *c) {
    serverLog(LL_WARNING, "Module %.*s failed to load: this server does not support loadable modules",
              (int)(c->argv[2].len < 256 ? c->argv[2].len : 256), c->argv[2].ptr);
    addReplyError(c, "Error loading the extension. Please check the server logs.");
}

void moduleLoadexCommand(client *c) { moduleLoadCommand(c); }

void moduleUnloadCommand(client *c) {
    if (sliceIs(c->argv[2], NAME)) addReplyError(c, "Error unloading module: lua is built into this server");
    else addReplyError(c, "Error unloading module: no such module with that name");
}
