/* cli_options.c -- what the command line says, and the preferences that may change later.
 *
 * The first word that is no option starts the command: its own words may start with a dash.
 *
 * Tests       tests/tools/cli.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cli_options.h"
#include "numbers.h"
#include "password_prompt.h"
#include "request_reader.h"
#include "server_uri.h"
#include "suggest.h"
#include "version.h"
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* Options of the field's program that need what this one has not got. */
static const struct {
    const char *word, *why;
} absent[] = {
    {"--cluster", "there is no cluster manager; -c follows the redirections of a cluster"},
};

typedef enum {
    OPT_HOST,
    OPT_PORT,
    OPT_TIMEOUT,
    OPT_SOCKET,
    OPT_PASSWORD,
    OPT_USER,
    OPT_URI,
    OPT_DB,
    OPT_REPEAT,
    OPT_INTERVAL,
    OPT_LINE_DELIMITER,
    OPT_REPLY_DELIMITER,
    OPT_STDIN_TAG,
    OPT_SHOW_PUSHES,
    OPT_PATTERN,
    OPT_QUOTED_PATTERN,
    OPT_COUNT,
    OPT_PIPE_TIMEOUT,
    OPT_MEMKEYS_SAMPLES,
    OPT_KEYSTATS_SAMPLES,
    OPT_TOP,
    OPT_CURSOR,
    OPT_HOTKEYS_COUNT,
    OPT_INTRINSIC,
    OPT_EVAL,
    OPT_LRU_TEST,
    OPT_RDB,
    OPT_FUNCTIONS_RDB
} optionId;

/* Options that take a value. */
static const struct {
    const char *word;
    optionId id;
} valued[] = {
    {"-h", OPT_HOST},
    {"-p", OPT_PORT},
    {"-t", OPT_TIMEOUT},
    {"-s", OPT_SOCKET},
    {"-a", OPT_PASSWORD},
    {"--pass", OPT_PASSWORD},
    {"--user", OPT_USER},
    {"-u", OPT_URI},
    {"-n", OPT_DB},
    {"-r", OPT_REPEAT},
    {"-i", OPT_INTERVAL},
    {"-d", OPT_LINE_DELIMITER},
    {"-D", OPT_REPLY_DELIMITER},
    {"-X", OPT_STDIN_TAG},
    {"--show-pushes", OPT_SHOW_PUSHES},
    {"--pattern", OPT_PATTERN},
    {"--quoted-pattern", OPT_QUOTED_PATTERN},
    {"--count", OPT_COUNT},
    {"--pipe-timeout", OPT_PIPE_TIMEOUT},
    {"--memkeys-samples", OPT_MEMKEYS_SAMPLES},
    {"--keystats-samples", OPT_KEYSTATS_SAMPLES},
    {"--top", OPT_TOP},
    {"--cursor", OPT_CURSOR},
    {"--hotkeys-count", OPT_HOTKEYS_COUNT},
    {"--intrinsic-latency", OPT_INTRINSIC},
    {"--eval", OPT_EVAL},
    {"--lru-test", OPT_LRU_TEST},
    {"--rdb", OPT_RDB},
    {"--functions-rdb", OPT_FUNCTIONS_RDB},
};

/* Options whose value is kept as it is. */
static const struct {
    const char *word;
    size_t offset;
} texts[] = {
    {"--name", offsetof(cliOptions, client_name)},
    {"--sni", offsetof(cliOptions, tls.sni)},
    {"--cacert", offsetof(cliOptions, tls.ca_file)},
    {"--cacertdir", offsetof(cliOptions, tls.ca_dir)},
    {"--cert", offsetof(cliOptions, tls.cert_file)},
    {"--key", offsetof(cliOptions, tls.key_file)},
    {"--tls-ciphers", offsetof(cliOptions, tls.ciphers)},
    {"--tls-ciphersuites", offsetof(cliOptions, tls.ciphersuites)},
};

