/* daemon.c -- the process in its system: background, pid file, supervisor, title, limits.
 *
 * Owns        the pid file; the memory of argv, and of the environment, which is moved elsewhere.
 * Threads     main.
 * Tests       tests/server/process.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "daemon.h"

#include "listen.h"
#include "log.h"
#include "net.h"
#include "panic.h"
#include "sds.h"
#include "server_settings.h"
#include "setting.h"
#include "tls_settings.h"
#include "setting_file.h"
#include "version.h"
#include "zmalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#ifdef HAVE_LIBSYSTEMD
#include <systemd/sd-daemon.h>
#endif

#define FILE_LIMIT_FALLBACK 1024 /* the soft limit of most systems */

/* The reply of a script, nested as deeply as Lua allows, takes 650 KB of stack; logging it takes more. */
#define STACK_BYTES (2 * 1024 * 1024)
#define STACK_PAGE (64 * 1024) /* at least the page size of any system */

extern char **environ;

static struct {
    char *title_start, *title_end; /* memory that the system shows as the command line */
    char *argv0;
    char executable[PATH_MAX];
    int supervisor; /* SUPERVISED_ */
    bool has_pid_file;
} process;

/* --- memory -------------------------------------------------------------------------------------- */

/* The kernel extends this stack when it is used. If no address space is left then (ulimit -v), the process is killed in
 * the middle of a command that would have got an error reply. Writing one byte far down extends the stack now; pages
 * that the compiler's stack probes have touched on the way are given back. */
void daemonReserveStack(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) || limit.rlim_cur < 2 * STACK_BYTES) return;
    char deep[STACK_BYTES];
    *(volatile char *)deep = 0;
    char *page = (char *)(((uintptr_t)deep + STACK_PAGE - 1) & ~(uintptr_t)(STACK_PAGE - 1));
    if (madvise(page, STACK_BYTES - 2 * STACK_PAGE, MADV_DONTNEED)) return; /* on failure these pages stay in use */
}

/* --- title --------------------------------------------------------------------------------------- */

static bool applyTitle(const char **err) {
    unused(err);
    daemonSetTitle();
    return true;
}

void daemonInit(int argc, char **argv) {
    settingOnApply("proc-title-template", applyTitle);
    process.argv0 = zstrdup(argv[0]);
    if (!realpath("/proc/self/exe", process.executable)) snprintf(process.executable, PATH_MAX, "%s", argv[0]);
    /* argv and environ are adjacent in memory. Strings that other code may still read are moved. */
    process.title_start = argv[0];
    process.title_end = argv[argc - 1] + strlen(argv[argc - 1]) + 1;
    for (int i = 0; environ[i]; i++)
        if (environ[i] == process.title_end) process.title_end += strlen(environ[i]) + 1;
    char **moved = environ;
    for (int i = 0; moved[i]; i++) moved[i] = strdup(moved[i]);
    for (int i = 1; i < argc; i++) argv[i] = strdup(argv[i]);
}

/* Returns "*:6379", a bind address with the port, or the Unix socket's path. */
static sds listenAddress(void) {
    if (net_settings.port) {
        const char *first = net_settings.bind_count ? net_settings.bind[0] : "*";
        if (*first == '-') first++;
        return sdsCatPrintf(sdsEmpty(), "%s:%lld", first, net_settings.port);
    }
    return sdsNew(net_settings.unixsocket ? net_settings.unixsocket : "");
}

static sds expandField(sds out, const char *program, const char *name, size_t len) {
    slice field = sliceOf(name, len);
    if (sliceIs(field, "title")) return sdsCat(out, program);
    if (sliceIs(field, "port")) return sdsCatPrintf(out, "%lld", net_settings.port);
    if (sliceIs(field, "unixsocket")) return sdsCat(out, net_settings.unixsocket ? net_settings.unixsocket : "");
    if (sliceIs(field, "config-file")) return sdsCat(out, settingFilePath() ? settingFilePath() : "");
    if (sliceIs(field, "tls-port")) return sdsCatPrintf(out, "%lld", tls_settings.port);
    if (sliceIs(field, "listen-addr")) {
        sds addr = listenAddress();
        out = sdsCatSlice(out, sdsSlice(addr));
        sdsFree(addr);
    }
    return out; /* server-mode: empty, as there is no cluster or sentinel mode */
}

static void setTitle(const char *program) {
    if (!server_settings.set_proc_title) return;
    sds title = sdsEmpty();
    const char *p = server_settings.proc_title_template;
    while (*p) {
        const char *close = *p == '{' ? strchr(p, '}') : NULL;
        if (close) {
            title = expandField(title, program, p + 1, (size_t)(close - p - 1));
            p = close + 1;
        } else {
            title = sdsCatLen(title, p++, 1);
        }
    }
    sdsTrim(title, " ");
    size_t capacity = (size_t)(process.title_end - process.title_start);
    memset(process.title_start, 0, capacity);
    size_t len = sdsLen(title) < capacity - 1 ? sdsLen(title) : capacity - 1;
    memcpy(process.title_start, title, len);
    sdsFree(title);
}

