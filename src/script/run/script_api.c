/* script_api.c -- the table `redis` (also called `server`), by which scripts use the server.
 *
 * Not here    call() and pcall() (script_call.c).
 * Owns        nothing.
 * Threads     main, within a script that runs.
 * Tests       tests/script/eval.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "script_api.h"

#include "debugger.h"
#include "hash.h"
#include "log.h"
#include "lua_values.h"
#include "propagate.h"
#include "script_run.h"
#include "version.h"

#include <string.h>

/* --- Replies ----------------------------------------------------------------------------------------------------- */

/* Result of error_reply() and status_reply() for arguments other than one string. */
static int wrongReply(lua_State *L) {
    luaPushField(L, "err", sliceStr("ERR wrong number or type of arguments"));
    return 1;
}

static int apiStatusReply(lua_State *L) {
    if (lua_gettop(L) != 1 || lua_type(L, 1) != LUA_TSTRING) return wrongReply(L);
    luaPushField(L, "ok", luaText(L, 1));
    return 1;
}

/* Removes a leading '-'; a text without a code gets "ERR". */
static int apiErrorReply(lua_State *L) {
    if (lua_gettop(L) != 1 || lua_type(L, 1) != LUA_TSTRING) return wrongReply(L);
    slice text = luaText(L, 1);
    if (text.len && text.ptr[0] == '-') text = sliceOf(text.ptr + 1, text.len - 1);
    if (!memchr(text.ptr, ' ', text.len)) {
        lua_pushliteral(L, "ERR ");
        lua_pushlstring(L, text.ptr, text.len);
        lua_concat(L, 2);
        text = luaText(L, -1);
    }
    luaPushField(L, "err", text);
    return 1;
}

/* --- The rest ---------------------------------------------------------------------------------------------------- */

static int apiSha1hex(lua_State *L) {
    if (lua_gettop(L) != 1) return scriptRaise(L, "ERR wrong number of arguments");
    char hex[41];
    slice bytes = luaText(L, 1);
    sha1Hex(hex, bytes.ptr ? bytes.ptr : "", bytes.len);
    lua_pushlstring(L, hex, 40);
    return 1;
}

static int apiSetresp(lua_State *L) {
    if (lua_gettop(L) != 1) return scriptRaise(L, "ERR server.setresp() requires one argument.");
    int resp = (int)lua_tonumber(L, 1);
    if (resp != 2 && resp != 3) return scriptRaise(L, "ERR RESP version must be 2 or 3.");
    scriptRun *run = scriptRunning();
    run->context.self->resp = (uint8_t)resp;
    run->resp = resp;
    return 0;
}

enum { REPL_NONE = 0, REPL_AOF = 1, REPL_REPLICA = 2, REPL_ALL = 3 };
static_assert((int)PROPAGATE_AOF == REPL_AOF && (int)PROPAGATE_REPLICAS == REPL_REPLICA, "bits that scripts know");

static int apiSetRepl(lua_State *L) {
    if (lua_gettop(L) != 1) return scriptRaise(L, "ERR server.set_repl() requires one argument.");
    lua_Number flags = lua_tonumber(L, 1);
    if (!(flags >= REPL_NONE && flags <= REPL_ALL))
        return scriptRaise(L, "ERR Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE.");
    scriptRunning()->context.targets = (uint32_t)flags | PROPAGATE_CHECK;
    return 0;
}

static int apiReplicateCommands(lua_State *L) {
    lua_pushboolean(L, 1);
    return 1;
}

static int apiBreakpoint(lua_State *L) {
    lua_pushboolean(L, debuggerBreak());
    return 1;
}

static int apiDebug(lua_State *L) {
    debuggerPrintValues(L);
    return 0;
}

