/* script_commands.c -- the commands whose handlers are in this layer: EVAL and its variants, SCRIPT, FCALL, FUNCTION.
 *
 * Owns        the array, forever.
 * Threads     main, at startup.
 * Tests       tests/type/command.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "script.h"

#include "command_rows.h"
#include "eval_cache.h"
#include "function_cmds.h"
#include "function_lua.h"
#include "functions.h"
#include "script_context.h"
#include "script_api.h"
#include "script_cmds.h"
#include "script_debug.h"
#include "script_run.h"

static serverCommand rows[] = {
#include "script_commands.def"
};

void scriptCommandsRegister(void) {
    commandTableRegister(rows, array_len(rows));
    /* A long script lets other clients connect and shut the server down, which needs main's own thread. */
    static const char *const running[] = {"eval", "eval_ro", "evalsha", "evalsha_ro", "fcall", "fcall_ro"};
    for (size_t i = 0; i < array_len(running); i++) commandSetMainThread(running[i]);
    commandSetFlagsOf("eval", evalFlags);
    commandSetFlagsOf("eval_ro", evalFlags);
    commandSetFlagsOf("evalsha", evalshaFlags);
    commandSetFlagsOf("evalsha_ro", evalshaFlags);
    commandSetFlagsOf("fcall", fcallFlags);
    commandSetFlagsOf("fcall_ro", fcallFlags);
}

void scriptInit(const char *(*product)(void)) {
    scriptContextInit(product);
    scriptRunInit();
    scriptCallInit();
    evalCacheInit();
    functionLuaInit();
    functionEngineSet(&function_lua);
    functionsInit();
}
