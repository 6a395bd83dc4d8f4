/* script_info.c -- what INFO says of scripts: memory of the interpreters and of what is kept for them.
 *
 * Owns        nothing.
 * Threads     main.
 * Tests       tests/script/script_commands.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "script_info.h"

#include "eval_cache.h"
#include "info_table.h"
#include "numbers.h"

static void memory(infoOut *o) {
    evalTotals eval = evalCacheTotals();
    infoLine(o, "used_memory_lua:%zu", eval.interpreter);
    infoLine(o, "used_memory_vm_eval:%zu", eval.interpreter);
    char human[32];
    bytes2human(human, sizeof(human), eval.interpreter);
    infoLine(o, "used_memory_lua_human:%s", human);
    infoLine(o, "used_memory_scripts_eval:%zu", eval.memory);
    infoLine(o, "number_of_cached_scripts:%zu", eval.scripts);
    infoLine(o, "number_of_functions:0");
    infoLine(o, "number_of_libraries:0");
    infoLine(o, "used_memory_vm_functions:0");
    infoBytes(o, "used_memory_vm_total", eval.interpreter);
    infoLine(o, "used_memory_functions:0");
    infoBytes(o, "used_memory_scripts", eval.memory);
}

static void evicted(infoOut *o) {
    infoLine(o, "evicted_scripts:%lld", evalCacheTotals().evicted);
}

static void engines(infoOut *o) {
    evalTotals eval = evalCacheTotals();
    infoLine(o, "engines_count:1");
    infoLine(o, "engines_total_used_memory:%zu", eval.interpreter);
    infoLine(o, "engines_total_memory_overhead:%zu", eval.memory);
    infoLine(o, "engine_0:name=LUA,module=lua,abi_version=4,used_memory=%zu,memory_overhead=%zu", eval.interpreter,
             eval.memory);
}

void scriptInfoRegister(void) {
    static const infoFields fields[] = {{"memory", 180, .write = memory},
                                        {"stats", 260, .write = evicted},
                                        {"scriptingengines", 10, .write = engines},
                                        {.section = NULL}};
    infoTableAddFields(fields);
}
