/* forked.c -- what every forked child process does first.
 *
 * Not here    the purpose of a child (persist/file/child.c, script/run/script_debug.c).
 * Owns        whether this process is a copy without lasting effects.
 * Threads     main's own thread; the child's only one.
 * Tests       tests/persist/snapshot.tcl, tests/script/debugger.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "forked.h"

#include "log.h"
#include "panic.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool is_copy; /* written while the process has one thread */

void forkedBecomeCopy(void) { is_copy = true; }
bool forkedIsCopy(void) { return is_copy; }

pid_t forkQuietly(void) {
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    pid_t pid = fork();
    int error = errno;
    if (pid == 0) return 0; /* forkedSettle() unblocks signals */
    sigprocmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return pid;
}

static void closeRange(int first, int last) {
    if (first > last) return;
#ifdef SYS_close_range
    if (syscall(SYS_close_range, (unsigned)first, (unsigned)last, 0u) == 0) return;
#endif
    long limit = sysconf(_SC_OPEN_MAX);
    for (int fd = first; fd <= last && fd < limit; fd++) close(fd);
}

/* Replaces the parent's signal handlers. Ignores a terminal's interrupt, which the parent handles; SIGTERM ends the
 * process that it was sent to. */
static void settleSignals(void) {
    static const int ignored[] = {SIGINT, SIGHUP, SIGPIPE, SIGALRM, SIGUSR2};
    static const int ordinary[] = {SIGTERM, SIGUSR1, SIGCHLD};
    sigset_t none;
    for (size_t i = 0; i < array_len(ignored); i++) signal(ignored[i], SIG_IGN);
    for (size_t i = 0; i < array_len(ordinary); i++) signal(ordinary[i], SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

void forkedSettle(pid_t parent, int first, int last) {
    logSetRole('C');
    logBeginLockless();
    panicSetMainThread();
    closeRange(STDERR_FILENO + 1, first - 1);
    closeRange(last > STDERR_FILENO ? last + 1 : STDERR_FILENO + 1, __INT_MAX__);
#ifdef PR_SET_PDEATHSIG
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    if (getppid() != parent) _exit(1);
    settleSignals();
}
