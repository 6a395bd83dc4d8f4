/* server_settings.h -- the settings of the process: startup, log, clock, shutdown.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SERVER_SERVER_SETTINGS_H
#define SERVER_SERVER_SETTINGS_H

#include "platform.h"

enum { SUPERVISED_NONE, SUPERVISED_AUTODETECT, SUPERVISED_SYSTEMD, SUPERVISED_UPSTART };
enum { OOM_ADJUST_NO, OOM_ADJUST_RELATIVE, OOM_ADJUST_ABSOLUTE };
/* Flags of shutdown-on-sigint and shutdown-on-sigterm, and of SHUTDOWN. */
enum { STOP_SAVE = 1, STOP_NOSAVE = 2, STOP_NOW = 4, STOP_FORCE = 8, STOP_SAFE = 16, STOP_FAILOVER = 32 };
/* Indexes of oom-score-adj-values. */
enum { OOM_PRIMARY, OOM_REPLICA, OOM_CHILD, OOM_ROLES };

typedef struct serverSettings {
    /* Start. */
    bool daemonize, set_proc_title, always_show_logo, disable_thp;
    int supervised;            /* SUPERVISED_ */
    char *pidfile;             /* owns; NULL: no file */
    char *proc_title_template; /* owns */
    char *hash_seed;           /* owns; NULL: a random seed */
    char *bio_cpulist;         /* owns; NULL: any processor */
    char *ignore_warnings;     /* owns; words separated by blanks */
    char *locale_collate;      /* owns; "": from the environment */
    /* Log. */
    char *logfile;                                  /* owns; "": stdout */
    int loglevel, log_format, log_timestamp_format; /* logLevel, logFormat, logTimeFormat */
    bool syslog_enabled;
    char *syslog_ident;  /* owns */
    int syslog_facility; /* LOG_LOCAL0 ... */
    /* Crash. */
    bool crash_log_enabled, crash_memcheck_enabled, use_exit_on_panic;
    /* Clock and end. */
    long long hz;                 /* 1 to 500 */
    long long watchdog_period_ms; /* 0: off; else at least two ticks */
    long long shutdown_timeout_s;
    int shutdown_on_sigint, shutdown_on_sigterm; /* STOP_; 0: like SHUTDOWN without arguments */
    /* Memory. */
    int oom_score_adj; /* OOM_ADJUST_ */
    long long oom_score_adj_values[OOM_ROLES];
    bool jemalloc_bg_thread;
} serverSettings;
extern serverSettings server_settings;

/* Applies the loaded values: log, locale, crash report, allocator, hz; sets the default pidfile of a daemon. Returns
 * false with *err, a line for the log, if one cannot be applied. Call at startup, after settingFileLoad(). */
bool serverSettingsApply(const char **err) must_check;
/* Writes the score of `role` (OOM_) to the kernel if oom-score-adj says so. Returns false with *err on failure. */
bool serverApplyOomScore(int role, const char **err) must_check;
/* Registers the settings. Call at startup only. */
void serverSettingsRegister(void);

/* Register the commands and INFO fields of this layer. Call at startup only. */
void serverCommandsRegister(void);
void serverInfoRegister(void);

/* --- pending_settings.c, pending_info.c: of subsystems that do not exist yet ----------------------------------- */
/* Registers the settings. Call at startup only. */
void pendingSettingsRegister(void);

/* Registers the INFO fields and sections. Call at startup only. */
void pendingInfoRegister(void);

#endif
