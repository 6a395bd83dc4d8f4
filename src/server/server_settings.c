/* server_settings.c -- the settings of the process: startup, log, clock, shutdown.
 *
 * Not here    settings of subsystems that do not exist yet (pending_settings.c); access to DEBUG, and the contents of
 *             crash reports (admin_settings.c).
 * Owns        server_settings.
 * Threads     main.
 * Invariants  1. 1 <= hz <= 500 once serverSettingsApply() has run.
 * Tests       tests/unit/admin/setting_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "server_settings.h"

#include "db.h"
#include "log.h"
#include "numbers.h"
#include "panic.h"
#include "setting_text.h"
#include "watchdog.h"
#include "zmalloc.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <syslog.h>
#include <unistd.h>

#define HZ_MIN 1
#define HZ_MAX 500
#define OOM_ADJ_MAX 1000
#define OOM_VALUE_MAX 2000
#define OOM_PATH "/proc/self/oom_score_adj"

serverSettings server_settings;

/* ---- Names ---------------------------------------------------------------------------------------- */

static const settingName supervised_names[] = {{"upstart", SUPERVISED_UPSTART},
                                               {"systemd", SUPERVISED_SYSTEMD},
                                               {"auto", SUPERVISED_AUTODETECT},
                                               {"no", SUPERVISED_NONE},
                                               {NULL, 0}};
static const settingName facility_names[] = {{"user", LOG_USER},     {"local0", LOG_LOCAL0},
                                             {"local1", LOG_LOCAL1}, {"local2", LOG_LOCAL2},
                                             {"local3", LOG_LOCAL3}, {"local4", LOG_LOCAL4},
                                             {"local5", LOG_LOCAL5}, {"local6", LOG_LOCAL6},
                                             {"local7", LOG_LOCAL7}, {NULL, 0}};
static const settingName level_names[] = {{"debug", LL_DEBUG},     {"verbose", LL_VERBOSE}, {"notice", LL_NOTICE},
                                          {"warning", LL_WARNING}, {"nothing", LL_NOTHING}, {NULL, 0}};
static const settingName time_format_names[] = {
    {"legacy", LOG_TIME_LEGACY}, {"iso8601", LOG_TIME_ISO8601}, {"milliseconds", LOG_TIME_MILLISECONDS}, {NULL, 0}};
static const settingName format_names[] = {
    {"legacy", LOG_FORMAT_LEGACY}, {"logfmt", LOG_FORMAT_LOGFMT}, {"json", LOG_FORMAT_JSON}, {NULL, 0}};
static const settingName oom_names[] = {{"no", OOM_ADJUST_NO},
                                        {"yes", OOM_ADJUST_RELATIVE},
                                        {"relative", OOM_ADJUST_RELATIVE},
                                        {"absolute", OOM_ADJUST_ABSOLUTE},
                                        {NULL, 0}};
static const settingName stop_names[] = {
    {"default", 0},        {"save", STOP_SAVE}, {"nosave", STOP_NOSAVE},     {"now", STOP_NOW},
    {"force", STOP_FORCE}, {"safe", STOP_SAFE}, {"failover", STOP_FAILOVER}, {NULL, 0}};

/* ---- Checks --------------------------------------------------------------------------------------- */

static bool checkStop(const char *text, long long number, const char **err) {
    unused(text);
    if ((number & STOP_SAVE) && (number & STOP_NOSAVE)) {
        *err = "shutdown options SAVE and NOSAVE can't be used simultaneously";
        return false;
    }
    return true;
}

/* Checks a title template. It may have only these variables ("{{" is a brace), and must have something visible: blanks
 * and variables that may be empty are not sufficient. */
