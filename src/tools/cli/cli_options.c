/* cli_options.c -- the options of the command line, and the preferences that may change later.
 *
 * The first word that is not an option starts the command, whose other words may start with a dash.
 *
 * Tests       tests/tools/cli.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cli_options.h"
#include "numbers.h"
#include "terminal.h"
#include "sds.h"
#include "version.h"
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* Options of Valkey's valkey-cli that are not supported here, and why. */
static const absentOption absent[] = {
    {"--cluster", "there is no cluster manager; -c follows the redirections of a cluster"},
};

typedef enum {
    VALUE_TRUE,  /* without a value: sets a bool */
    VALUE_CONST, /* without a value: sets an int or enum to `min` */
    VALUE_TEXT,  /* stored unchanged */
    VALUE_INT,
    VALUE_LONG,
    VALUE_SECONDS,
    VALUE_YES_NO,
    VALUE_QUOTED, /* a pattern in quotes */
    VALUE_URI,
    VALUE_FILE /* of a transfer; only one is allowed */
} valueKind;

typedef struct cliOption {
    const char *word;
    size_t offset; /* of the member that is set */
    valueKind kind;
    long long min, max; /* INT, LONG; CONST: the value */
    size_t given;       /* offset of a bool that is also set to true; 0 if none */
    cliMode mode;       /* set if it is not MODE_COMMAND */
    bool unsuggested;   /* not proposed in place of an unknown option */
} cliOption;

#define FIELD(name) offsetof(cliOptions, name)
#define VALUED(word_, field, ... /* kind */) \
    { .word = word_, .offset = FIELD(field), .kind = __VA_ARGS__ }
#define FLAG(word_, field) VALUED(word_, field, VALUE_TRUE)
#define SET(word_, field, value) VALUED(word_, field, VALUE_CONST, .min = value)
#define RANGE(min_, max_) .min = min_, .max = max_
static_assert(sizeof(cliMode) == sizeof(int) && sizeof(replyStyle) == sizeof(int), "SET() stores an int");

