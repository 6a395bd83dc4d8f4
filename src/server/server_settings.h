/* server_settings.h -- the settings of the process itself: how it starts, logs, ticks and ends.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SERVER_SERVER_SETTINGS_H
#define SERVER_SERVER_SETTINGS_H

#include "platform.h"

enum { SUPERVISED_NONE, SUPERVISED_AUTODETECT, SUPERVISED_SYSTEMD, SUPERVISED_UPSTART };
enum { OOM_ADJUST_NO, OOM_ADJUST_RELATIVE, OOM_ADJUST_ABSOLUTE };
/* shutdown-on-sigint, shutdown-on-sigterm. */
enum { STOP_SAVE = 1, STOP_NOSAVE = 2, STOP_NOW = 4, STOP_FORCE = 8, STOP_SAFE = 16, STOP_FAILOVER = 32 };
/* Which of oom-score-adj-values counts. */
enum { OOM_PRIMARY, OOM_REPLICA, OOM_CHILD, OOM_ROLES };

typedef struct serverSettings {
    /* Start. */
    bool daemonize, set_proc_title, always_show_logo, disable_thp;
    int supervised;            /* SUPERVISED_ */
    char *pidfile;             /* owns; NULL: none */
    char *proc_title_template; /* owns */
    char *hash_seed;           /* owns; NULL: random */
    char *bio_cpulist;         /* owns; NULL: any processor */
    char *ignore_warnings;     /* owns; words joined by blanks */
    char *locale_collate;      /* owns; "": as the environment says */
    /* Log. */
    char *logfile;                                  /* owns; "": stdout */
    int loglevel, log_format, log_timestamp_format; /* logLevel, logFormat, logTimeFormat */
    bool syslog_enabled;
    char *syslog_ident;  /* owns */
    int syslog_facility; /* LOG_LOCAL0 ... */
    /* Crash. */
    bool crash_log_enabled, crash_memcheck_enabled, use_exit_on_panic;
    /* Clock and end. */
    long long hz;                 /* 1..500 */
    long long watchdog_period_ms; /* 0: none; else two ticks and more */
    long long shutdown_timeout_s;
    int shutdown_on_sigint, shutdown_on_sigterm; /* STOP_, 0: as SHUTDOWN without arguments */
    /* Memory. */
    int oom_score_adj; /* OOM_ADJUST_ */
    long long oom_score_adj_values[OOM_ROLES];
    bool jemalloc_bg_thread;
} serverSettings;
extern serverSettings server_settings;

/* Put the loaded values into force: log, locale, crash report, allocator, hz; names a default pidfile for a daemon.
 * False with *err, a line for the log, when one cannot be. Boot, after settingFileLoad(). */
bool serverSettingsApply(const char **err) must_check;
/* Write the score of `role` (OOM_) to the kernel if oom-score-adj says so. False with *err. */
bool serverApplyOomScore(int role, const char **err) must_check;
/* Boot only. */
void serverSettingsRegister(void);

/* Put what this layer shows and offers into the tables of the layers below. Boot only. */
void serverCommandsRegister(void);
void serverInfoRegister(void);

#endif