static bool checkTitle(const char *text, long long number, const char **err) {
    static const struct {
        const char *name;
        bool may_be_empty;
    } known[] = {{"{title}", true}, {"{server-mode}", true}, {"{unixsocket}", true},   {"{listen-addr}", false},
                 {"{port}", false}, {"{tls-port}", false},   {"{config-file}", false}, {"{{", false}};
    bool visible = false;
    unused(number);
    *err = "template format is invalid or contains unknown variables";
    while (*text) {
        size_t i = 0;
        if (*text != '{') {
            visible |= !isspace((unsigned char)*text++);
            continue;
        }
        while (i < array_len(known) && strncmp(text, known[i].name, strlen(known[i].name))) i++;
        if (i == array_len(known)) return false;
        visible |= !known[i].may_be_empty;
        text += strlen(known[i].name);
    }
    return visible;
}

/* ---- dir and oom-score-adj-values ------------------------------------------------------------------ */

static bool setDir(const setting *s, char **words, int count, const char **err) {
    unused(s), unused(count);
    if (!*words[0]) *err = "dir can't be empty";
    else if (chdir(words[0]) == 0) return true;
    else *err = strerror(errno);
    return false;
}

static sds previewDir(const setting *s, char **words, int count, const char **err) {
    char path[PATH_MAX];
    unused(s), unused(count);
    *err = "dir can't be empty";
    if (*words[0] && realpath(words[0], path)) return sdsNew(path);
    if (*words[0]) *err = strerror(errno);
    return NULL;
}

static sds getDir(const setting *s) {
    char path[PATH_MAX];
    unused(s);
    return sdsNew(getcwd(path, sizeof(path)) ? path : "");
}

static bool setOomValues(const setting *s, char **words, int count, const char **err) {
    long long values[OOM_ROLES];
    unused(s);
    if (count != OOM_ROLES) {
        *err = "wrong number of arguments";
        return false;
    }
    for (int i = 0; i < OOM_ROLES; i++)
        if (!string2ll(words[i], strlen(words[i]), &values[i]) || llabs(values[i]) > OOM_VALUE_MAX) {
            *err = "Invalid oom-score-adj-values, elements must be between -2000 and 2000.";
            return false;
        }
    for (int i = 1; i < OOM_ROLES; i++)
        if (values[i] < values[i - 1])
            serverLog(LL_WARNING, "oom-score-adj-values: a value is lower than the one before it. To lower its score a "
                                  "process needs a privilege (CAP_SYS_RESOURCE).");
    memcpy(server_settings.oom_score_adj_values, values, sizeof(values));
    return true;
}

static sds getOomValues(const setting *s) {
    const long long *v = server_settings.oom_score_adj_values;
    unused(s);
    return sdsCatPrintf(sdsEmpty(), "%lld %lld %lld", v[OOM_PRIMARY], v[OOM_REPLICA], v[OOM_CHILD]);
}

/* ---- Applying values ------------------------------------------------------------------------------ */

static bool applyLog(const char **err) {
    unused(err);
    logSetLevel((logLevel)server_settings.loglevel);
    logSetFormat((logFormat)server_settings.log_format, (logTimeFormat)server_settings.log_timestamp_format);
    return true;
}

static void setWatchdog(void) {
    server_settings.watchdog_period_ms = watchdogSetPeriod(server_settings.watchdog_period_ms, server_settings.hz);
}

static bool applyHz(const char **err) {
    unused(err);
    if (server_settings.hz < HZ_MIN) server_settings.hz = HZ_MIN;
    if (server_settings.hz > HZ_MAX) server_settings.hz = HZ_MAX;
    store_settings.hz = server_settings.hz;
    setWatchdog();
    return true;
}

static bool applyWatchdog(const char **err) {
    unused(err);
    setWatchdog();
    return true;
}

static bool applyLocale(const char **err) {
    *err = "Invalid locale name";
    return setlocale(LC_COLLATE, server_settings.locale_collate) != NULL;
}

static bool applyCrashLog(const char **err) {
    unused(err);
    if (server_settings.crash_log_enabled) panicInstallHandlers();
    else panicRemoveHandlers();
    return true;
}

static bool applyExitOnPanic(const char **err) {
    unused(err);
    panicExits(server_settings.use_exit_on_panic);
    return true;
}