static const cliOption option_rows[] = {
    SET("--stat", mode, MODE_STAT),
    SET("--latency", mode, MODE_LATENCY),
    SET("--latency-history", mode, MODE_LATENCY_HISTORY),
    SET("--latency-dist", mode, MODE_LATENCY_DIST),
    SET("--scan", mode, MODE_SCAN),
    SET("--bigkeys", mode, MODE_BIGKEYS),
    SET("--memkeys", mode, MODE_MEMKEYS),
    SET("--keystats", mode, MODE_KEYSTATS),
    SET("--hotkeys", mode, MODE_HOTKEYS),
    SET("--pipe", mode, MODE_PIPE),
    SET("--replica", mode, MODE_REPLICA),
    SET("--slave", mode, MODE_REPLICA),
    SET("--help", mode, MODE_HELP),
    SET("--version", mode, MODE_VERSION),
    SET("-v", mode, MODE_VERSION),
    VALUED("-h", target.host, VALUE_TEXT),
    VALUED("-p", target.port, VALUE_INT, RANGE(0, 65535)),
    VALUED("-t", target.timeout_s, VALUE_SECONDS),
    VALUED("-s", target.unix_path, VALUE_TEXT),
    VALUED("-a", login.password, VALUE_TEXT, .given = FIELD(password_in_args)),
    VALUED("--pass", login.password, VALUE_TEXT, .given = FIELD(password_in_args)),
    VALUED("--user", login.user, VALUE_TEXT),
    {.word = "-u", .kind = VALUE_URI},
    VALUED("-n", login.db, VALUE_INT, RANGE(0, INT32_MAX)),
    VALUED("-r", repeat, VALUE_LONG, RANGE(-1, INT64_MAX), .given = FIELD(repeat_given)),
    VALUED("-i", interval_s, VALUE_SECONDS, .given = FIELD(interval_given)),
    VALUED("-d", line_delimiter, VALUE_TEXT),
    VALUED("-D", reply_delimiter, VALUE_TEXT),
    VALUED("-X", stdin_tag, VALUE_TEXT),
    VALUED("--show-pushes", show_pushes, VALUE_YES_NO),
    VALUED("--pattern", pattern, VALUE_TEXT),
    VALUED("--quoted-pattern", pattern, VALUE_QUOTED),
    VALUED("--count", scan_count, VALUE_LONG, RANGE(1, INT64_MAX)),
    VALUED("--pipe-timeout", pipe_timeout_s, VALUE_LONG, RANGE(0, INT32_MAX / 1000)),
    VALUED("--memkeys-samples", memory_samples, VALUE_LONG, RANGE(0, INT64_MAX), .mode = MODE_MEMKEYS),
    VALUED("--keystats-samples", memory_samples, VALUE_LONG, RANGE(0, INT64_MAX), .mode = MODE_KEYSTATS),
    VALUED("--top", keystats_top, VALUE_LONG, RANGE(1, 1000000)),
    VALUED("--cursor", cursor, VALUE_TEXT),
    VALUED("--hotkeys-count", hotkeys, VALUE_LONG, RANGE(1, 1000000), .mode = MODE_HOTKEYS),
    VALUED("--intrinsic-latency", intrinsic_s, VALUE_LONG, RANGE(1, INT32_MAX), .mode = MODE_INTRINSIC),
    VALUED("--eval", eval_file, VALUE_TEXT, .mode = MODE_EVAL),
    VALUED("--lru-test", lru_keys, VALUE_LONG, RANGE(1, INT64_MAX / 2), .mode = MODE_LRU_TEST),
    VALUED("--rdb", rdb_file, VALUE_FILE, .mode = MODE_RDB),
    VALUED("--functions-rdb", rdb_file, VALUE_FILE, .mode = MODE_FUNCTIONS_RDB),
    FLAG("-x", last_from_stdin),
    FLAG("-c", cluster),
    FLAG("-e", exit_on_error),
    FLAG("--mptcp", target.multipath),
    FLAG("--askpass", ask_password),
    FLAG("--quoted-input", quoted_input),
    FLAG("--tls", tls.on),
    FLAG("--insecure", tls.insecure),
    FLAG("--verbose", verbose),
    FLAG("--no-auth-warning", no_auth_warning),
    FLAG("--ldb", debug),
    FLAG("--ldb-sync-mode", debug_sync),
    SET("--raw", style, STYLE_RAW),
    SET("--no-raw", style, STYLE_PRETTY),
    SET("--csv", style, STYLE_CSV),
    SET("--json", style, STYLE_JSON),
    SET("--quoted-json", style, STYLE_QUOTED_JSON),
    SET("-2", resp, 2),
    SET("-3", resp, 3),
    SET("-4", target.family, AF_INET),
    SET("-6", target.family, AF_INET6),
    VALUED("--name", client_name, VALUE_TEXT, .unsuggested = true),
    VALUED("--sni", target.sni, VALUE_TEXT, .unsuggested = true),
    VALUED("--cacert", tls.ca_file, VALUE_TEXT, .unsuggested = true),
    VALUED("--cacertdir", tls.ca_dir, VALUE_TEXT, .unsuggested = true),
    VALUED("--cert", tls.cert_file, VALUE_TEXT, .unsuggested = true),
    VALUED("--key", tls.key_file, VALUE_TEXT, .unsuggested = true),
    VALUED("--tls-ciphers", tls.ciphers, VALUE_TEXT, .unsuggested = true),
    VALUED("--tls-ciphersuites", tls.ciphersuites, VALUE_TEXT, .unsuggested = true),
};