static int apiLog(lua_State *L) {
    static const logLevel levels[] = {LL_DEBUG, LL_VERBOSE, LL_NOTICE, LL_WARNING};
    int count = lua_gettop(L);
    if (count < 2) return scriptRaise(L, "ERR server.log() requires two arguments or more.");
    if (!lua_isnumber(L, 1)) return scriptRaise(L, "ERR First argument must be a number (log level).");
    lua_Number level = lua_tonumber(L, 1);
    if (!(level >= 0 && level < (lua_Number)array_len(levels))) return scriptRaise(L, "ERR Invalid log level.");
    luaL_Buffer line;
    luaL_buffinit(L, &line);
    bool any = false;
    for (int i = 2; i <= count; i++) {
        if (!lua_isstring(L, i)) continue;
        if (any) luaL_addchar(&line, ' ');
        any = true;
        lua_pushvalue(L, i);
        luaL_addvalue(&line);
    }
    luaL_pushresult(&line);
    serverLog(levels[(int)level], "<lua> %s", lua_tostring(L, -1));
    return 0;
}

/* --- The table ---------------------------------------------------------------------------------------------------- */

typedef struct namedNumber {
    const char *name;
    lua_Number value;
} namedNumber;

static void setNumbers(lua_State *L, const namedNumber *numbers, size_t count) {
    for (size_t i = 0; i < count; i++) {
        lua_pushnumber(L, numbers[i].value);
        lua_setfield(L, -2, numbers[i].name);
    }
}

static const namedNumber levels_and_versions[] = {{"LOG_DEBUG", 0},
                                                  {"LOG_VERBOSE", 1},
                                                  {"LOG_NOTICE", 2},
                                                  {"LOG_WARNING", 3},
                                                  {"REDIS_VERSION_NUM", REDIS_COMPATIBLE_VERSION_NUMBER},
                                                  {"VALKEY_VERSION_NUM", VALKEY_VERSION_NUMBER}};
static const namedNumber targets[] = {{"REPL_NONE", REPL_NONE},
                                      {"REPL_AOF", REPL_AOF},
                                      {"REPL_SLAVE", REPL_REPLICA},
                                      {"REPL_REPLICA", REPL_REPLICA},
                                      {"REPL_ALL", REPL_ALL}};

static void setTexts(lua_State *L) {
    const struct {
        const char *name, *value;
    } texts[] = {
        {"REDIS_VERSION", REDIS_COMPATIBLE_VERSION}, {"VALKEY_VERSION", VALKEY_VERSION}, {"SERVER_NAME", "valkey"}};
    for (size_t i = 0; i < array_len(texts); i++) {
        lua_pushstring(L, texts[i].value);
        lua_setfield(L, -2, texts[i].name);
    }
}

void scriptApiPushForFunctions(lua_State *L) {
    static const luaL_Reg functions[] = {{"call", scriptApiCall},
                                         {"pcall", scriptApiPcall},
                                         {"acl_check_cmd", scriptApiAclCheck},
                                         {"error_reply", apiErrorReply},
                                         {"status_reply", apiStatusReply},
                                         {"sha1hex", apiSha1hex},
                                         {"setresp", apiSetresp},
                                         {"set_repl", apiSetRepl},
                                         {"log", apiLog},
                                         {NULL, NULL}};
    lua_newtable(L);
    luaL_register(L, NULL, functions);
    setNumbers(L, targets, array_len(targets));
    setNumbers(L, levels_and_versions, array_len(levels_and_versions));
    setTexts(L);
}

void scriptApiPush(lua_State *L) {
    static const luaL_Reg functions[] = {
        {"replicate_commands", apiReplicateCommands}, {"breakpoint", apiBreakpoint}, {"debug", apiDebug}, {NULL, NULL}};
    scriptApiPushForFunctions(L);
    luaL_register(L, NULL, functions);
}

void scriptApiPushForLoading(lua_State *L) {
    lua_newtable(L);
    lua_pushcfunction(L, apiLog);
    lua_setfield(L, -2, "log");
    setNumbers(L, levels_and_versions, array_len(levels_and_versions));
    setTexts(L);
}
