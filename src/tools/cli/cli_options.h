/* cli_options.h -- the options of the command line, and the preferences that may change later.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include "manager_options.h"
#include "reply_text.h"
#include "tool_options.h"

typedef enum {
    MODE_COMMAND,
    MODE_STAT,
    MODE_LATENCY,
    MODE_LATENCY_HISTORY,
    MODE_LATENCY_DIST,
    MODE_SCAN,
    MODE_BIGKEYS,
    MODE_MEMKEYS,
    MODE_KEYSTATS,
    MODE_HOTKEYS,
    MODE_PIPE,
    MODE_RDB,
    MODE_BACKUP,
    MODE_FUNCTIONS_RDB,
    MODE_REPLICA,
    MODE_INTRINSIC,
    MODE_EVAL,
    MODE_LRU_TEST,
    MODE_CLUSTER,
    MODE_HELP,
    MODE_VERSION
} cliMode;

typedef struct cliOptions {
    linkTarget target; /* its `tls` is made by main() */
    toolLogin login;
    toolTls tls;
    const char *client_name; /* borrowed; for CLIENT SETNAME; NULL if none */
    bool cluster;            /* follow redirections */
    double interval_s;
    bool interval_given, repeat_given;
    long long repeat; /* -1: without end */
    int resp;         /* 2, 3, or 0: leave the protocol as it is */
    replyStyle style;
    const char *line_delimiter, *reply_delimiter;
    bool last_from_stdin;  /* -x */
    const char *stdin_tag; /* -X */
    bool ask_password, quoted_input, exit_on_error, no_auth_warning, verbose, password_in_args;
    bool show_pushes;
    bool hints;
    cliMode mode;
    const char *pattern;
    long long scan_count, memory_samples, pipe_timeout_s, intrinsic_s, hotkeys, lru_keys, keystats_top;
    const char *cursor; /* of --keystats; NULL: from the beginning */
    const char *eval_file;
    const char *rdb_file; /* "-": stdout */
    const char *backup_dir;
    bool debug, debug_sync; /* run the script of eval_file in the debugger */
    managerOptions manager; /* of --cluster */
    char **command;         /* borrowed */
    int command_count;
} cliOptions;

/* Fills in *o from environment and arguments. Prints a message and ends the program if they are invalid. */
void cliOptionsParse(cliOptions *o, int argc, char **argv);
void cliUsage(void); /* prints the text of --help */

#endif