static const cliOption *findOption(const char *word) {
    for (size_t i = 0; i < array_len(option_rows); i++)
        if (strcmp(word, option_rows[i].word) == 0) return &option_rows[i];
    suggestion s = {.word = word};
    for (size_t i = 0; i < array_len(option_rows); i++)
        if (!option_rows[i].unsuggested) suggestConsider(&s, option_rows[i].word);
    toolCheckAbsent(word, absent, array_len(absent));
    toolQuitUnknown("valkey-cli", "option", &s);
}

static double secondsOf(const char *option, const char *text) {
    double s;
    if (!string2d(text, strlen(text), &s) || s < 0 || s > 1e9) {
        fprintf(stderr, "Invalid value '%s' of option %s: seconds expected\n", text, option);
        exit(1);
    }
    return s;
}

static bool parseYesNo(const char *text) {
    if (text[0] == 'y' || text[0] == 'Y') return true;
    if (text[0] == 'n' || text[0] == 'N') return false;
    fprintf(stderr, "Invalid value '%s' of option --show-pushes: yes or no expected\n", text);
    return false;
}

/* Resolves the quotes and escapes of a pattern, which is passed on as a C string. */
static const char *unquotePattern(const char *text) {
    static sds *words; /* never freed: the pattern is used until the program ends */
    int count;
    words = sdsSplitInline(text, &count);
    if (!words || count != 1) {
        fprintf(stderr, "Invalid value of option --quoted-pattern: one string in quotes expected\n");
        exit(1);
    }
    return words[0];
}

/* Stores the value of an option; NULL for options that take none. */
static void takeOption(cliOptions *o, const cliOption *option, const char *value) {
    const char *word = option->word;
    void *field = (char *)o + option->offset;
    switch (option->kind) {
    case VALUE_TRUE: *(bool *)field = true; break;
    case VALUE_CONST: *(int *)field = (int)option->min; break;
    case VALUE_TEXT: *(const char **)field = value; break;
    case VALUE_INT: *(int *)field = (int)toolNumber(word, value, option->min, option->max); break;
    case VALUE_LONG: *(long long *)field = toolNumber(word, value, option->min, option->max); break;
    case VALUE_SECONDS: *(double *)field = secondsOf(word, value); break;
    case VALUE_YES_NO: *(bool *)field = parseYesNo(value); break;
    case VALUE_QUOTED: *(const char **)field = unquotePattern(value); break;
    case VALUE_URI: {
        const char *before = o->login.password;
        toolTakeUri(value, &o->target, &o->login, &o->tls);
        if (o->login.password != before) o->password_in_args = true;
        break;
    }
    case VALUE_FILE:
        if (o->rdb_file && o->mode != option->mode) {
            fprintf(stderr, "One transfer at a time: either --rdb or --functions-rdb.\n");
            exit(1);
        }
        *(const char **)field = value;
        break;
    }
    if (option->given) *(bool *)((char *)o + option->given) = true;
    if (option->mode != MODE_COMMAND) o->mode = option->mode;
}

static void cliOptionsFinish(cliOptions *o) {
    o->debug |= o->debug_sync;
    if (o->debug && o->mode != MODE_EVAL) {
        fprintf(stderr, "The debugger needs a script: --eval FILE\n");
        exit(1);
    }
    bool tty = isatty(STDOUT_FILENO) || getenv("FAKETTY") != NULL;
    if (o->style == STYLE_AUTO) o->style = tty ? STYLE_PRETTY : STYLE_RAW;
    /* Only RESP3 distinguishes maps from arrays. */
    if (o->resp == 0 && (o->style == STYLE_JSON || o->style == STYLE_QUOTED_JSON)) o->resp = 3;
    if (o->ask_password) {
        o->login.password = passwordPrompt("Password: ");
        o->password_in_args = false;
    }
    if (o->password_in_args && !o->no_auth_warning) {
        fputs("Warning: Using a password with '-a' or '-u' shows it to all who list this machine's processes.\n",
              stderr);
    }
    if (o->last_from_stdin && o->stdin_tag) {
        fprintf(stderr, "There is one stdin: either -x or -X takes it.\n");
        exit(1);
    }
}