/* Options that set one field to true. */
static const struct {
    const char *word;
    size_t offset;
} flags[] = {
    {"-x", offsetof(cliOptions, last_from_stdin)},
    {"-c", offsetof(cliOptions, cluster)},
    {"-e", offsetof(cliOptions, exit_on_error)},
    {"--mptcp", offsetof(cliOptions, multipath)},
    {"--askpass", offsetof(cliOptions, ask_password)},
    {"--quoted-input", offsetof(cliOptions, quoted_input)},
    {"--tls", offsetof(cliOptions, tls.on)},
    {"--insecure", offsetof(cliOptions, tls.insecure)},
    {"--verbose", offsetof(cliOptions, verbose)},
    {"--no-auth-warning", offsetof(cliOptions, no_auth_warning)},
    {"--ldb", offsetof(cliOptions, debug)},
    {"--ldb-sync-mode", offsetof(cliOptions, debug_sync)},
};

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
    {"--keystats", MODE_KEYSTATS},
    {"--hotkeys", MODE_HOTKEYS},
    {"--pipe", MODE_PIPE},
    {"--replica", MODE_REPLICA},
    {"--slave", MODE_REPLICA},
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

/* Say what is wrong with an option that is not in the tables, and what may have been meant. */
noreturn_fn static void quitUnknown(const char *word) {
    suggestion s = {.word = word};
    for (size_t i = 0; i < array_len(absent); i++) {
        if (strcmp(word, absent[i].word) != 0) continue;
        fprintf(stderr, "Option '%s' does not work here: %s.\n", word, absent[i].why);
        exit(1);
    }
    for (size_t i = 0; i < array_len(modes); i++) suggestConsider(&s, modes[i].word);
    for (size_t i = 0; i < array_len(valued); i++) suggestConsider(&s, valued[i].word);
    for (size_t i = 0; i < array_len(flags); i++) suggestConsider(&s, flags[i].word);
    for (size_t i = 0; i < array_len(styles); i++) suggestConsider(&s, styles[i].word);
    fprintf(stderr, "Unknown option '%s'.", word);
    if (s.best) fprintf(stderr, " Did you mean %s?", s.best);
    fprintf(stderr, "\n'valkey-cli --help' shows all options.\n");
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
    if (uri.has_db) o->db = uri.db;
    if (uri.tls) o->tls.on = true;
}

static bool parseYesNo(const char *text) {
    if (text[0] == 'y' || text[0] == 'Y') return true;
    if (text[0] == 'n' || text[0] == 'N') return false;
    fprintf(stderr, "Invalid value '%s' of option --show-pushes: yes or no expected\n", text);
    return false;
}

/* A quoted pattern may hold any byte but is passed on as a C string. */
static const char *unquotePattern(const char *text) {
    static sds *words; /* the pattern lasts as long as the program */
    int count;
    words = requestSplitLine(text, &count);
    if (!words || count != 1) {
        fprintf(stderr, "Invalid value of option --quoted-pattern: one string in quotes expected\n");
        exit(1);
    }
    return words[0];
}

static bool takeFlag(cliOptions *o, const char *word) {
    for (size_t i = 0; i < array_len(modes); i++) {
        if (strcmp(word, modes[i].word) == 0) return o->mode = modes[i].mode, true;
    }
    for (size_t i = 0; i < array_len(styles); i++) {
        if (strcmp(word, styles[i].word) == 0) return o->style = styles[i].style, true;
    }
    for (size_t i = 0; i < array_len(flags); i++) {
        if (strcmp(word, flags[i].word) == 0) return *(bool *)((char *)o + flags[i].offset) = true;
    }
    if (strcmp(word, "-2") == 0) o->resp = 2;
    else if (strcmp(word, "-3") == 0) o->resp = 3;
    else if (strcmp(word, "-4") == 0) o->family = AF_INET;
    else if (strcmp(word, "-6") == 0) o->family = AF_INET6;
    else return false;
    return true;
}

static void takeRdbFile(cliOptions *o, const char *file, cliMode mode) {
    if (o->rdb_file && o->mode != mode) {
        fprintf(stderr, "One transfer at a time: either --rdb or --functions-rdb.\n");
        exit(1);
    }
    o->rdb_file = file;
    o->mode = mode;
}