static bool applyBgThread(const char **err) {
    unused(err);
    zmallocSetBackgroundThread(server_settings.jemalloc_bg_thread);
    return true;
}

static bool readScore(long long *score) {
    char text[32];
    int fd = open(OOM_PATH, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    ssize_t n = read(fd, text, sizeof(text) - 1);
    close(fd);
    if (n <= 0) return false;
    text[n] = '\0';
    *score = strtoll(text, NULL, 10);
    return true;
}

static bool writeScore(long long score) {
    char text[LONG_STR_SIZE];
    size_t len = ll2string(text, score);
    int fd = open(OOM_PATH, O_WRONLY | O_CLOEXEC);
    if (fd < 0) return false;
    bool ok = write(fd, text, len) == (ssize_t)len;
    close(fd);
    return ok;
}

/* The original score of the process is read before the first change, and restored when the setting becomes "no". */
bool serverApplyOomScore(int role, const char **err) {
    static bool changed;
    static long long base;
    if (server_settings.oom_score_adj == OOM_ADJUST_NO && !changed) return true;
    *err = "Failed to apply new oom_score_adj configuration, check server logs.";
    if (!changed && !readScore(&base)) goto failed;
    long long score = base;
    if (server_settings.oom_score_adj == OOM_ADJUST_RELATIVE) score = base + server_settings.oom_score_adj_values[role];
    if (server_settings.oom_score_adj == OOM_ADJUST_ABSOLUTE) score = server_settings.oom_score_adj_values[role];
    if (score > OOM_ADJ_MAX) score = OOM_ADJ_MAX;
    if (score < -OOM_ADJ_MAX) score = -OOM_ADJ_MAX;
    if (!writeScore(score)) goto failed;
    changed = server_settings.oom_score_adj != OOM_ADJUST_NO;
    return true;
failed:
    serverLog(LL_WARNING, "Unable to write %s: %s", OOM_PATH, strerror(errno));
    return false;
}

static bool applyOom(const char **err) { return serverApplyOomScore(OOM_PRIMARY, err); }

bool serverSettingsApply(const char **err) {
    static char line[256];
    const char *why;
    if (server_settings.daemonize && !server_settings.pidfile) server_settings.pidfile = zstrdup("/var/run/valkey.pid");
    applyLog(&why);
    logSetFile(server_settings.logfile);
    logSetSyslog(server_settings.syslog_enabled ? server_settings.syslog_ident : NULL, server_settings.syslog_facility);
    applyHz(&why);
    applyCrashLog(&why);
    applyExitOnPanic(&why);
    if (applyLocale(&why)) return true;
    snprintf(line, sizeof(line), "Failed to configure LOCALE for invalid locale name: '%s'.",
             server_settings.locale_collate);
    *err = line;
    return false;
}

/* Opens the log file when it is set, so that a file that cannot be written is refused at once. */
static bool checkLogFile(const char *text, long long number, const char **err) {
    static char line[256];
    unused(number);
    if (!*text) return true;
    FILE *f = fopen(text, "a");
    if (f) {
        fclose(f);
        return true;
    }
    snprintf(line, sizeof(line), "Can't open the log file: %s", strerror(errno));
    *err = line;
    return false;
}

/* ---- Table ---------------------------------------------------------------------------------------- */

static const setting rows[] = {
    BOOL_SETTING("daemonize", server_settings.daemonize, false, .flags = SETTING_IMMUTABLE),
    ENUM_SETTING("supervised", server_settings.supervised, SUPERVISED_NONE, supervised_names,
                 .flags = SETTING_IMMUTABLE),
    STRING_SETTING("pidfile", server_settings.pidfile, NULL, .flags = SETTING_IMMUTABLE, .empty_is_null = true),
    {.name = "dir",
     .type = SETTING_SPECIAL,
     .flags = SETTING_PROTECTED | SETTING_DENY_LOADING,
     .set = setDir,
     .get = getDir,
     .preview = previewDir},
    BOOL_SETTING("always-show-logo", server_settings.always_show_logo, false, .flags = SETTING_IMMUTABLE),
    BOOL_SETTING("set-proc-title", server_settings.set_proc_title, true, .flags = SETTING_IMMUTABLE),
    STRING_SETTING("proc-title-template", server_settings.proc_title_template, "{title} {listen-addr} {server-mode}",
                   .check = checkTitle),
    BOOL_SETTING("disable-thp", server_settings.disable_thp, true, .flags = SETTING_IMMUTABLE),
    STRING_SETTING("hash-seed", server_settings.hash_seed, NULL, .flags = SETTING_IMMUTABLE, .empty_is_null = true),
    STRING_SETTING("bio-cpulist", server_settings.bio_cpulist, NULL, .alias = "bio_cpulist", .flags = SETTING_IMMUTABLE,
                   .empty_is_null = true),
    STRING_SETTING("ignore-warnings", server_settings.ignore_warnings, NULL, .flags = SETTING_PENDING),
    STRING_SETTING("locale-collate", server_settings.locale_collate, NULL, .apply = applyLocale),

    STRING_SETTING("logfile", server_settings.logfile, NULL, .flags = SETTING_IMMUTABLE, .check = checkLogFile),
    ENUM_SETTING("loglevel", server_settings.loglevel, LL_NOTICE, level_names, .apply = applyLog),
    ENUM_SETTING("log-format", server_settings.log_format, LOG_FORMAT_LEGACY, format_names, .apply = applyLog),
    ENUM_SETTING("log-timestamp-format", server_settings.log_timestamp_format, LOG_TIME_LEGACY, time_format_names,
                 .apply = applyLog),
    BOOL_SETTING("syslog-enabled", server_settings.syslog_enabled, false, .flags = SETTING_IMMUTABLE),
    STRING_SETTING("syslog-ident", server_settings.syslog_ident, "valkey", .flags = SETTING_IMMUTABLE),
    ENUM_SETTING("syslog-facility", server_settings.syslog_facility, LOG_LOCAL0, facility_names,
                 .flags = SETTING_IMMUTABLE),

    BOOL_SETTING("crash-log-enabled", server_settings.crash_log_enabled, true, .apply = applyCrashLog),
    BOOL_SETTING("crash-memcheck-enabled", server_settings.crash_memcheck_enabled, true, .flags = SETTING_PENDING),
    BOOL_SETTING("use-exit-on-panic", server_settings.use_exit_on_panic, false, .flags = SETTING_HIDDEN,
                 .apply = applyExitOnPanic),

    INT_SETTING("hz", server_settings.hz, 10, 0, INT_MAX, .apply = applyHz),
    INT_SETTING("watchdog-period", server_settings.watchdog_period_ms, 0, 0, INT_MAX, .flags = SETTING_HIDDEN,
                .apply = applyWatchdog),
    INT_SETTING("shutdown-timeout", server_settings.shutdown_timeout_s, 10, 0, INT_MAX),
    {.name = "shutdown-on-sigint",
     .type = SETTING_FLAGS,
     .value = &server_settings.shutdown_on_sigint,
     .names = stop_names,
     .check = checkStop},
    {.name = "shutdown-on-sigterm",
     .type = SETTING_FLAGS,
     .value = &server_settings.shutdown_on_sigterm,
     .names = stop_names,
     .check = checkStop},

    ENUM_SETTING("oom-score-adj", server_settings.oom_score_adj, OOM_ADJUST_NO, oom_names, .apply = applyOom),
    {.name = "oom-score-adj-values",
     .type = SETTING_SPECIAL,
     .flags = SETTING_MULTI_ARG,
     .default_text = "0 200 800",
     .set = setOomValues,
     .get = getOomValues,
     .apply = applyOom},
    BOOL_SETTING("jemalloc-bg-thread", server_settings.jemalloc_bg_thread, true, .apply = applyBgThread),
    SETTINGS_END,
};

void serverSettingsRegister(void) { settingRegister(rows); }
