/* command_rows.h -- the macros in which the rows of a layer's command table are written.
 *
 * A row is a designated initializer. The macros only shorten it: they make fields of serverCommand, keySpec,
 * commandDocs and commandArgDoc, all in static storage. A layer includes its rows into an array and registers that.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_COMMAND_ROWS_H
#define ENGINE_COMMAND_ROWS_H

#include "command_table.h"

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
#define HELP(...) .help = (const char *const[]){__VA_ARGS__, NULL}
#define ARGS(...) \
    .args = (const commandArgDoc[]){__VA_ARGS__}, .nargs = array_len(((const commandArgDoc[]){__VA_ARGS__}))
#define SUB_ARGS(...) \
    .sub = (const commandArgDoc[]){__VA_ARGS__}, .nsub = array_len(((const commandArgDoc[]){__VA_ARGS__}))
#define ARG(...) {.key_spec_index = -1, __VA_ARGS__}
#define KEY_ARG(...) {__VA_ARGS__}
#define SHOWN(text) .name = (text), .display = (text)
/* clang-format on */

#endif
