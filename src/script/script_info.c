/* script_info.c -- the INFO fields of scripts: memory of the interpreters and of the cached scripts and functions.
 *
 * Owns        nothing.
 * Threads     main.
 * Tests       tests/script/script_commands.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "script.h"

#include "eval_cache.h"
#include "function_lua.h"
#include "functions.h"
#include "info_table.h"

static void memory(infoOut *o) {
    evalTotals eval = evalCacheTotals();
    const functionTable *functions = functionsInUse();
    size_t interpreter = functionLuaInterpreter()->memory, kept = functionTableMemory(functions);
    size_t vm_total = eval.interpreter + interpreter;
    infoSize(o, "used_memory_lua", eval.interpreter, "Memory of the Lua engine for EVAL.");
    infoSize(o, "used_memory_vm_eval", eval.interpreter, "Memory of the engines for EVAL.");
    infoHuman(o, "used_memory_lua_human", eval.interpreter);
    infoSize(o, "used_memory_scripts_eval", eval.memory, "Memory for the texts of scripts.");
    infoGauge(o, "number_of_cached_scripts", eval.scripts, "Scripts in the cache of EVALSHA.");
    infoGauge(o, "number_of_functions", functions->count, "Functions of loaded libraries.");
    infoGauge(o, "number_of_libraries", dictSize(functions->libraries), "Loaded libraries of functions.");
    infoSize(o, "used_memory_vm_functions", interpreter, "Memory of the engines for functions.");
    infoGauge(o, "used_memory_vm_total", vm_total, "Memory of the engines for scripts and functions.",
              .family = "used_memory_vm_bytes");
    infoHuman(o, "used_memory_vm_total_human", vm_total);
    infoSize(o, "used_memory_functions", kept, "Memory for libraries of functions.");
    infoBytes(o, "used_memory_scripts", eval.memory + kept, "Memory for scripts and functions outside their engines.");
}

static void scriptInfoEvicted(infoOut *o) {
    infoCounter(o, "evicted_scripts", evalCacheTotals().evicted, "Scripts evicted from the cache.");
}

static void engines(infoOut *o) {
    evalTotals eval = evalCacheTotals();
    size_t used = eval.interpreter + functionLuaInterpreter()->memory;
    size_t kept = eval.memory + functionTableMemory(functionsInUse());
    infoGauge(o, "engines_count", 1, "Scripting engines.", .family = "engines");
    infoGauge(o, "engines_total_used_memory", used, "Memory of all engines.", .family = "engines_used_memory_bytes");
    infoGauge(o, "engines_total_memory_overhead", kept, "Memory for what belongs to engines outside of them.",
              .family = "engines_memory_overhead_bytes");
    infoLine(o, "engine_0:name=LUA,module=lua,abi_version=4,used_memory=%zu,memory_overhead=%zu", used, kept);
}

void scriptInfoRegister(void) {
    static const infoFields fields[] = {{"memory", 180, memory},
                                        {"stats", 260, scriptInfoEvicted},
                                        {"scriptingengines", 10, engines},
                                        {.section = NULL}};
    infoTableAddFields(fields);
}
