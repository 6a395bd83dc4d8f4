/* fuzz.h -- --fuzz: sends random commands and checks that the server keeps replying.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_FUZZ_H
#define BENCH_FUZZ_H

#include "bench_options.h"
#include "rng.h"
#include "server_link.h"

/* Sends random commands over options->clients connections until the number of requests or the time of the options is
 * reached. Each connection is made by `open`, which logs in, and ends the program if that fails. Returns the exit code:
 * 1 if a connection was lost or a reply did not come. */
int fuzzRun(const benchOptions *options, serverLink *(*open)(const benchOptions *));

/* --- Random commands from COMMAND DOCS (fuzz_commands.c) --- */
typedef struct fuzzCatalog fuzzCatalog;

/* Makes a catalog, the set of commands and settings to draw from, of the reply of COMMAND DOCS. `settings`, the reply
 * of CONFIG GET, adds CONFIG SET, and may be NULL. Commands are left out that end the server or the connection, or
 * connect to other servers (see fuzz_commands.c). */
fuzzCatalog *fuzzCatalogMake(const replyValue *docs, const replyValue *settings);
void fuzzCatalogFree(fuzzCatalog *b);
size_t fuzzCatalogCommands(const fuzzCatalog *b); /* returns the number of commands */

/* Returns a random command of *count words, which the caller frees by sdsFreeSplitRes(). Its words are those that the
 * documentation allows, and values of the right kind, if not in the right range. With `damaged` a word is missing,
 * added or replaced. */
sds *fuzzCatalogDraw(const fuzzCatalog *b, rng *r, bool damaged, int *count);

#endif
