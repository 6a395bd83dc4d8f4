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
#include "numbers.h"

static void memory(infoOut *o) {
    evalTotals eval = evalCacheTotals();
    const functionTable *functions = functionsInUse();
    size_t interpreter = functionLuaInterpreter()->memory, kept = functionTableMemory(functions);
    infoLine(o, "used_memory_lua:%zu", eval.interpreter);
    infoLine(o, "used_memory_vm_eval:%zu", eval.interpreter);
    char human[32];
    bytes2human(human, sizeof(human), eval.interpreter);
    infoLine(o, "used_memory_lua_human:%s", human);
    infoLine(o, "used_memory_scripts_eval:%zu", eval.memory);
    infoLine(o, "number_of_cached_scripts:%zu", eval.scripts);
    infoLine(o, "number_of_functions:%zu", functions->count);
    infoLine(o, "number_of_libraries:%zu", dictSize(functions->libraries));
    infoLine(o, "used_memory_vm_functions:%zu", interpreter);
    infoBytes(o, "used_memory_vm_total", eval.interpreter + interpreter);
    infoLine(o, "used_memory_functions:%zu", kept);
    infoBytes(o, "used_memory_scripts", eval.memory + kept);
}

static void scriptInfoEvicted(infoOut *o) { infoLine(o, "evicted_scripts:%lld", evalCacheTotals().evicted); }

static void engines(infoOut *o) {
    evalTotals eval = evalCacheTotals();
    size_t used = eval.interpreter + functionLuaInterpreter()->memory;
    size_t kept = eval.memory + functionTableMemory(functionsInUse());
    infoLine(o, "engines_count:1");
    infoLine(o, "engines_total_used_memory:%zu", used);
    infoLine(o, "engines_total_memory_overhead:%zu", kept);
    infoLine(o, "engine_0:name=LUA,module=lua,abi_version=4,used_memory=%zu,memory_overhead=%zu", used, kept);
}

static const infoMetric metrics[] = {
    {"used_memory_lua", "used_memory_lua_bytes", INFO_GAUGE, 0, "Memory of the Lua engine for EVAL."},
    {"used_memory_vm_eval", "used_memory_vm_eval_bytes", INFO_GAUGE, 0, "Memory of the engines for EVAL."},
    {"used_memory_scripts_eval", "used_memory_scripts_eval_bytes", INFO_GAUGE, 0, "Memory for the texts of scripts."},
    {"number_of_cached_scripts", NULL, INFO_GAUGE, 0, "Scripts that EVALSHA finds."},
    {"number_of_functions", NULL, INFO_GAUGE, 0, "Functions of loaded libraries."},
    {"number_of_libraries", NULL, INFO_GAUGE, 0, "Loaded libraries of functions."},
    {"used_memory_vm_functions", "used_memory_vm_functions_bytes", INFO_GAUGE, 0,
     "Memory of the engines for functions."},
    {"used_memory_vm_total", "used_memory_vm_bytes", INFO_GAUGE, 0, "Memory of the engines for scripts and functions."},
    {"used_memory_functions", "used_memory_functions_bytes", INFO_GAUGE, 0, "Memory for libraries of functions."},
    {"used_memory_scripts", "used_memory_scripts_bytes", INFO_GAUGE, 0,
     "Memory for scripts and functions outside their engines."},
    {"evicted_scripts", NULL, INFO_COUNTER, 0, "Scripts that were forgotten to make room for others."},
    {"engines_count", "engines", INFO_GAUGE, 0, "Languages that scripts may be in."},
    {"engines_total_used_memory", "engines_used_memory_bytes", INFO_GAUGE, 0, "Memory of all engines."},
    {"engines_total_memory_overhead", "engines_memory_overhead_bytes", INFO_GAUGE, 0,
     "Memory for what belongs to engines outside of them."},
    {.field = NULL},
};

void scriptInfoRegister(void) {
    static const infoFields fields[] = {{"memory", 180, .write = memory},
                                        {"stats", 260, .write = scriptInfoEvicted},
                                        {"scriptingengines", 10, .write = engines},
                                        {.section = NULL}};
    infoTableAddFields(fields);
    infoTableAddMetrics(metrics);
}
