/* panic.h -- assertions, and the report that is written when the process must end.
 *
 * serverAssert is for what we did wrong and is always on; debugAssert costs more and is compiled in
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

/* Print one section of the crash report with panicPrint(). Called once, on the crashing thread, from
 * a signal handler: it must not allocate nor lock and must survive broken data. All threads that called
 * panicThreadInit() stand still meanwhile, wherever they were. */
typedef void panicSection(void);

/* Add a section to the report, for instance "CURRENT CLIENT INFO". At most 16; `title` and `print`
 * must stay valid. Boot only. */
void panicAddSection(const char *title, panicSection *print);

/* Name and version for the report's first line, "valkey 9.1.2"; must stay valid. Boot only. */
void panicSetProgram(const char *name_and_version);

/* Append to the report (log file or stdout). Async-signal-safe: formats into a buffer on the stack;
 * supports what vsnprintf supports. */
void panicPrint(const char *fmt, ...) printf_like(1, 2);

/* Install handlers for SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT that write the report (registers,
 * stack trace, sections registered above, INFO if a section prints it) and then let the signal kill
 * the process. Called at boot when `crash-log-enabled` is yes; undone by panicRemoveHandlers(). */
void panicInstallHandlers(void);
void panicRemoveHandlers(void);

/* use-exit-on-panic: whether a failed assertion or a panic ends the process with the exit code 1 behind its report, and
 * not by SIGABRT: no core file is written. Faults still end it by their signals. Main. */
void panicExits(bool on);

/* What makes the crash of a thread reported, whichever thread it is. Its starter blocks, around pthread_create(), all
 * signals but those five: SIGTERM and its like are main's, while a fault whose signal is blocked ends the process
 * without a word. The thread itself begins, once it has its name, with
 * panicThreadInit() and ends with panicThreadExit(): it is stopped when another one crashes, and has a stack of its own
 * for the handler, so that an overflow of the other one is reported as well (not when there is no memory for it).
 * main() begins with panicThreadInit(), too. */
void panicBlockOtherSignals(sigset_t *before);
void panicThreadInit(void);
void panicThreadExit(void);

noreturn_fn void panicAssertFailed(const char *cond, const char *file, int line);
noreturn_fn void panicAbort(const char *file, int line, const char *fmt, ...) printf_like(3, 4);

/* The rule "runs on main" of a function, made checkable. Main is a role: the right to touch sessions, the keyspace and
 * reference counts, which one thread has at a time. Nearly all that runs on main asserts the role; what belongs to
 * main's own thread (its loop, the start and end of threads) asserts the thread.
 *
 * panicSetMainThread() is called once by main's own thread, which then has the role (again in a child process after
 * fork). panicSetMainRole() is called by a thread that has taken the role, or is about to give it back. */
void panicSetMainThread(void);
bool panicOnMainThread(void);
void panicSetMainRole(bool held);
bool panicHoldsMainRole(void);
#define assertMainThread() debugAssert(panicOnMainThread())
#define assertMainRole() debugAssert(panicHoldsMainRole())

#endif
