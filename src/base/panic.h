/* panic.h -- assertions, and the report that is written when the process must end.
 *
 * serverAssert is for our own mistakes and is always on; debugAssert costs more and is compiled in
 * with -DDEBUG_ASSERTIONS. Input from a socket, a file or a peer is never asserted.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_PANIC_H
#define BASE_PANIC_H

#include "platform.h"

#include <signal.h>

#define serverAssert(cond) (likely(cond) ? (void)0 : panicAssertFailed(#cond, __FILE__, __LINE__))
#ifdef DEBUG_ASSERTIONS
#define debugAssert(cond) serverAssert(cond)
#else
#define debugAssert(cond) ((void)sizeof(!(cond)))
#endif
#define serverPanic(...) panicAbort(__FILE__, __LINE__, __VA_ARGS__)

/* Prints one section of the crash report by panicPrint(). Called once, on the crashing thread, from a signal handler:
 * it must neither allocate nor lock, and must survive broken data. All threads that have called panicThreadInit() are
 * stopped meanwhile, wherever they were. */
typedef void panicSection(void);

/* Adds a section to the report, for instance "CURRENT CLIENT INFO". At most 16; `title` and `print` must stay valid.
 * Call at startup. */
void panicAddSection(const char *title, panicSection *print);

/* Sets name and version for the report's first line, "valkey 9.1.2"; the text must stay valid. Call at startup. */
void panicSetProgram(const char *name_and_version);

/* Appends to the report (log file or stdout). Async-signal-safe: formats into a buffer on the stack; supports all that
 * vsnprintf does. */
void panicPrint(const char *fmt, ...) printf_like(1, 2);

/* Installs handlers for SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT that write the report (registers, stack trace, the
 * sections above, INFO if a section prints it) and then let the signal kill the process. Called at startup if
 * `crash-log-enabled` is yes; panicRemoveHandlers() undoes it. */
void panicInstallHandlers(void);
void panicRemoveHandlers(void);

/* Sets use-exit-on-panic: whether a failed assertion or a panic ends the process by exit code 1 after its report,
 * instead of SIGABRT, so that no core file is written. Faults still end it by their signals. Call on main. */
void panicExits(bool on);

/* Make the crash of a thread reported, whichever thread it is. The parent blocks, around pthread_create(), all signals
 * except those five: SIGTERM and the like belong to main, while a fault whose signal is blocked ends the process
 * without a report. The thread calls panicThreadInit() first, after setting its name, and panicThreadExit() last: in
 * between it is stopped when another thread crashes, and has a separate stack for the handler, so that a stack overflow
 * is reported as well (unless there is no memory for it). main() calls panicThreadInit() first, too. */
void panicBlockOtherSignals(sigset_t *before);
void panicThreadInit(void);
void panicThreadExit(void);

/* Writes a report and ends the process. */
noreturn_fn void panicAssertFailed(const char *cond, const char *file, int line);
/* Like panicAssertFailed(), with a formatted reason. */
noreturn_fn void panicAbort(const char *file, int line, const char *fmt, ...) printf_like(3, 4);

/* Asserts that a function runs on main. Main is a role: the right to touch sessions, the keyspace and reference counts,
 * which one thread has at a time. Nearly all functions that run on main assert the role; those for main's own thread
 * (its loop, the start and end of threads) assert the thread.  panicSetMainThread() is called once by main's own
 * thread, which then has the role (again in a child process after fork). panicSetMainRole() is called by a thread that
 * has acquired the role, or is going to release it. */
void panicSetMainThread(void);
bool panicOnMainThread(void);
void panicSetMainRole(bool held);
bool panicHoldsMainRole(void);
#define assertMainThread() debugAssert(panicOnMainThread())
#define assertMainRole() debugAssert(panicHoldsMainRole())

#endif
