/* script_call.c -- redis.call(), redis.pcall() and redis.acl_check_cmd(): commands that a script executes or checks.
 *
 * Arguments stay on Lua's stack, and the record of the command refers to them. The record is made in an arena that each
 * call reuses. Commands are looked up through small caches, chosen by the address of the name: a script's constant has
 * the same address each time, so a loop over three commands finds all three.
 *
 * Not here    executing the command (engine/script_context.c), conversion of values (reply_to_lua.c, lua_to_reply.c).
 * Owns        the arena.
 * Threads     main, within a script that runs.
 * Cost        no allocation except Lua's own for the result.
 * Tests       tests/script/eval.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "script_api.h"

#include "command_record.h"
#include "debugger.h"
#include "lua_values.h"
#include "panic.h"
#include "reply.h"
#include "script_run.h"

#define ARENA_BYTES 8192
#define CACHES 16 /* a power of two */
#define NUMBERS_ON_STACK 16
static_assert((CACHES & (CACHES - 1)) == 0, "bits of an address choose a cache");

static struct {
    alignas(16) char first[ARENA_BYTES];
    recordArena arena;
    recordCache caches[CACHES];
} calls;

void scriptCallInit(void) { recordArenaInit(&calls.arena, calls.first, ARENA_BYTES); }

/* Texts of the numbers among the arguments: on the C stack or, if there are many, in memory of Lua. */
typedef struct numberTexts {
    char on_stack[NUMBERS_ON_STACK][LUA_ARG_DIGITS];
    char *more;
    uint32_t used;
} numberTexts;

static char *numberText(lua_State *L, numberTexts *texts, int argc) {
    debugAssert(texts->used < (uint32_t)argc + NUMBERS_ON_STACK);
    if (texts->used < NUMBERS_ON_STACK) return texts->on_stack[texts->used++];
    if (!texts->more) texts->more = lua_newuserdata(L, (size_t)argc * LUA_ARG_DIGITS);
    return texts->more + (size_t)texts->used++ * LUA_ARG_DIGITS;
}

/* Makes a record of the arguments on the stack, complete except for recordComplete(). Returns NULL if one of them is
 * neither a string nor a number.
 *
 * It needs two more slots of Lua's stack, and a C function has LUA_MINSTACK in addition to its arguments.
 * luaL_checkstack() would refuse calls that have as many arguments as unpack() can give. */
static parsedCommand *makeRecord(lua_State *L, numberTexts *texts, int argc) {
    size_t bytes = 0;
    recordArenaFree(&calls.arena);
    recordArenaInit(&calls.arena, calls.first, ARENA_BYTES);
    if (unlikely(!recordArenaPrepare(&calls.arena, (size_t)argc))) luaL_error(L, "not enough memory");
    parsedCommand *req = recordCreate(&calls.arena, (size_t)argc);
    for (int i = 0; i < argc; i++) {
        char *digits = lua_type(L, i + 1) == LUA_TNUMBER ? numberText(L, texts, argc) : NULL;
        if (!luaArgument(L, i + 1, digits, &req->argv[i])) return NULL;
        bytes += req->argv[i].len + 16;
    }
    req->wire_len = bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
    return req;
}

static recordCache *cacheFor(const parsedCommand *req) {
    return &calls.caches[((uintptr_t)req->argv[0].ptr >> 5) % CACHES];
}

/* Releases the value that was built in advance if the command has not taken it. */
static void dropValue(parsedCommand *req) {
    if (unlikely(req->value != NULL)) decrRefCount(req->value);
    req->value = NULL;
}

static slice flatten(client *self, sds *copy) {
    const replyBlock *b = self->reply_head;
    if (likely(b && !b->next && !b->nrefs)) return sliceOf(b->data, b->used);
    *copy = replyBlockCatChain(sdsEmpty(), b);
    return sdsSlice(*copy);
}

static void printReply(client *self) {
    sds copy = NULL;
    debuggerPrintReply(flatten(self, &copy));
    sdsFree(copy);
}

typedef struct replyToPush {
    slice bytes;
    replyKind kind;
} replyToPush;

/* Runs in a protected call, so that the caller can free its copy of a reply in several blocks even after an error. */
static int pushInPieces(lua_State *L) {
    replyToPush *p = lua_touserdata(L, 1);
    p->kind = luaPushReply(L, p->bytes);
    return p->kind == REPLY_BROKEN ? 0 : 1;
}

static replyKind pushResult(lua_State *L, client *self) {
    sds copy = NULL;
    replyToPush reply = {.bytes = flatten(self, &copy), .kind = REPLY_BROKEN};
    if (likely(!copy)) {
        reply.kind = luaPushReply(L, reply.bytes);
        return reply.kind;
    }
    lua_pushcfunction(L, pushInPieces);
    lua_pushlightuserdata(L, &reply);
    int failed = lua_pcall(L, 1, LUA_MULTRET, 0);
    sdsFree(copy);
    if (failed) lua_error(L);
    return reply.kind;
}

/* Runs the command whose arguments are on the stack and leaves its result there. */
static replyKind callCommand(lua_State *L) {
    scriptRun *run = scriptRunning();
    serverAssert(run); /* the sandbox calls this within a script only */
    client *self = run->context.self;
    int argc = lua_gettop(L);
    numberTexts texts = {.used = 0, .more = NULL};
    clientDropReplies(self);
    if (argc == 0) {
        luaPushError(L, sliceStr("ERR Please specify at least one argument for this call"), false);
        return REPLY_ERROR;
    }
    parsedCommand *req = makeRecord(L, &texts, argc);
    if (unlikely(!req)) {
        luaPushError(L, sliceStr("ERR Command arguments must be strings or integers"), false);
        return REPLY_ERROR;
    }
    recordComplete(&calls.arena, cacheFor(req), req, object_main_owner);
    if (unlikely(run->call->debugged)) debuggerPrintCommand(req->argv, req->argc);
    scriptContextCall(&run->context, req);
    dropValue(req);
    if (unlikely(run->call->debugged)) printReply(self);
    debugAssert(!req->value && scriptRunning() == run);
    debugAssert(self->output_bytes > 0 ||
                run->context.caller->flags & CLIENT_CLOSE_ASAP); /* each command has replied */
    lua_settop(L, 0);
    replyKind kind = pushResult(L, self);
    if (likely(kind != REPLY_BROKEN)) return kind;
    luaPushError(L, sliceStr("OOM command not allowed: there is not enough memory for it"), false);
    return REPLY_ERROR;
}

int scriptApiCall(lua_State *L) { return callCommand(L) == REPLY_ERROR ? lua_error(L) : 1; }

int scriptApiPcall(lua_State *L) {
    callCommand(L);
    return 1;
}

int scriptApiAclCheck(lua_State *L) {
    int argc = lua_gettop(L);
    numberTexts texts = {.used = 0, .more = NULL};
    if (argc == 0) return scriptRaise(L, "ERR Please specify at least one argument for this call");
    parsedCommand *req = makeRecord(L, &texts, argc);
    if (!req) return scriptRaise(L, "ERR Command arguments must be strings or integers");
    recordComplete(&calls.arena, cacheFor(req), req, object_main_owner);
    dropValue(req);
    if (req->flags & (REQ_UNKNOWN_COMMAND | REQ_UNKNOWN_SUBCOMMAND))
        return scriptRaise(L, "ERR Invalid command passed to server.acl_check_cmd()");
    lua_pushboolean(L, scriptContextMayCall(&scriptRunning()->context, req));
    return 1;
}
