/* log.c -- one log line: formatted on the stack, written by one write(2).
 *
 * Not here    the content of lines; the meaning of roles (a letter that main sets).
 * Owns        the target and the format of the lines, set at startup or by CONFIG SET.
 * Threads     any may log. The path changes at startup only, before there are threads; the rest is atomic,
 *             relaxed: a line may still be written in the old format.
 * Tests       tests/unit/base/log_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "log.h"
#include "clock.h"
#include "one_line.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#define MESSAGE_MAX 1024 /* with the NUL */
#define LINE_MAX_SIZE (6 * MESSAGE_MAX + 256)
#define SYSLOG_SOCKET "/dev/log"

static char path[PATH_MAX]; /* "" is stdout */
bool log_hide_user_data;    /* main; the child of a fork has its copy */

static char syslog_ident[128];
static int syslog_facility;
static _Atomic int level_least = LL_NOTICE;
static _Atomic int line_format = LOG_FORMAT_LEGACY;
static _Atomic int line_time = LOG_TIME_LEGACY;
static _Atomic char role_letter = 'M';
static atomic_bool to_syslog;
static atomic_bool lockless;

void logSetFile(const char *p) { snprintf(path, sizeof(path), "%s", p); }
const char *logFile(void) { return path; }
void logSetLevel(logLevel least) { atomic_store_explicit(&level_least, least, memory_order_relaxed); }

bool logLevelIsOn(logLevel level) {
    return level < LL_NOTHING && (int)level >= atomic_load_explicit(&level_least, memory_order_relaxed);
}

void logSetFormat(logFormat format, logTimeFormat time_format) {
    atomic_store_explicit(&line_format, format, memory_order_relaxed);
    atomic_store_explicit(&line_time, time_format, memory_order_relaxed);
}

void logSetRole(char r) { atomic_store_explicit(&role_letter, r, memory_order_relaxed); }

void logSetSyslog(const char *ident, int facility) {
    if (atomic_load(&to_syslog)) closelog();
    if (ident) {
        snprintf(syslog_ident, sizeof(syslog_ident), "%s", ident);
        syslog_facility = facility;
        openlog(syslog_ident, LOG_PID | LOG_NDELAY | LOG_NOWAIT, facility);
    }
    atomic_store(&to_syslog, ident != NULL);
}

/* Writes all of the text to the file or stdout. If that fails, the line is lost. */
static void logEmit(const char *text, size_t len) {
    int fd = path[0] ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644) : STDOUT_FILENO;
    if (fd < 0) return;
    while (len > 0) {
        ssize_t n = write(fd, text, len);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        text += n;
        len -= (size_t)n;
    }
    if (path[0]) close(fd);
}

static void formatTime(char *out, size_t size, logTimeFormat form) {
    int64_t ms = clockWallMs();
    struct tm tm;
    clockLocalTime(&tm, ms / 1000);
    int frac = (int)(ms % 1000);
    size_t n;
    switch (form) {
    case LOG_TIME_ISO8601: {
        long minutes = tm.tm_gmtoff / 60;
        n = strftime(out, size, "%Y-%m-%dT%H:%M:%S", &tm);
        snprintf(out + n, size - n, ".%03d%c%02ld:%02ld", frac, minutes < 0 ? '-' : '+',
                 (minutes < 0 ? -minutes : minutes) / 60, (minutes < 0 ? -minutes : minutes) % 60);
        break;
    }
    case LOG_TIME_MILLISECONDS: snprintf(out, size, "%lld", (long long)ms); break;
    case LOG_TIME_LEGACY:
        n = strftime(out, size, "%d %b %Y %H:%M:%S", &tm);
        snprintf(out + n, size - n, ".%03d", frac);
        break;
    }
}

void logBeginLockless(void) { atomic_store(&lockless, true); }

/* Does what syslog(3) does, without its lock and its allocations: the process may have crashed inside of either, or
 * another thread may be stopped there. Returns false if the daemon is not running or accepts no line for a second. */