void cliOptionsParse(cliOptions *o, int argc, char **argv) {
    const char *pass = getenv("VALKEYCLI_AUTH");
    *o = (cliOptions){.target = {.host = "127.0.0.1", .port = 6379},
                      .login.password = pass ? pass : getenv("REDISCLI_AUTH"),
                      .repeat = 1,
                      .interval_s = 0,
                      .line_delimiter = "\n",
                      .reply_delimiter = "\n",
                      .pipe_timeout_s = 30,
                      .memory_samples = -1,
                      .hotkeys = 16,
                      .keystats_top = 10,
                      .hints = true,
                      .show_pushes = isatty(STDOUT_FILENO)};
    int i = 1;
    for (; i < argc && argv[i][0] == '-'; i++) {
        const cliOption *option = findOption(argv[i]);
        if (option->kind == VALUE_TRUE || option->kind == VALUE_CONST) {
            takeOption(o, option, NULL);
        } else if (i + 1 < argc) {
            takeOption(o, option, argv[++i]);
        } else if (strcmp(option->word, "-h") == 0) {
            o->mode = MODE_HELP; /* "-h" alone means help in most programs */
        } else {
            fprintf(stderr, "Option '%s' needs a value.\n", option->word);
            exit(1);
        }
    }
    o->command = argv + i;
    o->command_count = argc - i;
    cliOptionsFinish(o);
}

