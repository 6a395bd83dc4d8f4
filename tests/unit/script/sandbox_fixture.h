/* sandbox_fixture.h -- a sandbox without a server: libraries, and nothing behind redis.call().
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_SANDBOX_FIXTURE_H
#define TESTS_SANDBOX_FIXTURE_H

#include "sandbox.h"

/* Open the sandbox in `in`. False: there was no memory for it. */
bool sandboxFixtureOpen(interpreter *in) must_check;
/* Load and run a text. 0: its first result, as text, is in `said`; else the error is, and it is Lua's number of it. */
int sandboxFixtureRun(interpreter *in, slice text, char *said, size_t size);
/* In a sandbox of its own what `code` returns is the text `want`, and an error of Lua is not. */
void sandboxFixtureGives(const char *code, const char *want);
/* `code` returns the same text, or fails with the same, as in a state with Lua's own libraries. */
void sandboxFixtureAsLua(const char *code);
/* Errors of `code` are `want`, behind their place. */
void sandboxFixtureFails(const char *code, const char *want);
/* Run `code` once for each allocation that it takes, and refuse that one: it fails or gives the same, and in the end no
 * memory is left. */
void sandboxFixtureRefuseEach(const char *code);

#endif