static bool sendToSyslog(int priority, const char *text) {
    struct sockaddr_un at = {.sun_family = AF_UNIX, .sun_path = SYSLOG_SOCKET};
    struct timeval second = {.tv_sec = 1};
    char line[LINE_MAX_SIZE], when[32];
    struct tm tm;
    clockLocalTime(&tm, clockWallMs() / 1000);
    strftime(when, sizeof(when), "%b %e %H:%M:%S", &tm);
    int n = snprintf(line, sizeof(line), "<%d>%s %s[%d]: %s", syslog_facility | priority, when, syslog_ident,
                     (int)getpid(), text);
    size_t len = (size_t)n < sizeof(line) ? (size_t)n : sizeof(line) - 1;
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return false;
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &second, sizeof(second));
    bool sent = sendto(fd, line, len, MSG_NOSIGNAL, (const struct sockaddr *)&at, sizeof(at)) >= 0;
    close(fd);
    return sent;
}

static void toSyslog(int priority, const char *text) {
    if (likely(!atomic_load_explicit(&to_syslog, memory_order_relaxed))) return;
    if (likely(!atomic_load_explicit(&lockless, memory_order_relaxed))) syslog(priority, "%s", text);
    else if (!sendToSyslog(priority, text))
        atomic_store(&to_syslog, false); /* the file gets later lines without delay */
}

static const char *roleName(char r) {
    switch (r) {
    case 'S': return "replica";
    case 'C': return "RDB/AOF";
    case 'X': return "sentinel";
    default: return "primary";
    }
}

/* Replaces quotes: a logfmt value is quoted. */
static void makeQuotable(char *s) {
    for (; *s; s++)
        if (*s == '"') *s = '\'';
}

/* Writes one line in the format that log-format selects and returns its length. Changes `message` to fit the format. */
static int formatLine(char *line, size_t size, logLevel level, const char *when, char *message) {
    static const char *const words[] = {"debug", "info", "notice", "warning"};
    int pid = (int)getpid();
    char r = atomic_load_explicit(&role_letter, memory_order_relaxed);
    switch ((logFormat)atomic_load_explicit(&line_format, memory_order_relaxed)) {
    case LOG_FORMAT_LOGFMT:
        oneLine(message, strlen(message));
        makeQuotable(message);
        return snprintf(line, size, "pid=%d role=%s timestamp=\"%s\" level=%s message=\"%s\"\n", pid, roleName(r), when,
                        words[level], message);
    case LOG_FORMAT_JSON: {
        char escaped[6 * MESSAGE_MAX];
        jsonEscape(escaped, message);
        oneLine(message, strlen(message)); /* for syslog */
        return snprintf(line, size,
                        "{\"pid\":%d,\"role\":\"%s\",\"timestamp\":\"%s\",\"level\":\"%s\",\"message\":\"%s\"}\n", pid,
                        roleName(r), when, words[level], escaped);
    }
    case LOG_FORMAT_LEGACY: break;
    }
    oneLine(message, strlen(message));
    return snprintf(line, size, "%d:%c %s %c %s\n", pid, r, when, ".-*#"[level], message);
}

void serverLog(logLevel level, const char *fmt, ...) {
    if (!logLevelIsOn(level)) return;
    static const int priorities[] = {LOG_DEBUG, LOG_INFO, LOG_NOTICE, LOG_WARNING};
    int saved_errno = errno;
    char message[MESSAGE_MAX], when[64], line[LINE_MAX_SIZE];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(message, sizeof(message), fmt, ap);
    va_end(ap);

    formatTime(when, sizeof(when), (logTimeFormat)atomic_load_explicit(&line_time, memory_order_relaxed));
    int n = formatLine(line, sizeof(line), level, when, message);
    logEmit(line, (size_t)n);
    toSyslog(priorities[level], message);
    errno = saved_errno;
}

void serverLogRaw(const char *text) {
    int saved_errno = errno;
    logEmit(text, strlen(text));
    toSyslog(LOG_NOTICE, text);
    errno = saved_errno;
}

void serverLogFromSignal(logLevel level, const char *text) {
    if (!logLevelIsOn(level)) return;
    int saved_errno = errno;
    char line[512];
    int n =
        snprintf(line, sizeof(line), "%d:signal-handler (%lld) %.400s\n", (int)getpid(), (long long)time(NULL), text);
    logEmit(line, (size_t)n);
    errno = saved_errno;
}
