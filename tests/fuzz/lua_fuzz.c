/* lua_fuzz.c -- feeds any bytes to the Lua sandbox: as the text of a script, or as choices among hostile statements and
 * calls.
 *
 * The first byte selects which, and whether an allocation fails. The steps and the memory of a script are limited.
 * redis.call() returns its argument, by way of a reply in RESP2 or RESP3. After any script, the interpreter's count of
 * its memory must be right, and shared tables unchanged.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "client_fixture.h"
#include "lua_values.h"
#include "panic.h"
#include "sandbox.h"
#include "zmalloc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define STEPS_PER_CHECK 1000
#define LOOKS_MAX 20
#define MEMORY_MAX ((size_t)8 << 20)
#define PROGRAM_MAX 4000
#define DEPTH_MAX 5

/* --- Programs ---------------------------------------------------------------------------------------------------- */

typedef struct choices {
    const uint8_t *at, *end;
    sds text;
    int depth;
} choices;

static unsigned draw(choices *from, unsigned below) { return from->at < from->end ? *from->at++ % below : 0; }

static const char *const atoms[] = {"nil",
                                    "true",
                                    "0",
                                    "-1",
                                    "1",
                                    "2^31",
                                    "2^31-1",
                                    "-2^31",
                                    "2^32+1",
                                    "2^53",
                                    "1e308",
                                    "-1/0",
                                    "0/0",
                                    "0.5",
                                    "''",
                                    "'x'",
                                    "'%%'",
                                    "'\\0\\255\\27Lua'",
                                    "'>I4c0!8s'",
                                    "'[1,{\"a\":null}]'",
                                    "'\\146\\1\\161a'",
                                    "s",
                                    "t",
                                    "f",
                                    "co",
                                    "cjson.null",
                                    "_G",
                                    "string",
                                    "getmetatable('')",
                                    "{}",
                                    "{1,2,3}",
                                    "{x=1,[2]=t}",
                                    "t[1]",
                                    "#t",
                                    "s:sub(-3)",
                                    "'a*(b?)%1.-'",
                                    "'return 1'",
                                    "{err='e'}",
                                    "{ok='o'}",
                                    "{map={a=t}}",
                                    "{set={[1]=1}}",
                                    "{double=1.5}",
                                    "{verbatim_string={string='x',format='txt'}}",
                                    "{big_number='1'}",
                                    "{err=1.5}"};

static const char *const functions[] = {"string.byte",
                                        "string.char",
                                        "string.dump",
                                        "string.find",
                                        "string.format",
                                        "string.gmatch",
                                        "string.gsub",
                                        "string.len",
                                        "string.lower",
                                        "string.match",
                                        "string.rep",
                                        "string.reverse",
                                        "string.sub",
                                        "table.concat",
                                        "table.foreach",
                                        "table.foreachi",
                                        "table.getn",
                                        "table.insert",
                                        "table.maxn",
                                        "table.remove",
                                        "table.sort",
                                        "table.setn",
                                        "math.random",
                                        "math.fmod",
                                        "math.frexp",
                                        "math.ldexp",
                                        "cjson.encode",
                                        "cjson.decode",
                                        "cjson.new",
                                        "cjson.encode_max_depth",
                                        "cjson.decode_max_depth",
                                        "cjson.encode_sparse_array",
                                        "cjson.encode_number_precision",
                                        "cmsgpack.pack",
                                        "cmsgpack.unpack",
                                        "cmsgpack.unpack_one",
                                        "cmsgpack.unpack_limit",
                                        "struct.pack",
                                        "struct.unpack",
                                        "struct.size",
                                        "bit.tobit",
                                        "bit.tohex",
                                        "bit.lshift",
                                        "bit.arshift",
                                        "bit.rol",
                                        "bit.bswap",
                                        "redis.call",
                                        "redis.call",
                                        "unpack",
                                        "select",
                                        "next",
                                        "pairs",
                                        "ipairs",
                                        "rawget",
                                        "rawset",
                                        "rawequal",
                                        "setmetatable",
                                        "getmetatable",
                                        "tostring",
                                        "tonumber",
                                        "type",
                                        "load",
                                        "loadstring",
                                        "pcall",
                                        "xpcall",
                                        "error",
                                        "assert",
                                        "coroutine.wrap",
                                        "coroutine.create",
                                        "coroutine.resume",
                                        "coroutine.status",
                                        "collectgarbage",
                                        "gcinfo"};

static void addCall(choices *from);

static void addValue(choices *from) {
    unsigned kind = from->depth < DEPTH_MAX ? draw(from, 8) : 0;
    from->depth++;
    if (kind == 7) addCall(from);
    else if (kind == 6) from->text = sdsCat(from->text, "f");
    else from->text = sdsCat(from->text, atoms[draw(from, array_len(atoms))]);
    from->depth--;
}

static void addCall(choices *from) {
    from->text = sdsCatPrintf(from->text, "%s(", functions[draw(from, array_len(functions))]);
    for (unsigned i = draw(from, 5); i > 0; i--) {
        addValue(from);
        if (i > 1) from->text = sdsCat(from->text, ",");
    }
    from->text = sdsCat(from->text, ")");
}

/* Adds the choice "before VALUE after". */
static void addAround(choices *from, const char *before, const char *after) {
    from->text = sdsCat(from->text, before);
    addValue(from);
    from->text = sdsCat(from->text, after);
}