/* Store the value of an option. */
static void takeValue(cliOptions *o, optionId id, const char *word, const char *value) {
    switch (id) {
    case OPT_HOST: o->host = value; break;
    case OPT_PORT: o->port = (int)numberOf(word, value, 0, 65535); break;
    case OPT_TIMEOUT: o->timeout_s = secondsOf(word, value); break;
    case OPT_SOCKET: o->socket = value; break;
    case OPT_PASSWORD:
        o->password = value;
        o->password_in_args = true;
        break;
    case OPT_USER: o->user = value; break;
    case OPT_URI: takeUri(o, value); break;
    case OPT_DB: o->db = (int)numberOf(word, value, 0, INT32_MAX); break;
    case OPT_REPEAT:
        o->repeat = numberOf(word, value, -1, INT64_MAX);
        o->repeat_given = true;
        break;
    case OPT_INTERVAL:
        o->interval_s = secondsOf(word, value);
        o->interval_given = true;
        break;
    case OPT_LINE_DELIMITER: o->line_delimiter = value; break;
    case OPT_REPLY_DELIMITER: o->reply_delimiter = value; break;
    case OPT_STDIN_TAG: o->stdin_tag = value; break;
    case OPT_SHOW_PUSHES: o->show_pushes = parseYesNo(value); break;
    case OPT_PATTERN: o->pattern = value; break;
    case OPT_QUOTED_PATTERN: o->pattern = unquotePattern(value); break;
    case OPT_COUNT: o->scan_count = numberOf(word, value, 1, INT64_MAX); break;
    case OPT_PIPE_TIMEOUT: o->pipe_timeout_s = numberOf(word, value, 0, INT32_MAX / 1000); break;
    case OPT_MEMKEYS_SAMPLES:
        o->memory_samples = numberOf(word, value, 0, INT64_MAX);
        o->mode = MODE_MEMKEYS;
        break;
    case OPT_KEYSTATS_SAMPLES:
        o->memory_samples = numberOf(word, value, 0, INT64_MAX);
        o->mode = MODE_KEYSTATS;
        break;
    case OPT_TOP: o->keystats_top = numberOf(word, value, 1, 1000000); break;
    case OPT_CURSOR: o->cursor = value; break;
    case OPT_HOTKEYS_COUNT:
        o->hotkeys = numberOf(word, value, 1, 1000000);
        o->mode = MODE_HOTKEYS;
        break;
    case OPT_INTRINSIC:
        o->intrinsic_s = numberOf(word, value, 1, INT32_MAX);
        o->mode = MODE_INTRINSIC;
        break;
    case OPT_EVAL:
        o->eval_file = value;
        o->mode = MODE_EVAL;
        break;
    case OPT_LRU_TEST:
        o->lru_keys = numberOf(word, value, 1, INT64_MAX / 2);
        o->mode = MODE_LRU_TEST;
        break;
    case OPT_RDB: takeRdbFile(o, value, MODE_RDB); break;
    case OPT_FUNCTIONS_RDB: takeRdbFile(o, value, MODE_FUNCTIONS_RDB); break;
    }
}

noreturn_fn static void quitWithoutValue(const char *word) {
    fprintf(stderr, "Option '%s' needs a value.\n", word);
    exit(1);
}

/* `value` is NULL behind the last word. */
static void takeOption(cliOptions *o, const char *word, const char *value) {
    for (size_t i = 0; i < array_len(texts); i++) {
        if (strcmp(word, texts[i].word) != 0) continue;
        if (!value) quitWithoutValue(word);
        *(const char **)((char *)o + texts[i].offset) = value;
        return;
    }
    for (size_t i = 0; i < array_len(valued); i++) {
        if (strcmp(word, valued[i].word) != 0) continue;
        if (!value && valued[i].id == OPT_HOST) o->mode = MODE_HELP; /* "-h" alone: what most programs take it for */
        else if (value) takeValue(o, valued[i].id, word, value);
        else quitWithoutValue(word);
        return;
    }
    quitUnknown(word);
}

static void finish(cliOptions *o) {
    o->debug |= o->debug_sync;
    if (o->debug && o->mode != MODE_EVAL) {
        fprintf(stderr, "The debugger needs a script: --eval FILE\n");
        exit(1);
    }
    bool tty = isatty(STDOUT_FILENO) || getenv("FAKETTY") != NULL;
    if (o->style == STYLE_AUTO) o->style = tty ? STYLE_PRETTY : STYLE_RAW;
    /* Maps keep their shape in the newer protocol only. */
    if (o->resp == 0 && (o->style == STYLE_JSON || o->style == STYLE_QUOTED_JSON)) o->resp = 3;
    if (o->ask_password) {
        o->password = passwordPrompt("Password: ");
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
    *o = (cliOptions){.host = "127.0.0.1",
                      .port = 6379,
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
    o->password = pass ? pass : getenv("REDISCLI_AUTH");
    int i = 1;
    for (; i < argc && argv[i][0] == '-'; i++) {
        if (takeFlag(o, argv[i])) continue;
        takeOption(o, argv[i], i + 1 < argc ? argv[i + 1] : NULL);
        i++;
    }
    if (i > argc) i = argc;
    o->command = argv + i;
    o->command_count = argc - i;
    finish(o);
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
