/* failing_calls.h -- system calls that fail when a test wants it: this program's own take the place of the library's.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_FAILING_CALLS_H
#define TESTS_FAILING_CALLS_H

#include <stdbool.h>

typedef enum { CALL_WRITE, CALL_FSYNC, CALL_FDATASYNC, CALL_SYNC_RANGE, CALL_CLOSE, CALL_RENAME, CALLS } failingCall;

/* The n-th call from now (1: the next) fails with `error`, and so do those after it until callsWork(). A write with
 * error 0 is short instead: one byte. */
void callFails(failingCall call, long n, int error);
void callsWork(void);
/* Calls since the last callsWork(). */
long callCount(failingCall call);

/* A folder of its own, which the process works in from then on; all that is in it goes at the next call. */
void enterEmptyFolder(void);
/* Names of files in it, without those that begin with a dot. */
int filesInFolder(void);

#endif
