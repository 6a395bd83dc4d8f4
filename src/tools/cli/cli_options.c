/* cli_options.c -- what the command line says, and the preferences that may change later.
 *
 * The first word that is no option starts the command: its own words may start with a dash.
 *
 * Tests       tests/tools/cli.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cli_options.h"
#include "numbers.h"
#include "server_uri.h"
#include "version.h"
#include <stdio.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

noreturn_fn static void quitUnknown(const char *word) {
    fprintf(stderr, "Unrecognized option or bad number of args for: '%s'\n", word);
    exit(1);
}

static long long numberOf(const char *option, const char *text, long long min, long long max) {
    long long n;
    if (!string2ll(text, strlen(text), &n) || n < min || n > max) {
        fprintf(stderr, "Invalid value '%s' of option %s: a number from %lld to %lld expected\n", text, option, min,
                max);
        exit(1);
    }
    return n;
}

static double secondsOf(const char *option, const char *text) {
    double s;
    if (!string2d(text, strlen(text), &s) || s < 0 || s > 1e9) {
        fprintf(stderr, "Invalid value '%s' of option %s: seconds expected\n", text, option);
        exit(1);
    }
    return s;
}

static void takeUri(cliOptions *o, const char *text) {
    static serverUri uri;
    const char *err = serverUriParse(&uri, text);
    if (err) {
        fprintf(stderr, "%s\n", err);
        exit(1);
    }
    if (uri.host) o->host = uri.host;
    if (uri.port) o->port = uri.port;
    if (uri.user) o->user = uri.user;
    if (uri.password) {
        o->password = uri.password;
        o->password_in_args = true;
    }
    if (uri.db >= 0) o->db = uri.db;
}

static char *readLineHidden(void) {
    static char line[1024];
    struct termios before, quiet;
    bool tty = tcgetattr(STDIN_FILENO, &before) == 0;
    fputs("Please input password: ", stderr);
    if (tty) {
        quiet = before;
        quiet.c_lflag &= ~(tcflag_t)ECHO;
        tcsetattr(STDIN_FILENO, TCSANOW, &quiet);
    }
    if (!fgets(line, sizeof(line), stdin)) line[0] = '\0';
    if (tty) tcsetattr(STDIN_FILENO, TCSANOW, &before);
    fputs("\n", stderr);
    line[strcspn(line, "\r\n")] = '\0';
    return line;
}

static bool parseYesNo(const char *text) {
    if (text[0] == 'y' || text[0] == 'Y') return true;
    if (text[0] == 'n' || text[0] == 'N') return false;
    fprintf(stderr, "Unknown --show-pushes value '%s' (valid: '[y]es', '[n]o')\n", text);
    return false;
}

/* A quoted pattern may hold any byte but is passed on as a C string. */
static const char *unquotePattern(const char *text) {
    int count;
    sds *words = sdsSplitArgs(text, &count);
    if (!words || count != 1) {
        fprintf(stderr, "Invalid quoted string specified for --quoted-pattern\n");
        exit(1);
    }
    return words[0];
}

static bool takeFlag(cliOptions *o, const char *word) {
    static const struct {
        const char *word;
        cliMode mode;
    } modes[] = {
        {"--stat", MODE_STAT},
        {"--latency", MODE_LATENCY},
        {"--latency-history", MODE_LATENCY_HISTORY},
        {"--latency-dist", MODE_LATENCY_DIST},
        {"--scan", MODE_SCAN},
        {"--bigkeys", MODE_BIGKEYS},
        {"--memkeys", MODE_MEMKEYS},
        {"--hotkeys", MODE_HOTKEYS},
        {"--pipe", MODE_PIPE},
        {"--help", MODE_HELP},
        {"--version", MODE_VERSION},
        {"-v", MODE_VERSION},
    };
    static const struct {
        const char *word;
        replyStyle style;
    } styles[] = {
        {"--raw", STYLE_RAW},   {"--no-raw", STYLE_PRETTY},           {"--csv", STYLE_CSV},
        {"--json", STYLE_JSON}, {"--quoted-json", STYLE_QUOTED_JSON},
    };
    for (size_t i = 0; i < array_len(modes); i++) {
        if (strcmp(word, modes[i].word) != 0) continue;
        o->mode = modes[i].mode;
        return true;
    }
    for (size_t i = 0; i < array_len(styles); i++) {
        if (strcmp(word, styles[i].word) != 0) continue;
        o->style = styles[i].style;
        return true;
    }
    if (strcmp(word, "-2") == 0) o->resp = 2;
    else if (strcmp(word, "-3") == 0) o->resp = 3;
    else if (strcmp(word, "-x") == 0) o->last_from_stdin = true;
    else if (strcmp(word, "-e") == 0) o->exit_on_error = true;
    else if (strcmp(word, "--askpass") == 0) o->ask_password = true;
    else if (strcmp(word, "--quoted-input") == 0) o->quoted_input = true;
    else if (strcmp(word, "--verbose") == 0) o->verbose = true;
    else if (strcmp(word, "--no-auth-warning") == 0) o->no_auth_warning = true;
    else return false;
    return true;
}

