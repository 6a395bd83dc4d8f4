/* child.c -- a forked child that writes the dataset as it was at one moment: its start, progress reports, end.
 *
 *   parent   childStart() ---- fork ----> onReport() ... onReport() ----> end of the pipe, waitpid() --> job.ended()
 *                               |             ^              ^                  ^
 *   child                   settleIn() --> work() -- childProgress() -- last --'--> _exit()
 *
 * The child takes no lock and ends by _exit() (base/forked.h), and allocates only from the allocator, which handles
 * forks itself. Of its parent's descriptors it keeps only the standard streams, its end of the pipe and the job's
 * output.
 *
 * It ends with its parent: the kernel kills it when the thread that forked it ends, so only main's own thread forks. If
 * that does not happen, the child's next report fails with EPIPE and the child exits.
 *
 * Not here    what is written (rdb_save.c); the effects of a child's end (snapshot.c).
 * Owns        the parent's end of the pipe, the figures that were read from it.
 * Threads     main's own; the child's only one.
 *   NONE (no purpose, no pid) --childStart()--> RUNS --end of the pipe--> ENDING (pid, no pipe) --waitpid()--> NONE
 *
 * Invariants  1. Pages count as shared exactly while there is a child.
 *             2. job.ended() is called once for each childStart() that returned true.
 * Cost        in the child one clock reading per few keys and one system call ten times a second. At most once a
 *             second, and for at most a tenth of the time, the kernel walks the child's pages.
 * Tests       tests/persist/snapshot.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "child.h"

#include "clock.h"
#include "db.h"
#include "fork_outlook.h"
#include "forked.h"
#include "latency.h"
#include "log.h"
#include "panic.h"
#include "quiet_moment.h"
#include "reply.h"
#include "shared_pages.h"
#include "yield.h"
#include "thread.h"
#include "zmalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define REPORT_FD 3
static_assert(CHILD_OUTPUT_FD > REPORT_FD, "forkedSettle() closes all behind the last one that is kept");
#define REPORT_EVERY_US 100000
#define COW_EVERY_US 1000000
#define COW_SHARE 10 /* measuring its pages takes at most a tenth of the child's time */
#define REAP_AGAIN_MS 1

/* A message of the pipe. It is smaller than PIPE_BUF, so a read never gets only a part of it. */
typedef struct childReport {
    uint64_t keys_done, cow_bytes, cow_samples;
} childReport;
static_assert(sizeof(childReport) <= 512, "POSIX promises that so much goes through a pipe as a whole");

static struct {
    aeEventLoop *loop;               /* borrowed */
    void (*settle)(childPurpose);    /* const after startup */
    void (*on_change)(bool running); /* const after startup */
    childJob job;
    pid_t pid; /* 0: none */
    int fd;    /* owns: read end of the pipe; -1 after its other end was closed */
    childFigures figures;
    uint64_t cow_samples, cow_measured_us;
    long long forks;
    uint64_t fork_us;
} child = {.fd = -1};

/* ---- In the child ----------------------------------------------------------------------------------------- */

static struct {
    bool is_child; /* this process is a child */
    uint64_t next_report_us, next_cow_us;
    childReport report;
} self;

/* Returns the sum of the lines "Private_Dirty: N kB" in bytes. smaps_rollup has one such line, smaps one per
 * mapping. */
static uint64_t sumPrivateDirty(int fd) {
    static const char field[] = "Private_Dirty:";
    char buf[4096];
    size_t kept = 0;
    uint64_t kb = 0;
    for (ssize_t n; (n = read(fd, buf + kept, sizeof(buf) - 1 - kept)) > 0;) {
        size_t len = kept + (size_t)n;
        buf[len] = '\0';
        char *line = buf;
        for (char *end; (end = strchr(line, '\n')) != NULL; line = end + 1)
            if (!strncmp(line, field, sizeof(field) - 1)) kb += strtoull(line + sizeof(field) - 1, NULL, 10);
        kept = len - (size_t)(line - buf);
        if (kept >= sizeof(buf) - 1) kept = 0; /* longer than any line that is needed */
        memmove(buf, line, kept);
    }
    return kb * 1024;
}

/* Measures the bytes that belong to this process alone: pages that it or its parent has written to since the fork. */
static void measurePages(uint64_t now_us) {
    int fd = open("/proc/self/smaps_rollup", O_RDONLY | O_CLOEXEC);
    if (fd < 0) fd = open("/proc/self/smaps", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        self.report.cow_bytes = sumPrivateDirty(fd);
        self.report.cow_samples++;
        close(fd);
    }
    uint64_t took_us = clockMonotonicUs() - now_us;
    self.next_cow_us = now_us + took_us * COW_SHARE;
    if (self.next_cow_us < now_us + COW_EVERY_US) self.next_cow_us = now_us + COW_EVERY_US;
}

