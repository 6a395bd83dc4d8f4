/* command_defs.c -- the rows of table/ as arrays, in the words that the rows use.
 *
 * A row is a designated initializer. The macros below only shorten it: what they make are the fields of
 * serverCommand, keySpec, commandDocs and commandArgDoc, all in static storage.
 *
 * Not here    lookup and key extraction (engine/command_table.c); handlers (commands.h, or bound from above).
 * Owns        the arrays, for good.
 * Threads     commandsRegister() at boot; get_keys functions on any thread.
 * Tests       tests/type/command.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "command_defs.h"
#include "commands.h"

/* clang-format off */
#define KEYS_AT(index) .begin = KEYS_BEGIN_INDEX, .begin_index = (index)
#define KEYS_AFTER(keyword, from) .begin = KEYS_BEGIN_KEYWORD, .begin_keyword = (keyword), .begin_index = (from)
#define KEYS_RANGE(last, step, lim) .find = KEYS_FIND_RANGE, .last_key = (last), .key_step = (step), .limit = (lim)
#define KEYS_COUNTED(count, first, step) \
    .find = KEYS_FIND_KEYNUM, .keynum_index = (count), .first_key = (first), .keynum_step = (step)
#define KEY_SPECS(...) \
    .specs = (const keySpec[]){__VA_ARGS__}, .nspecs = array_len(((const keySpec[]){__VA_ARGS__}))
#define TIPS(...) .tips = (const char *const[]){__VA_ARGS__, NULL}
#define SUBCOMMANDS(...) .subcommands = (serverCommand[]){__VA_ARGS__, {.name = NULL}}

#define DOCS(...) .docs = &(const commandDocs){__VA_ARGS__}
#define HISTORY(...) .history = (const char *const[]){__VA_ARGS__, NULL}
#define ARGS(...) \
    .args = (const commandArgDoc[]){__VA_ARGS__}, .nargs = array_len(((const commandArgDoc[]){__VA_ARGS__}))
#define SUB_ARGS(...) \
    .sub = (const commandArgDoc[]){__VA_ARGS__}, .nsub = array_len(((const commandArgDoc[]){__VA_ARGS__}))
#define ARG(...) {.key_spec_index = -1, __VA_ARGS__}
#define KEY_ARG(...) {__VA_ARGS__}
#define SHOWN(text) .name = (text), .display = (text)
/* clang-format on */

/* SET reads the key too when it is to give the old value back. */
static int setGetKeys(const serverCommand *cmd, const slice *argv, uint32_t argc, requestKey *out, int cap) {
    unused(cmd);
    uint32_t flags = KEY_OW | KEY_UPDATE;
    for (uint32_t i = 3; i < argc; i++) {
        if (sliceIs(argv[i], "get")) flags = KEY_RW | KEY_ACCESS | KEY_UPDATE;
    }
    if (cap > 0) {
        out[0].index = 1;
        out[0].flags = flags;
    }
    return 1;
}

static serverCommand connection_commands[] = {
#include "connection.def"
};
static serverCommand generic_commands[] = {
#include "generic.def"
};
static serverCommand server_commands[] = {
#include "server.def"
};
static serverCommand string_commands[] = {
#include "string.def"
};

void commandsRegister(void) {
    commandTableRegister(connection_commands, array_len(connection_commands));
    commandTableRegister(generic_commands, array_len(generic_commands));
    commandTableRegister(server_commands, array_len(server_commands));
    commandTableRegister(string_commands, array_len(string_commands));
}