static bool takeOption(cliOptions *o, const char *word, const char *value) {
    if (strcmp(word, "-h") == 0) o->host = value;
    else if (strcmp(word, "-p") == 0) o->port = (int)numberOf(word, value, 0, 65535);
    else if (strcmp(word, "-t") == 0) o->timeout_s = secondsOf(word, value);
    else if (strcmp(word, "-s") == 0) o->socket = value;
    else if (strcmp(word, "-a") == 0 || strcmp(word, "--pass") == 0) {
        o->password = value;
        o->password_in_args = true;
    } else if (strcmp(word, "--user") == 0) o->user = value;
    else if (strcmp(word, "-u") == 0) takeUri(o, value);
    else if (strcmp(word, "-n") == 0) o->db = (int)numberOf(word, value, 0, INT32_MAX);
    else if (strcmp(word, "-r") == 0) {
        o->repeat = numberOf(word, value, -1, INT64_MAX);
        o->repeat_given = true;
    } else if (strcmp(word, "-i") == 0) {
        o->interval_s = secondsOf(word, value);
        o->interval_given = true;
    } else if (strcmp(word, "-d") == 0) o->line_delimiter = value;
    else if (strcmp(word, "-D") == 0) o->reply_delimiter = value;
    else if (strcmp(word, "-X") == 0) o->stdin_tag = value;
    else if (strcmp(word, "--show-pushes") == 0) o->show_pushes = parseYesNo(value);
    else if (strcmp(word, "--pattern") == 0) o->pattern = value;
    else if (strcmp(word, "--quoted-pattern") == 0) o->pattern = unquotePattern(value);
    else if (strcmp(word, "--count") == 0) o->scan_count = numberOf(word, value, 1, INT64_MAX);
    else if (strcmp(word, "--pipe-timeout") == 0) o->pipe_timeout_s = numberOf(word, value, 0, INT32_MAX / 1000);
    else if (strcmp(word, "--memkeys-samples") == 0) {
        o->memory_samples = numberOf(word, value, 0, INT64_MAX);
        o->mode = MODE_MEMKEYS;
    } else if (strcmp(word, "--hotkeys-count") == 0) {
        o->hotkeys = numberOf(word, value, 1, 1000000);
        o->mode = MODE_HOTKEYS;
    } else if (strcmp(word, "--intrinsic-latency") == 0) {
        o->intrinsic_s = numberOf(word, value, 1, INT32_MAX);
        o->mode = MODE_INTRINSIC;
    } else if (strcmp(word, "--eval") == 0) {
        o->eval_file = value;
        o->mode = MODE_EVAL;
    } else return false;
    return true;
}

static void finish(cliOptions *o) {
    bool tty = isatty(STDOUT_FILENO) || getenv("FAKETTY") != NULL;
    if (o->style == STYLE_AUTO) o->style = tty ? STYLE_PRETTY : STYLE_RAW;
    /* Maps keep their shape in the newer protocol only. */
    if (o->resp == 0 && (o->style == STYLE_JSON || o->style == STYLE_QUOTED_JSON)) o->resp = 3;
    if (o->ask_password) {
        o->password = readLineHidden();
        o->password_in_args = false;
    }
    if (o->password_in_args && !o->no_auth_warning) {
        fputs("Warning: Using a password with '-a' or '-u' option on the command line interface may not be safe.\n",
              stderr);
    }
    if (o->last_from_stdin && o->stdin_tag) {
        fprintf(stderr, "Options -x and -X are mutually exclusive.\n");
        exit(1);
    }
}

void cliOptionsParse(cliOptions *o, int argc, char **argv) {
    const char *pass = getenv("VALKEYCLI_AUTH");
    *o = (cliOptions){.host = "127.0.0.1",
                      .port = 6379,
                      .repeat = 1,
                      .interval_s = 0,
                      .line_delimiter = "\n",
                      .reply_delimiter = "\n",
                      .pipe_timeout_s = 30,
                      .memory_samples = -1,
                      .hotkeys = 16,
                      .hints = true,
                      .show_pushes = isatty(STDOUT_FILENO)};
    o->password = pass ? pass : getenv("REDISCLI_AUTH");
    int i = 1;
    for (; i < argc && argv[i][0] == '-'; i++) {
        if (takeFlag(o, argv[i])) continue;
        if (i + 1 == argc || !takeOption(o, argv[i], argv[i + 1])) quitUnknown(argv[i]);
        i++;
    }
    o->command = argv + i;
    o->command_count = argc - i;
    finish(o);
}

