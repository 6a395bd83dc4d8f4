/* fuzz_commands.h -- random commands, out of what a server says of its commands (COMMAND DOCS).
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_FUZZ_COMMANDS_H
#define BENCH_FUZZ_COMMANDS_H

#include "reply_value.h"
#include "rng.h"
#include "sds.h"

typedef struct fuzzBook fuzzBook;

/* Of the reply of COMMAND DOCS; `settings`, that of CONFIG GET, adds CONFIG SET, and may be NULL. Left out is what
 * would end the server or the conversation, or change who talks to whom: see fuzz_commands.c. */
fuzzBook *fuzzBookMake(const replyValue *docs, const replyValue *settings);
void fuzzBookFree(fuzzBook *b);
size_t fuzzBookCommands(const fuzzBook *b);

/* A command: *count words, which the caller frees by sdsFreeSplitRes(). Its words are those that the documentation
 * allows, and values of the right kind, if not of the right size; with `damaged` some of that is not so any more. */
sds *fuzzBookDraw(const fuzzBook *b, rng *r, bool damaged, int *count);

#endif
