/* sandbox_fixture.h -- a sandbox without a server: it has the libraries, but redis.call() does nothing.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_SANDBOX_FIXTURE_H
#define TESTS_SANDBOX_FIXTURE_H

#include "sandbox.h"

/* Opens the sandbox in `in`. Returns false if there is no memory. */
bool sandboxFixtureOpen(interpreter *in) must_check;
/* Loads and runs a text. Returns 0 with its first result, as text, in `said`; otherwise Lua's error number, with the
 * error in `said`. */
int sandboxFixtureRun(interpreter *in, slice text, char *said, size_t size);
/* Checks that `code` returns the text `want` without a Lua error, in a sandbox of its own. */
void sandboxFixtureGives(const char *code, const char *want);
/* Checks that `code` returns the same text, or fails with the same error, as in a state with Lua's own libraries. */
void sandboxFixtureAsLua(const char *code);
/* Checks that `code` fails with `want`, after the position. */
void sandboxFixtureFails(const char *code, const char *want);
/* Runs `code` once for each of its allocations, which fails: the result is an error or the same, and no memory
 * leaks. */
void sandboxFixtureRefuseEach(const char *code);

#endif