/* Sends the report. If the pipe is full, it is dropped. EPIPE means that the parent has ended: the child exits too. */
static void sendReport(void) {
    ssize_t n;
    do n = write(REPORT_FD, &self.report, sizeof(self.report));
    while (n < 0 && errno == EINTR);
    if (n < 0 && errno == EPIPE) _exit(1);
}

void childProgress(void *unused_arg, size_t keys) {
    unused(unused_arg);
    if (!self.is_child) return;
    debugAssert(keys >= self.report.keys_done);
    self.report.keys_done = keys;
    uint64_t now_us = clockMonotonicUs();
    if (likely(now_us < self.next_report_us)) return;
    if (now_us >= self.next_cow_us) measurePages(now_us);
    sendReport();
    self.next_report_us = clockMonotonicUs() + REPORT_EVERY_US;
}

static void settleIn(pid_t parent, int fd) {
    int output = child.job.has_output ? fcntl(child.job.output, F_DUPFD, CHILD_OUTPUT_FD + 1) : -1;
    if (fd != REPORT_FD) dup2(fd, REPORT_FD);
    if (output >= 0) dup2(output, CHILD_OUTPUT_FD);
    forkedSettle(parent, REPORT_FD, output >= 0 ? CHILD_OUTPUT_FD : REPORT_FD);
    self.is_child = true;
    self.next_report_us = clockMonotonicUs() + REPORT_EVERY_US;
    threadSetCpuAffinity(child.job.cpulist);
    if (child.settle) child.settle(child.job.purpose);
}

noreturn_fn static void runChild(pid_t parent, int fd) {
    settleIn(parent, fd);
    bool ok = child.job.work(child.job.arg);
    measurePages(clockMonotonicUs());
    sendReport();
    _exit(ok ? 0 : 1);
}

/* ---- In the parent ------------------------------------------------------------------------------------------ */

static void setPagesShared(bool on) {
    debugAssert(sharedPages() != on);
    sharedPagesSet(on);
    replyCopyShared(on);
    if (child.on_change) child.on_change(on);
}

void childOnChange(void (*fn)(bool running)) { child.on_change = fn; }

/* Asserts what each state requires. Called in the parent, at both ends of the functions of the header. */
static void childCheck(void) {
    if (self.is_child) return;
    debugAssert((child.pid != 0) == (child.job.purpose != CHILD_NONE));
    debugAssert(child.pid >= 0 && (child.fd < 0 || child.pid));
    debugAssert(forkedIsCopy() || sharedPages() == (child.pid != 0));
    debugAssert(!child.pid || (child.job.work && child.job.ended));
    debugAssert(child.pid || (!child.figures.keys_total && !child.figures.cow_peak_bytes));
    debugAssert(child.figures.cow_bytes <= child.figures.cow_peak_bytes);
    debugAssert(child.forks >= 0);
}

static void closePipe(void) {
    if (child.fd < 0) return;
    aeDeleteFileEvent(child.loop, child.fd, AE_READABLE);
    close(child.fd);
    child.fd = -1;
}

static void takeReport(const childReport *r) {
    childFigures *f = &child.figures;
    f->keys_done = (size_t)r->keys_done;
    f->cow_bytes = (size_t)r->cow_bytes;
    if (f->cow_peak_bytes < f->cow_bytes) f->cow_peak_bytes = f->cow_bytes;
    if (r->cow_samples == child.cow_samples) return;
    child.cow_samples = r->cow_samples;
    child.cow_measured_us = clockMonotonicUs();
}

/* Reads all reports that have arrived. Returns false if no more will follow. */
static bool takeReports(void) {
    childReport r;
    for (;;) {
        ssize_t n = read(child.fd, &r, sizeof(r));
        if (n == (ssize_t)sizeof(r)) takeReport(&r);
        else if (n < 0 && errno == EINTR) continue;
        else return n < 0 && errno == EAGAIN;
    }
}

/* The child has ended with the wait status `status`. */
static void childFinish(int status) {
    childEnd how = {.pid = child.pid};
    childJob job = child.job;
    debugAssert(child.pid > 0 && job.purpose != CHILD_NONE);
    childCheck();
    if (child.fd >= 0) (void)takeReports();
    closePipe();
    if (WIFEXITED(status)) how.exit_code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) how.signal = WTERMSIG(status);
    how.ok = WIFEXITED(status) && how.exit_code == 0;
    how.on_purpose = how.signal == SIGUSR1;
    how.cow_bytes = child.figures.cow_peak_bytes;
    if (how.ok) forkOutlookCompleted(how.cow_bytes);
    child.job = (childJob){.purpose = CHILD_NONE};
    child.figures = (childFigures){0};
    child.pid = 0;
    setPagesShared(false);
    childCheck();
    job.ended(job.arg, &how);
}