void cliUsage(void) {
    printf("valkey-cli %s\n\n", VALKEY_VERSION);
    fputs("Usage: valkey-cli [OPTIONS] [cmd [arg [arg ...]]]\n"
          "  -h <hostname>      Server hostname (default: 127.0.0.1).\n"
          "  -p <port>          Server port (default: 6379).\n"
          "  -t <timeout>       Connection timeout in seconds, decimals allowed (default: 0,\n"
          "                     as the system has it).\n"
          "  -s <socket>        Server socket (overrides hostname and port).\n"
          "  -a <password>      Password. The environment variable VALKEYCLI_AUTH passes it\n"
          "                     more safely (this argument wins).\n"
          "  --user <username>  Send 'AUTH username password'. Needs -a.\n"
          "  --pass <password>  The same as -a.\n"
          "  --askpass          Ask for the password on the terminal.\n"
          "  -u <uri>           Server URI: valkey://user:password@host:port/dbnum\n"
          "  -r <repeat>        Execute the command N times (-1: for ever).\n"
          "  -i <interval>      With -r, wait this many seconds between; decimals allowed.\n"
          "                     Also the cycle of --scan and --stat, and of --bigkeys,\n"
          "                     --memkeys and --hotkeys per 100 cycles.\n"
          "  -n <db>            Database number.\n"
          "  -2                 Start session in RESP2 protocol mode.\n"
          "  -3                 Start session in RESP3 protocol mode.\n"
          "  -x                 Read last argument from STDIN.\n"
          "  -X <tag>           Replace the argument <tag> by what STDIN holds.\n"
          "  -d <delimiter>     Delimiter between values in raw formatting (default: \\n).\n"
          "  -D <delimiter>     Delimiter between replies in raw formatting (default: \\n).\n"
          "  -e                 Return exit error code when the command fails.\n"
          "  --raw              Raw formatting (default when STDOUT is not a tty).\n"
          "  --no-raw           Formatted output even when STDOUT is not a tty.\n"
          "  --quoted-input     Arguments may be quoted strings, as in interactive mode.\n"
          "  --csv              Output in CSV format.\n"
          "  --json             Output in JSON format (default RESP3, -2 for RESP2).\n"
          "  --quoted-json      The same with ASCII-safe quoted strings.\n"
          "  --show-pushes <yn> Whether to print RESP3 PUSH messages (default: when STDOUT\n"
          "                     is a tty).\n"
          "  --stat             Print rolling stats about the server.\n"
          "  --latency          Sample the latency continuously; for one second if the\n"
          "                     output is no tty.\n"
          "  --latency-history  The same, a line per interval (default: 15 s, see -i).\n"
          "  --latency-dist     Latency as a spectrum (default interval: 1 s).\n"
          "  --pipe             Transfer raw commands from stdin to the server.\n"
          "  --pipe-timeout <n> In --pipe mode, give up when no reply comes for <n> seconds\n"
          "                     after all has been sent (default: 30; 0: never).\n"
          "  --bigkeys          Look for keys with many elements.\n"
          "  --memkeys          Look for keys that take much memory.\n"
          "  --memkeys-samples <n>  The same, with <n> elements sampled per key.\n"
          "  --hotkeys          Look for hot keys (maxmemory-policy must be *lfu).\n"
          "  --hotkeys-count <n>    The same, showing <n> of them (default: 16).\n"
          "  --scan             List all keys using the SCAN command.\n"
          "  --pattern <pat>    Keys pattern of --scan, --bigkeys and --hotkeys (default: *).\n"
          "  --count <count>    Count option of the same (default: 10).\n"
          "  --quoted-pattern <pat>  As --pattern, but quoted.\n"
          "  --intrinsic-latency <sec>  Measure the latency of the system itself.\n"
          "  --eval <file>      Send an EVAL command using the Lua script at <file>.\n"
          "  --verbose          Verbose mode.\n"
          "  --no-auth-warning  Don't warn about a password on the command line.\n"
          "  --help             Output this help and exit.\n"
          "  --version          Output version and exit.\n"
          "\n"
          "Examples:\n"
          "  valkey-cli -u valkey://default:PASSWORD@localhost:6379/0\n"
          "  cat /etc/passwd | valkey-cli -x set mypasswd\n"
          "  valkey-cli -r 100 lpush mylist x\n"
          "  valkey-cli -r 100 -i 1 info | grep used_memory_human:\n"
          "  valkey-cli --quoted-input set '\"null-\\x00-separated\"' value\n"
          "  valkey-cli --eval myscript.lua key1 key2 , arg1 arg2 arg3\n"
          "  valkey-cli --scan --pattern '*:12345*'\n"
          "\n"
          "When no command is given, valkey-cli starts in interactive mode.\n"
          "Type \"help\" in interactive mode for information on available commands\n"
          "and settings.\n"
          "\n",
          stdout);
}
