/* eval_cache.c -- the scripts of EVAL and SCRIPT LOAD, by the SHA1 of their text.
 *
 * Not here    running them (script_run.c), commands (eval.c).
 * Owns        the scripts and the interpreter.
 * Threads     main.
 * Invariants  1. A script in the cache has a compiled function.
 *             2. At most EVAL_SCRIPTS_MAX scripts have a node; their list goes from the least to the most recently
 *                used.
 * Tests       tests/script/script_commands.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "eval_cache.h"

#include "dict.h"
#include "hash.h"
#include "info_table.h"
#include "panic.h"
#include "sandbox.h"
#include "script_api.h"
#include "lua_values.h"
#include "script_flags.h"
#include "script_run.h"
#include "script_settings.h"
#include "setting.h"
#include "zmalloc.h"

#include <ctype.h>

static struct {
    interpreter *in;    /* owns */
    dict *scripts;      /* owns: evalScript */
    evalScript *recent; /* borrowed: the script found last */
    list *evictable;
    size_t text_bytes;
    long long evicted;
} cache;

static slice shaOf(const void *entry) { return sliceOf(((const evalScript *)entry)->sha, SHA1_HEX); }

static void freeScript(void *entry) {
    evalScript *s = entry;
    sdsFree(s->text);
    zfree(s);
}

static void openApi(lua_State *L) {
    scriptApiPush(L);
    lua_pushcfunction(L, scriptErrorHandler);
    lua_pushvalue(L, -1);
    lua_setfield(L, LUA_GLOBALSINDEX, "__redis__err__handler");
    lua_setfield(L, LUA_GLOBALSINDEX, "__server__err__handler");
}

static void resetCounters(void) { cache.evicted = 0; }

/* Applies a change of lua-enable-insecure-api. The interpreter of functions applies it at its next flush. */
static bool apiChanged(const char **err) {
    unused(err);
    if (cache.in->insecure != script_settings.lua_enable_insecure_api) evalCacheFlush(true);
    return true;
}

void evalCacheInit(void) {
    static const dictType type = {.entryKey = shaOf, .entryFree = freeScript};
    cache.scripts = dictCreate(&type);
    cache.evictable = listCreate();
    infoTableOnReset(resetCounters);
    settingOnApply("lua-enable-insecure-api", apiChanged);
    cache.in = scriptInterpreterCreate(openApi);
}

interpreter *evalInterpreter(void) { return cache.in; }

/* --- Finding and forgetting ------------------------------------------------------------------------------------- */

static evalScript *find(const char *sha) {
    slice key = {sha, SHA1_HEX};
    evalScript *s = dictFind(cache.scripts, key, dictHash(cache.scripts, key));
    if (s) cache.recent = s;
    return s;
}

void evalCacheUsed(evalScript *s) {
    if (!s->node || s->node == listLast(cache.evictable)) return;
    listUnlinkNode(cache.evictable, s->node);
    listLinkNodeTail(cache.evictable, s->node);
}

evalScript *evalCacheFind(slice sha) {
    char lower[SHA1_HEX];
    assertMainRole();
    if (sha.len != SHA1_HEX) return NULL;
    if (likely(cache.recent && memcmp(cache.recent->sha, sha.ptr, SHA1_HEX) == 0)) return cache.recent;
    evalScript *s = find(sha.ptr);
    if (likely(s != NULL)) return s;
    for (size_t i = 0; i < SHA1_HEX; i++) lower[i] = (char)tolower((unsigned char)sha.ptr[i]);
    return find(lower);
}

static size_t costOf(const evalScript *s) {
    return zmallocSize(s) + sdsAllocSize(s->text) + (s->node ? sizeof(listNode) : 0);
}

static void evalCacheRemove(evalScript *s) {
    if (cache.recent == s) cache.recent = NULL;
    slice key = shaOf(s);
    luaL_unref(cache.in->L, LUA_REGISTRYINDEX, s->function);
    cache.text_bytes -= costOf(s);
    if (s->node) listDelNode(cache.evictable, s->node);
    dictDelete(cache.scripts, key, dictHash(cache.scripts, key));
}

/* --- Adding ------------------------------------------------------------------------------------------------------ */

typedef struct compilation {
    slice code;
    int function;
    sds error;
} compilation;

/* lua_CFunction for the part that allocates memory of Lua. */
static int compile(lua_State *L) {
    compilation *to = lua_touserdata(L, 1);
    if (sandboxLoad(L, to->code, "@user_script") == 0) {
        to->function = luaL_ref(L, LUA_REGISTRYINDEX);
        return 0;
    }
    to->error = sdsCatPrintf(sdsEmpty(), "Error compiling script (new function): %s", lua_tostring(L, -1));
    return 0;
}

static bool compileInto(evalScript *s, slice code, sds *error) {
    compilation to = {.code = code, .function = LUA_NOREF};
    if (lua_cpcall(cache.in->L, compile, &to) != 0) {
        lua_pop(cache.in->L, 1);
        to.error = sdsNew("Error compiling script (new function): not enough memory");
    }
    s->function = to.function;
    *error = to.error;
    return !to.error;
}

static evalScript *addNew(slice text, const char sha[SHA1_HEX], bool stay, sds *error) {
    scriptHead head;
    if ((*error = scriptReadHead(text, &head))) return NULL;
    evalScript *s = zcalloc(1, sizeof(*s));
    if (!compileInto(s, head.code, error)) {
        zfree(s);
        return NULL;
    }
    memcpy(s->sha, sha, SHA1_HEX);
    s->flags = head.flags;
    s->text = sdsNewLen(text.ptr, text.len);
    dictAddNew(cache.scripts, s, dictHash(cache.scripts, shaOf(s)));
    if (!stay) {
        listAddNodeTail(cache.evictable, s);
        s->node = listLast(cache.evictable);
    }
    cache.text_bytes += costOf(s);
    if (listLength(cache.evictable) > EVAL_SCRIPTS_MAX) {
        evalCacheRemove(listNodeValue(listFirst(cache.evictable)));
        cache.evicted++;
    }
    return s;
}

static void exemptFromEviction(evalScript *s) {
    if (!s->node) return;
    cache.text_bytes -= costOf(s);
    listDelNode(cache.evictable, s->node);
    s->node = NULL;
    cache.text_bytes += costOf(s);
}

evalScript *evalCacheAdd(slice text, bool stay, sds *error) {
    char sha[SHA1_HEX + 1];
    assertMainRole();
    *error = NULL;
    sha1Hex(sha, text.ptr, text.len);
    evalScript *s = find(sha);
    if (!s) return addNew(text, sha, stay, error);
    if (stay) exemptFromEviction(s);
    else evalCacheUsed(s);
    return s;
}

/* --- All of it --------------------------------------------------------------------------------------------------- */

void evalCacheFlush(bool async) {
    assertMainRole();
    serverAssert(!scriptRunning());
    cache.recent = NULL;
    dictEmpty(cache.scripts, NULL);
    listEmpty(cache.evictable);
    cache.text_bytes = 0;
    scriptInterpreterRelease(cache.in, async);
    cache.in = scriptInterpreterCreate(openApi);
}

evalTotals evalCacheTotals(void) {
    assertMainRole();
    return (evalTotals){.scripts = dictSize(cache.scripts),
                        .memory = cache.text_bytes + (dictSize(cache.scripts) ? dictMemUsage(cache.scripts) : 0),
                        .interpreter = cache.in->memory,
                        .evicted = cache.evicted};
}
