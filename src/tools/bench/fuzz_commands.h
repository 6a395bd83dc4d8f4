/* fuzz_commands.h -- makes random commands from the documentation that a server gives (COMMAND DOCS).
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_FUZZ_COMMANDS_H
#define BENCH_FUZZ_COMMANDS_H

#include "reply_value.h"
#include "rng.h"
#include "sds.h"

typedef struct fuzzBook fuzzBook;

/* Makes a book, the set of commands and settings to draw from, from the reply of COMMAND DOCS. `settings`, the reply of
 * CONFIG GET, adds CONFIG SET, and may be NULL. Commands are left out that end the server or the connection, or connect
 * to other servers (see fuzz_commands.c). */
fuzzBook *fuzzBookMake(const replyValue *docs, const replyValue *settings);
void fuzzBookFree(fuzzBook *b);
size_t fuzzBookCommands(const fuzzBook *b);

/* Returns a random command of *count words, which the caller frees by sdsFreeSplitRes(). Its words are those that the
 * documentation allows, and values of the right kind, if not in the right range. With `damaged` a word is missing,
 * added or replaced. */
sds *fuzzBookDraw(const fuzzBook *b, rng *r, bool damaged, int *count);

#endif