void cliUsage(void) {
    printf("valkey-cli %s\n\n", VALKEY_VERSION);
    fputs("Usage: valkey-cli [options]                   a prompt; \"help\" there says more\n"
          "       valkey-cli [options] COMMAND [ARG...]  run one command, print its reply\n"
          "       valkey-cli [options] < FILE            run the commands in FILE, one a line\n"
          "\n"
          "Where the server is\n"
          "  -h HOST            its name or address (127.0.0.1)\n"
          "  -p PORT            its port (6379)\n"
          "  -s PATH            its Unix socket, instead of host and port\n"
          "  -u URI             all at once: valkey://USER:PASSWORD@HOST:PORT/DB\n"
          "  -4, -6             only IPv4, only IPv6 addresses of the host\n"
          "  -t SECONDS         give up connecting after that time (0: as the system does)\n"
          "  --mptcp            connect by Multipath TCP\n"
          "  -c                 follow -MOVED and -ASK to other servers of a cluster\n" TOOL_TLS_USAGE "\n"
          "Who you are\n"
          "  -a PASSWORD        log in; other users of this machine can see it in the list\n"
          "  --pass PASSWORD    of processes, which the variable VALKEYCLI_AUTH avoids\n"
          "  --askpass          log in with a password that is typed, seen as asterisks\n"
          "  --user NAME        log in as this user, not as \"default\"\n"
          "  --no-auth-warning  say nothing about -a being seen\n"
          "\n"
          "The session\n"
          "  -n DB              number of the database (0)\n"
          "  -2, -3             speak RESP2, RESP3\n"
          "  --name NAME        what the server calls this connection (CLIENT SETNAME)\n"
          "  --show-pushes yes|no  print what a RESP3 server sends unasked; yes at a\n"
          "                     terminal\n"
          "\n"
          "The command\n"
          "  -r N               run it N times, -1 for ever\n"
          "  -i SECONDS         time between runs, fractions allowed; also between lines\n"
          "                     of --stat and --latency-history and the rows of\n"
          "                     --latency-dist, and a pause per 100 steps of a key survey\n"
          "  -x                 its last argument is what stdin holds\n"
          "  -X TAG             the argument TAG stands for what stdin holds\n"
          "  --quoted-input     arguments in quotes may hold \\n, \\xHH and the like\n"
          "  -e                 exit code 1 when the reply is an error; of lines, when any is\n"
          "  --eval FILE [KEY...] , [ARG...]  EVAL the script in FILE; keys stand before\n"
          "                     the comma, arguments behind\n"
          "  --ldb              with --eval: run the script line by line; what it changes\n"
          "                     is taken back\n"
          "  --ldb-sync-mode    the same, but the server waits for you, and changes stay\n"
          "\n"
          "How replies look\n",
          stdout);
    fputs("  --no-raw           with types and quotes: the way of a terminal\n"
          "  --raw              bare values: the way of files and pipes\n"
          "  --csv, --json, --quoted-json  for other programs; --json is in RESP3 unless -2\n"
          "  -d TEXT            between values of a raw reply (\\n)\n"
          "  -D TEXT            after each raw reply (\\n)\n"
          "\n"
          "Watching a server\n"
          "  --stat             a line of its figures each second\n"
          "  --latency          how long PING takes, until Ctrl-C; into a file for 1 second\n"
          "  --latency-history  the same in a new line every 15 seconds\n"
          "  --latency-dist     the same as a table of shares, a row per second\n"
          "  --intrinsic-latency SECONDS  how long this machine keeps a busy program\n"
          "                     waiting; run it where the server runs\n"
          "  --lru-test KEYS    play a cache of so many keys, most reads going to few of\n"
          "                     them, and tell how many it still had; fills the database\n"
          "\n"
          "Walking over keys\n"
          "  --scan             print their names\n"
          "  --bigkeys          the one with most elements of each type, and averages\n"
          "  --memkeys          the same by memory\n"
          "  --memkeys-samples N  the same, N elements of a key looked at (0: all)\n"
          "  --keystats         both, the heaviest keys, and how sizes are spread\n"
          "  --keystats-samples N  the same, N elements of a key looked at (0: all)\n"
          "  --top N            how many of the heaviest it shows (10)\n"
          "  --cursor N         where it begins: what it said when it was ended early\n"
          "  --hotkeys          the 16 most used. A server that has HOTKEYS counts for -i\n"
          "                     seconds (10) what takes its time and network; of others, and\n"
          "                     with --pattern or --count, keys are asked for their counters,\n"
          "                     which needs an LFU maxmemory-policy\n"
          "  --hotkeys-count N  the same, N of them\n"
          "  --pattern GLOB     only keys like this (*)\n"
          "  --quoted-pattern GLOB  the same, in quotes as with --quoted-input\n"
          "  --count N          how many SCAN looks at in a step (10)\n"
          "\n"
          "Acting as a replica\n"
          "  --rdb FILE         save the server's dataset as an RDB file, for a backup; FILE\n"
          "                     is replaced when all of it has come, - is stdout\n"
          "  --functions-rdb FILE  the same, but only the libraries of functions\n"
          "  --replica          print the commands that the server sends its replicas, a\n"
          "                     line of CSV each, until Ctrl-C\n"
          "\n"
          "Loading data\n"
          "  --pipe             send commands in the protocol's form from stdin, as fast as\n"
          "                     the server takes them, and count errors\n"
          "  --pipe-timeout N   how many seconds to wait for the last reply (30, 0: no end)\n"
          "\n"
          "This program\n"
          "  --verbose          accepted, for scripts; changes nothing\n"
          "  --help, -h         this text\n"
          "  --version, -v      its version\n"
          "\n"
          "For example\n"
          "  valkey-cli set greeting 'hello world'\n"
          "  valkey-cli -u valkey://app:secret@db.example:6380/2 dbsize\n"
          "  valkey-cli -x set report < report.pdf\n"
          "  valkey-cli -r 60 -i 1 llen jobs\n"
          "  valkey-cli --quoted-input get '\"key\\x00with\\x00zeros\"'\n"
          "  valkey-cli --scan --pattern 'user:*' | head\n"
          "  valkey-cli --eval rename-if.lua old new , 10\n",
          stdout);
}
