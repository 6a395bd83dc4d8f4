/* sandbox_fixture.c -- a sandbox without a server.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "sandbox_fixture.h"

#include "unit.h"
#include "zmalloc.h"

#include <stdio.h>
#include <string.h>

#define SAID_MAX 16384

static void openNothing(lua_State *L) { lua_newtable(L); }

bool sandboxFixtureOpen(interpreter *in) { return sandboxOpen(in, false, openNothing); }

typedef struct toRun {
    slice text;
    char *said;
    size_t size;
} toRun;

/* Writes the value on top of the stack as text. */
static void say(lua_State *L, const toRun *run) {
    bool text = lua_type(L, -1) == LUA_TSTRING;
    snprintf(run->said, run->size, "%s", text ? lua_tostring(L, -1) : luaL_typename(L, -1));
}

static int loadAndRun(lua_State *L) {
    const toRun *run = lua_touserdata(L, 1);
    if (sandboxLoad(L, run->text, "@test") != 0) return lua_error(L);
    lua_call(L, 0, 1);
    say(L, run);
    return 0;
}

int sandboxFixtureRun(interpreter *in, slice text, char *said, size_t size) {
    toRun run = {.text = text, .said = said, .size = size};
    int result = lua_cpcall(in->L, loadAndRun, &run);
    if (result != 0) {
        say(in->L, &run);
        lua_pop(in->L, 1);
    }
    return result;
}

static int runAlone(const char *code, char said[SAID_MAX]) {
    interpreter in;
    interpreterInit(&in);
    CHECK(sandboxFixtureOpen(&in));
    int result = sandboxFixtureRun(&in, sliceStr(code), said, SAID_MAX);
    interpreterFree(&in);
    return result;
}

void sandboxFixtureGives(const char *code, const char *want) {
    char said[SAID_MAX];
    CHECK_EQ_INT(runAlone(code, said), 0);
    CHECK_EQ_STR(said, want);
}

void sandboxFixtureFails(const char *code, const char *want) {
    char said[SAID_MAX];
    CHECK_EQ_INT(runAlone(code, said), LUA_ERRRUN);
    const char *behind = strstr(said, ": ");
    CHECK_EQ_STR(behind ? behind + 2 : said, want);
}

void sandboxFixtureAsLua(const char *code) {
    static char said[SAID_MAX], want[SAID_MAX];
    lua_State *plain = luaL_newstate();
    luaL_openlibs(plain);
    int result = luaL_loadbuffer(plain, code, strlen(code), "@test") || lua_pcall(plain, 0, 1, 0);
    say(plain, &(toRun){.said = want, .size = sizeof(want)});
    lua_close(plain);
    CHECK_EQ_INT(runAlone(code, said), result ? LUA_ERRRUN : 0);
    if (strcmp(said, want) != 0) fprintf(stderr, "%s\n", code);
    CHECK_EQ_STR(said, want);
}

/* Runs `code` with the n-th allocation failing. Returns how many were left before the failure. */
static long runRefused(const char *code, long n, const char *want) {
    char said[SAID_MAX];
    interpreter in;
    interpreterInit(&in);
    CHECK(sandboxFixtureOpen(&in));
    zmallocFailAfter(n);
    int result = sandboxFixtureRun(&in, sliceStr(code), said, sizeof(said));
    long left = zmallocFailAfter(0);
    if (result == 0) CHECK_EQ_STR(said, want);
    else CHECK(strstr(said, "not enough memory") || strstr(said, "error in error"));
    interpreterFree(&in);
    CHECK_EQ_INT(in.memory, 0);
    return left;
}

void sandboxFixtureRefuseEach(const char *code) {
    char want[SAID_MAX];
    CHECK_EQ_INT(runAlone(code, want), 0);
    for (long n = 1; runRefused(code, n, want) == 0; n++) {
    }
}