void daemonSetTitle(void) { setTitle(process.argv0); }

void daemonSetChildTitle(const char *title) { setTitle(title); }

const char *daemonExecutable(void) { return process.executable; }

/* --- background and supervisor ---------------------------------------------------------------------- */

static bool startedBySystemd(void) {
    if (!getenv("NOTIFY_SOCKET")) return false;
#ifdef HAVE_LIBSYSTEMD
    return true;
#else
    serverLog(LL_WARNING, "Started by systemd, but built without libsystemd: systemd will not learn that the server is "
                          "ready.");
    return false;
#endif
}

static bool startedByUpstart(void) {
    if (!getenv("UPSTART_JOB")) return false;
    serverLog(LL_NOTICE,
              "Started by upstart: the process stops itself (SIGSTOP) once it is ready, as upstart expects.");
    unsetenv("UPSTART_JOB");
    return true;
}

static int findSupervisor(void) {
    int wanted = server_settings.supervised;
    if ((wanted == SUPERVISED_AUTODETECT || wanted == SUPERVISED_UPSTART) && startedByUpstart())
        return SUPERVISED_UPSTART;
    if ((wanted == SUPERVISED_AUTODETECT || wanted == SUPERVISED_SYSTEMD) && startedBySystemd())
        return SUPERVISED_SYSTEMD;
    if (wanted == SUPERVISED_SYSTEMD)
        serverLog(LL_WARNING,
                  "supervised is systemd, but NOTIFY_SOCKET is not set: systemd did not start this server.");
    return SUPERVISED_NONE;
}

static void toBackground(void) {
    fflush(NULL);
    pid_t child = fork();
    if (child < 0) {
        fprintf(stderr, "Cannot fork into the background: %s\n", strerror(errno));
        exit(1);
    }
    if (child > 0) _exit(0);
    setsid();
    int null_fd = open("/dev/null", O_RDWR);
    if (null_fd < 0) return;
    dup2(null_fd, STDIN_FILENO);
    dup2(null_fd, STDOUT_FILENO);
    dup2(null_fd, STDERR_FILENO);
    if (null_fd > STDERR_FILENO) close(null_fd);
}

void daemonStart(void) {
    process.supervisor = findSupervisor();
    if (server_settings.daemonize && process.supervisor == SUPERVISED_NONE) toBackground();
    panicSetMainThread();
}

const char *daemonSupervisedName(void) {
    switch (process.supervisor) {
    case SUPERVISED_SYSTEMD: return "systemd";
    case SUPERVISED_UPSTART: return "upstart";
    default: return "no";
    }
}

static void notifySupervisor(const char *name, const char *value) {
#ifdef HAVE_LIBSYSTEMD
    if (process.supervisor == SUPERVISED_SYSTEMD) sd_notifyf(0, "%s=%s\n", name, value);
#else
    unused(name), unused(value);
#endif
}

void daemonNotifyStatus(const char *status) { notifySupervisor("STATUS", status); }

void daemonNotifyReady(void) {
    notifySupervisor("READY", "1");
    if (process.supervisor == SUPERVISED_UPSTART) raise(SIGSTOP);
}

void daemonNotifyStopping(void) { notifySupervisor("STOPPING", "1"); }

void daemonWritePidFile(void) {
    if (!server_settings.pidfile) return;
    FILE *f = fopen(server_settings.pidfile, "w");
    bool written = f && fprintf(f, "%d\n", (int)getpid()) > 0;
    if (f && fclose(f) != 0) written = false;
    if (!written)
        serverLog(LL_WARNING, "The pid file %s cannot be written: %s. The server runs without it.",
                  server_settings.pidfile, strerror(errno));
    process.has_pid_file = f != NULL; /* an incomplete file is removed at the end, too */
}

void daemonRemovePidFile(void) {
    if (!process.has_pid_file) return;
    serverLog(LL_NOTICE, "Removing the pid file.");
    unlink(server_settings.pidfile);
    process.has_pid_file = false;
}

/* --- limits ------------------------------------------------------------------------------------------- */

void daemonAdjustFileLimit(void) {
    int why = 0;
    long long wanted = fileLimitWanted(), reserved = fileLimitReserved(), granted = fileLimitRaise(&why);
    if (granted < 0) {
        granted = FILE_LIMIT_FALLBACK;
        serverLog(LL_WARNING, "Cannot read the limit of open files: %s. The server assumes %lld.", strerror(why),
                  granted);
    }
    if (granted >= wanted) return;
    if (granted <= reserved) {
        serverLog(
            LL_WARNING,
            "The limit of open files is %lld, but the server needs %lld for itself, so no client could connect. Raise "
            "the limit (ulimit -n) to %lld, or lower maxclients and raise it to %lld plus maxclients.",
            granted, reserved, wanted, reserved);
        exit(1);
    }
    long long asked = net_settings.maxclients;
    net_settings.maxclients = granted - reserved;
    serverLog(LL_WARNING,
              "maxclients was lowered to %lld from %lld because the limit of open files is %lld. To serve all clients, "
              "raise the limit (ulimit -n) to %lld.",
              net_settings.maxclients, asked, granted, wanted);
}