static void addStatement(choices *from) {
    switch (draw(from, 9)) {
    case 0: addAround(from, "t[#t+1]=", " "); break;
    case 1: addAround(from, "t.x=", " "), addAround(from, "s=tostring(", ") "); break;
    case 2:
        addAround(from,
                  "setmetatable(t,{__index=f,__newindex=f,__call=f,__concat=f,__len=f,__mode='kv',__gc=f,__eq=", "}) ");
        break;
    case 3: addAround(from, "for i=1,50 do local v=", " t[i]=v end "); break;
    case 4:
        addAround(from, "co=coroutine.create(function(...) coroutine.yield(", ") end) coroutine.resume(co) ");
        break;
    case 5: addAround(from, "f=function(...) local a=", " return ..., a end "); break;
    case 6: addAround(from, "for k,v in pairs(t) do t[v]=", " end "); break;
    default:
        from->text = sdsCat(from->text, "pcall(function() s=");
        addCall(from);
        from->text = sdsCat(from->text, " end) ");
    }
}

static sds makeProgram(const uint8_t *data, size_t size) {
    choices from = {data, data + size, sdsNew("local s,t,f,co='abc',{1,'b',{}},function(...) return ... end "), 0};
    while (from.at < from.end && sdsLen(from.text) < PROGRAM_MAX) {
        from.text = sdsCat(from.text, "pcall(function() ");
        addStatement(&from);
        from.text = sdsCat(from.text, "end) ");
    }
    return sdsCat(from.text, "return t");
}

/* --- Running ------------------------------------------------------------------------------------------------------ */

static client *c;
static int looks;

static void onSteps(lua_State *L, lua_Debug *place) {
    unused(place);
    if (++looks < LOOKS_MAX) return;
    lua_sethook(L, onSteps, LUA_MASKCOUNT, 1);
    luaL_error(L, "no more steps");
}

static int pushBack(lua_State *L) {
    const slice *bytes = lua_touserdata(L, 1);
    return luaPushReply(L, *bytes) == REPLY_BROKEN ? 0 : 1;
}

/* redis.call(value, number): converts the value to a reply and back. */
static int echo(lua_State *L) {
    int resp = lua_tonumber(L, 2) > 0 ? 3 : 2;
    slice reply;
    lua_settop(L, 1);
    lua_pushcfunction(L, pushBack); /* allocates in Lua, so it comes before our own allocation */
    lua_pushlightuserdata(L, &reply);
    lua_pushvalue(L, 1);
    if (!c) c = fixtureClient(resp);
    c->resp = resp;
    luaReplyValue(L, c, resp);
    if (c->flags & CLIENT_CLOSE_ASAP) {
        clientFree(c);
        c = NULL;
        return 0;
    }
    sds bytes = fixtureReplies(c);
    reply = sdsSlice(bytes);
    int failed = reply.len ? lua_pcall(L, 1, 1, 0) : 0;
    sdsFree(bytes);
    return failed ? lua_error(L) : 1;
}

static void openEcho(lua_State *L) {
    lua_newtable(L);
    lua_pushcfunction(L, echo);
    lua_setfield(L, -2, "call");
}

static int run(lua_State *L) {
    const slice *text = lua_touserdata(L, 1);
    if (interpreterLoad(L, *text, "@fuzz") != 0) return lua_error(L);
    lua_call(L, 0, 1);
    lua_settop(L, -1);
    return echo(L);
}

/* Checks that the next script finds the initial state. */
static int mustBeWhole(lua_State *L) {
    static const char check[] = "assert(('x'):rep(2) == 'xx' and #cjson.encode({1}) == 3 and rawget(_G, 'x') == nil) "
                                "assert(getmetatable(cjson.null) == nil and getmetatable(1) == nil) "
                                "for _, t in pairs({_G, string, table, math, redis}) do "
                                "assert(rawget(t, 1) == nil and not pcall(rawset, t, 'x', 1)) end";
    if (interpreterLoad(L, sliceOf(check, sizeof(check) - 1), "@check") != 0) return lua_error(L);
    lua_call(L, 0, 0);
    return 0;
}

static void runText(slice text, long refuse) {
    interpreter in;
    interpreterInit(&in);
    in.memory_max = MEMORY_MAX;
    if (!sandboxOpen(&in, false, openEcho)) serverPanic("There is no memory for a sandbox.");
    looks = 0;
    lua_sethook(in.L, onSteps, LUA_MASKCOUNT, STEPS_PER_CHECK);
    zmallocFailAfter(refuse);
    if (lua_cpcall(in.L, run, &text) != 0) lua_pop(in.L, 1);
    zmallocFailAfter(0);
    lua_sethook(in.L, NULL, 0, 0);
    in.refused = true;
    interpreterCollect(&in);
    if (lua_cpcall(in.L, mustBeWhole, NULL) != 0) serverPanic("The sandbox is broken: %s", lua_tostring(in.L, -1));
    interpreterFree(&in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static bool ready;
    if (!ready) fixtureInit();
    ready = true;
    if (size < 2) return 0;
    long refuse = data[0] & 2 ? data[1] * 4L : 0;
    if (data[0] & 1) {
        runText(sliceOf((const char *)data + 2, size - 2), refuse);
        return 0;
    }
    sds program = makeProgram(data + 2, size - 2);
    runText(sdsSlice(program), refuse);
    sdsFree(program);
    return 0;
}
