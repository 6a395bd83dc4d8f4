/* failing_calls.h -- system calls that fail on request: functions of the test program replace those of the library.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_FAILING_CALLS_H
#define TESTS_FAILING_CALLS_H

#include <stdbool.h>

typedef enum { CALL_WRITE, CALL_FSYNC, CALL_FDATASYNC, CALL_SYNC_RANGE, CALL_CLOSE, CALL_RENAME, CALLS } failingCall;

/* Makes the n-th call from now (1: the next) fail with `error`, and those after it until callsWork(). A write with
 * error 0 is short instead: one byte. */
void callFails(failingCall call, long n, int error);
void callsWork(void);
/* Returns the number of calls since the last callsWork(). */
long callCount(failingCall call);

/* Enters an empty temporary folder as the working directory; the next call deletes its contents. */
void enterEmptyFolder(void);
/* Returns the number of files in it, without those that begin with a dot. */
int filesInFolder(void);

#endif