/* Reaps the child if it has ended, or with `wait` when it ends. Returns true if no child is left. */
static bool reap(bool wait) {
    int status;
    if (!child.pid) return true;
    pid_t pid;
    do pid = waitpid(child.pid, &status, wait ? 0 : WNOHANG);
    while (pid < 0 && errno == EINTR);
    if (pid == 0) return false;
    if (pid < 0) {
        serverLog(LL_WARNING, "Can't wait for the child process %d: %s. It is considered failed.", (int)child.pid,
                  strerror(errno));
        status = 1 << 8; /* as if it had exited with 1 */
    }
    childFinish(status);
    return true;
}

static long long onReapAgain(aeEventLoop *loop, long long id, void *arg) {
    unused(loop), unused(id), unused(arg);
    return reap(false) ? AE_NOMORE : REAP_AGAIN_MS;
}

/* Runs when a report has arrived or the child has closed the pipe, which it does a moment before it can be reaped. */
static void onReport(aeEventLoop *loop, int fd, void *arg, int mask) {
    unused(fd), unused(arg), unused(mask);
    assertOutsideYield(); /* the end of a child renames and deletes files */
    if (takeReports()) return;
    closePipe();
    if (!reap(false)) aeCreateTimeEvent(loop, REAP_AGAIN_MS, onReapAgain, NULL);
}

void childInit(aeEventLoop *loop, void (*settle)(childPurpose purpose)) {
    assertMainThread();
    debugAssert(!child.pid); /* its pipe would be heard by the loop before */
    child.loop = loop;
    child.settle = settle;
}

static size_t countKeys(void) {
    size_t keys = 0;
    for (int i = 0; i < dbCount(); i++) keys += dbSize(dbGet(i));
    return keys;
}

static bool pause_after_fork;

void childSetPauseAfterFork(bool on) { pause_after_fork = on; }

bool childStart(const childJob *job) {
    assertMainThread();
    if (forkedIsCopy()) {
        errno = EPERM;
        return false;
    }
    serverAssert(!child.pid && job->purpose != CHILD_NONE);
    debugAssert(job->work && job->ended);
    debugAssert(!job->has_output || job->output >= 0);
    childCheck();
    int fds[2];
    pid_t parent = getpid();
    if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) == -1) return false;
    if (aeCreateFileEvent(child.loop, fds[0], AE_READABLE, onReport, NULL) == C_ERR) goto failed;
    child.job = *job;
    child.figures = (childFigures){.keys_total = countKeys()};
    child.cow_samples = 0;
    size_t rss = zmallocRss();
    uint64_t begin_us = clockMonotonicUs();
    pid_t pid = forkQuietly();
    if (pid == 0) runChild(parent, fds[1]);
    uint64_t fork_us = clockMonotonicUs() - begin_us;
    if (pid < 0) {
        int error = errno;
        child.job = (childJob){.purpose = CHILD_NONE};
        child.figures = (childFigures){0};
        aeDeleteFileEvent(child.loop, fds[0], AE_READABLE);
        errno = error;
        goto failed;
    }
    close(fds[1]);
    child.fd = fds[0];
    child.pid = pid;
    child.forks++;
    child.fork_us = fork_us;
    child.cow_measured_us = clockMonotonicUs();
    quietEnd();
    forkOutlookForked(rss, child.fork_us);
    latencyNoteFork(zmallocUsed(), child.fork_us);
    latencyAddSampleIfNeeded("fork", (long long)(child.fork_us / 1000));
    setPagesShared(true);
    childCheck();
    if (pause_after_fork) raise(SIGSTOP);
    return true;
failed:;
    int error = errno;
    close(fds[0]);
    close(fds[1]);
    childCheck();
    errno = error;
    return false;
}

childPurpose childRunning(void) { return child.job.purpose; }

pid_t childPid(void) { return child.pid; }

void childKill(void) {
    assertMainRole();
    if (child.pid && !forkedIsCopy()) kill(child.pid, SIGUSR1);
}

void childKillAndWait(void) {
    assertMainThread();
    childKill();
    (void)reap(true);
    childCheck();
}

void childTick(void) {
    assertMainThread();
    childCheck();
    (void)reap(false);
    childCheck();
}

childFigures childFiguresNow(void) {
    childFigures f = child.figures;
    if (child.pid) f.cow_age_s = (clockMonotonicUs() - child.cow_measured_us) / 1000000;
    return f;
}

long long childForks(void) { return child.forks; }

uint64_t childLastForkUs(void) { return child.fork_us; }

void childResetStats(void) {
    child.forks = 0;
    child.fork_us = 0;
}
