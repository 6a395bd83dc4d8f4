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
#include "request_reader.h"
#include "server_uri.h"
#include "suggest.h"
#include "version.h"
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* Options of Valkey's valkey-cli that are not supported here, and why. */
static const struct {
    const char *word, *why;
} absent[] = {
    {"--cluster", "there is no cluster manager; -c follows the redirections of a cluster"},
};

typedef enum {
    VALUE_TEXT, /* stored unchanged */
    VALUE_INT,
    VALUE_LONG,
    VALUE_SECONDS,
    VALUE_YES_NO,
    VALUE_QUOTED, /* a pattern in quotes */
    VALUE_URI,
    VALUE_FILE /* of a transfer; only one is allowed */
} valueKind;

typedef struct valuedOption {
    const char *word;
    size_t offset; /* of the member that is set */
    valueKind kind;
    long long min, max; /* INT, LONG */
    size_t given;       /* offset of a bool that is also set to true; 0 if none */
    cliMode mode;       /* set if it is not MODE_COMMAND */
} valuedOption;

#define FIELD(name) offsetof(cliOptions, name)
#define VALUED(word_, field, ... /* kind */) \
    { .word = word_, .offset = FIELD(field), .kind = __VA_ARGS__ }
#define RANGE(min_, max_) .min = min_, .max = max_

/* Options that take a value. */
static const valuedOption valued[] = {
    VALUED("-h", host, VALUE_TEXT),
    VALUED("-p", port, VALUE_INT, RANGE(0, 65535)),
    VALUED("-t", timeout_s, VALUE_SECONDS),
    VALUED("-s", socket, VALUE_TEXT),
    VALUED("-a", password, VALUE_TEXT, .given = FIELD(password_in_args)),
    VALUED("--pass", password, VALUE_TEXT, .given = FIELD(password_in_args)),
    VALUED("--user", user, VALUE_TEXT),
    {.word = "-u", .kind = VALUE_URI},
    VALUED("-n", db, VALUE_INT, RANGE(0, INT32_MAX)),
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
};

/* More options that take a value, which are not suggested in place of an unknown option. */
static const valuedOption unsuggested[] = {
    VALUED("--name", client_name, VALUE_TEXT),        VALUED("--sni", tls.sni, VALUE_TEXT),
    VALUED("--cacert", tls.ca_file, VALUE_TEXT),      VALUED("--cacertdir", tls.ca_dir, VALUE_TEXT),
    VALUED("--cert", tls.cert_file, VALUE_TEXT),      VALUED("--key", tls.key_file, VALUE_TEXT),
    VALUED("--tls-ciphers", tls.ciphers, VALUE_TEXT), VALUED("--tls-ciphersuites", tls.ciphersuites, VALUE_TEXT),
};

/* Options that set one member to true. */
static const struct {
    const char *word;
    size_t offset;
} flags[] = {
    {"-x", FIELD(last_from_stdin)},
    {"-c", FIELD(cluster)},
    {"-e", FIELD(exit_on_error)},
    {"--mptcp", FIELD(multipath)},
    {"--askpass", FIELD(ask_password)},
    {"--quoted-input", FIELD(quoted_input)},
    {"--tls", FIELD(tls.on)},
    {"--insecure", FIELD(tls.insecure)},
    {"--verbose", FIELD(verbose)},
    {"--no-auth-warning", FIELD(no_auth_warning)},
    {"--ldb", FIELD(debug)},
    {"--ldb-sync-mode", FIELD(debug_sync)},
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

/* Prints why an option is not accepted, with a similar one if there is one, and ends the program. */
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

/* Resolves the quotes and escapes of a pattern, which is passed on as a C string. */
static const char *unquotePattern(const char *text) {
    static sds *words; /* never freed: the pattern is used until the program ends */
    int count;
    words = requestSplitLine(text, &count);
    if (!words || count != 1) {
        fprintf(stderr, "Invalid value of option --quoted-pattern: one string in quotes expected\n");
        exit(1);
    }
    return words[0];
}

static bool takeFlag(cliOptions *o, const char *word) {
    for (size_t i = 0; i < array_len(modes); i++)
        if (strcmp(word, modes[i].word) == 0) return o->mode = modes[i].mode, true;
    for (size_t i = 0; i < array_len(styles); i++)
        if (strcmp(word, styles[i].word) == 0) return o->style = styles[i].style, true;
    for (size_t i = 0; i < array_len(flags); i++)
        if (strcmp(word, flags[i].word) == 0) return *(bool *)((char *)o + flags[i].offset) = true;
    if (strcmp(word, "-2") == 0) o->resp = 2;
    else if (strcmp(word, "-3") == 0) o->resp = 3;
    else if (strcmp(word, "-4") == 0) o->family = AF_INET;
    else if (strcmp(word, "-6") == 0) o->family = AF_INET6;
    else return false;
    return true;
}

/* Stores the value of an option. */
static void cliOptionsTakeValue(cliOptions *o, const valuedOption *option, const char *value) {
    const char *word = option->word;
    void *field = (char *)o + option->offset;
    switch (option->kind) {
    case VALUE_TEXT: *(const char **)field = value; break;
    case VALUE_INT: *(int *)field = (int)numberOf(word, value, option->min, option->max); break;
    case VALUE_LONG: *(long long *)field = numberOf(word, value, option->min, option->max); break;
    case VALUE_SECONDS: *(double *)field = secondsOf(word, value); break;
    case VALUE_YES_NO: *(bool *)field = parseYesNo(value); break;
    case VALUE_QUOTED: *(const char **)field = unquotePattern(value); break;
    case VALUE_URI: takeUri(o, value); break;
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

static const valuedOption *findValued(const char *word) {
    for (size_t i = 0; i < array_len(valued); i++)
        if (strcmp(word, valued[i].word) == 0) return &valued[i];
    for (size_t i = 0; i < array_len(unsuggested); i++)
        if (strcmp(word, unsuggested[i].word) == 0) return &unsuggested[i];
    return NULL;
}

/* Handles an option that takes a value. `value` is the next word, or NULL if there is none. */
static void takeOption(cliOptions *o, const char *word, const char *value) {
    const valuedOption *option = findValued(word);
    if (!option) quitUnknown(word);
    if (value) {
        cliOptionsTakeValue(o, option, value);
    } else if (strcmp(word, "-h") == 0) {
        o->mode = MODE_HELP; /* "-h" alone means help in most programs */
    } else {
        fprintf(stderr, "Option '%s' needs a value.\n", word);
        exit(1);
    }
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
