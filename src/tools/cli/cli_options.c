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
#include "zmalloc.h"
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

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
    VALUE_FILE,   /* of a transfer; only one is allowed */
    VALUE_WEIGHTS /* all words that follow and have the form ID=WEIGHT */
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
    VALUED("--backup", backup_dir, VALUE_TEXT, .mode = MODE_BACKUP),
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
    VALUED("--cluster", manager.command, VALUE_TEXT, .mode = MODE_CLUSTER),
    VALUED("--cluster-replicas", manager.replicas, VALUE_LONG, RANGE(0, 1000)),
    VALUED("--cluster-from", manager.from, VALUE_TEXT),
    VALUED("--cluster-to", manager.to, VALUE_TEXT),
    VALUED("--cluster-slots", manager.slots, VALUE_LONG, RANGE(0, INT32_MAX)),
    VALUED("--cluster-timeout", manager.timeout_ms, VALUE_LONG, RANGE(1, INT32_MAX)),
    VALUED("--cluster-pipeline", manager.pipeline, VALUE_LONG, RANGE(1, 1000000)),
    VALUED("--cluster-threshold", manager.threshold, VALUE_SECONDS),
    VALUED("--cluster-primary-id", manager.primary_id, VALUE_TEXT),
    VALUED("--cluster-master-id", manager.primary_id, VALUE_TEXT, .unsuggested = true),
    VALUED("--cluster-from-user", manager.from_user, VALUE_TEXT),
    VALUED("--cluster-from-pass", manager.from_password, VALUE_TEXT),
    {.word = "--cluster-weight", .kind = VALUE_WEIGHTS},
    FLAG("--cluster-yes", manager.yes),
    FLAG("--cluster-search-multiple-owners", manager.search_owners),
    FLAG("--cluster-fix-with-unreachable-primaries", manager.fix_unreachable),
    FLAG("--cluster-replace", manager.replace),
    FLAG("--cluster-copy", manager.copy),
    FLAG("--cluster-use-empty-primaries", manager.use_empty),
    FLAG("--cluster-simulate", manager.simulate),
    FLAG("--cluster-replica", manager.as_replica),
    FLAG("--cluster-only-primaries", manager.only_primaries),
    FLAG("--cluster-only-replicas", manager.only_replicas),
    FLAG("--cluster-use-atomic-slot-migration", manager.atomic),
    FLAG("--cluster-from-askpass", manager.ask_from_password),
    {.word = "--cluster-fix-with-unreachable-masters", FIELD(manager.fix_unreachable), .unsuggested = true},
    {.word = "--cluster-use-empty-masters", FIELD(manager.use_empty), .unsuggested = true},
    {.word = "--cluster-slave", FIELD(manager.as_replica), .unsuggested = true},
    {.word = "--cluster-only-masters", FIELD(manager.only_primaries), .unsuggested = true},
    {.word = "--cluster-only-slaves", FIELD(manager.only_replicas), .unsuggested = true},
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
    toolQuitUnknown("valkey-cli", "option", &s);
}

static double secondsOf(const char *option, const char *text) {
    double s;
    if (!string2d(text, strlen(text), &s) || s < 0 || s > 1e9) {
        fprintf(stderr, "Invalid value '%s' for option '%s': expected a number of seconds\n", text, option);
        exit(1);
    }
    return s;
}

static bool parseYesNo(const char *text) {
    if (text[0] == 'y' || text[0] == 'Y') return true;
    if (text[0] == 'n' || text[0] == 'N') return false;
    fprintf(stderr, "Invalid value '%s' for option '--show-pushes': expected yes or no\n", text);
    return false;
}

/* Resolves the quotes and escapes of a pattern, which is passed on as a C string. */
static const char *unquotePattern(const char *text) {
    static sds *words; /* never freed: the pattern is used until the program ends */
    int count;
    words = sdsSplitInline(text, &count);
    if (!words || count != 1) {
        fprintf(stderr, "Invalid value for option '--quoted-pattern': expected one quoted string\n");
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
            fprintf(stderr, "Options '--rdb' and '--functions-rdb' cannot be used together.\n");
            exit(1);
        }
        *(const char **)field = value;
        break;
    case VALUE_WEIGHTS: break; /* taken by takeWeights() */
    }
    if (option->given) *(bool *)((char *)o + option->given) = true;
    if (option->mode != MODE_COMMAND) o->mode = option->mode;
}

static void cliOptionsFinish(cliOptions *o) {
    o->debug |= o->debug_sync;
    if (o->debug && o->mode != MODE_EVAL) {
        fprintf(stderr, "Option '--ldb' requires a script: use --eval FILE.\n");
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
        fprintf(stderr, "Options '-x' and '-X' cannot be used together: both read stdin.\n");
        exit(1);
    }
}

/* Returns true if an argument belongs to the subcommand of --cluster, wherever it stands. Negative numbers are
 * arguments of `call`. */
static bool isManagerWord(const cliOptions *o, const char *arg) {
    if (o->mode != MODE_CLUSTER) return false;
    return arg[0] != '-' || (isDigit(arg[1]) && strcasecmp(o->manager.command, "call") == 0);
}

/* Takes the weights that follow argument `i`, and returns the index of the last one. */
static int takeWeights(cliOptions *o, int i, int argc, char **argv) {
    while (i + 1 < argc && argv[i + 1][0] != '-' && strchr(argv[i + 1], '='))
        o->manager.weights[o->manager.weight_count++] = argv[++i];
    return i;
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
                      .manager = {.timeout_ms = 60000, .pipeline = 10, .threshold = 2},
                      .hints = true,
                      .show_pushes = isatty(STDOUT_FILENO)};
    o->manager.words = zcalloc((size_t)argc + 1, sizeof(char *));
    o->manager.weights = zcalloc((size_t)argc + 1, sizeof(char *));
    int i = 1;
    for (; i < argc && (argv[i][0] == '-' || isManagerWord(o, argv[i])); i++) {
        if (isManagerWord(o, argv[i])) {
            o->manager.words[o->manager.word_count++] = argv[i];
            continue;
        }
        const cliOption *option = findOption(argv[i]);
        if (option->kind == VALUE_TRUE || option->kind == VALUE_CONST) {
            takeOption(o, option, NULL);
        } else if (option->kind == VALUE_WEIGHTS) {
            i = takeWeights(o, i, argc, argv);
        } else if (i + 1 < argc) {
            takeOption(o, option, argv[++i]);
        } else if (strcmp(option->word, "-h") == 0) {
            o->mode = MODE_HELP; /* "-h" alone means help in most programs */
        } else {
            fprintf(stderr, "Option '%s' requires a value.\n", option->word);
            exit(1);
        }
    }
    o->command = argv + i;
    o->command_count = argc - i;
    cliOptionsFinish(o);
}

void cliUsage(void) {
    printf("valkey-cli %s\n\n", VALKEY_VERSION);
    fputs("Usage: valkey-cli [options]                   start an interactive prompt\n"
          "       valkey-cli [options] COMMAND [ARG...]  run one command, print its reply\n"
          "       valkey-cli [options] < FILE            run the commands of a file\n"
          "\n"
          "Connection\n"
          "  -h HOST            server host name or address (127.0.0.1)\n"
          "  -p PORT            server port (6379)\n"
          "  -s PATH            Unix socket of the server; overrides host and port\n"
          "  -u URI             server URI: valkey://USER:PASSWORD@HOST:PORT/DB\n"
          "  -4, -6             use only IPv4 or only IPv6 addresses\n"
          "  -t SECONDS         connection timeout (0: that of the system)\n"
          "  --mptcp            use Multipath TCP\n"
          "  -c                 cluster mode: follow -MOVED and -ASK redirections\n" TOOL_TLS_USAGE "\n"
          "Login\n"
          "  -a PASSWORD, --pass PASSWORD  log in with this password. Other users can see\n"
          "                     it in the list of processes; VALKEYCLI_AUTH avoids that\n"
          "  --askpass          ask for the password, shown as asterisks\n"
          "  --user NAME        user name (default)\n"
          "  --no-auth-warning  do not print the warning about -a\n"
          "\n"
          "Session\n"
          "  -n DB              database number (0)\n"
          "  -2, -3             use RESP2 or RESP3\n"
          "  --name NAME        set the name of the connection (CLIENT SETNAME)\n"
          "  --show-pushes yes|no  print push messages of RESP3 (yes at a terminal)\n"
          "\n"
          "Commands\n"
          "  -r N               repeat the command N times; -1: forever\n"
          "  -i SECONDS         interval between repetitions, which may be a fraction; also\n"
          "                     between lines of --stat, --latency-history and\n"
          "                     --latency-dist, and a pause per 100 SCAN commands\n"
          "  -x                 read the last argument from stdin\n"
          "  -X TAG             read the argument TAG from stdin\n"
          "  --quoted-input     arguments are quoted strings with escapes such as \\xHH\n"
          "  -e                 exit with code 1 if a reply is an error\n"
          "  --eval FILE [KEY...] , [ARG...]  run the Lua script in FILE; keys are before\n"
          "                     the comma, arguments after it\n"
          "  --ldb              with --eval: debug the script; dataset changes are rolled\n"
          "                     back\n"
          "  --ldb-sync-mode    like --ldb, but the server waits, and changes are kept\n"
          "\n",
          stdout);
    fputs("Output\n"
          "  --no-raw           formatted replies, with types and quotes (at a terminal)\n"
          "  --raw              raw replies (to a file or a pipe)\n"
          "  --csv, --json, --quoted-json  output formats; JSON uses RESP3 unless -2\n"
          "  -d TEXT            delimiter of the values of a raw reply (\\n)\n"
          "  -D TEXT            delimiter after each raw reply (\\n)\n"
          "\n"
          "Monitoring\n"
          "  --stat             print server statistics every second\n"
          "  --latency          measure the latency of PING until Ctrl-C; for 1 second if\n"
          "                     stdout is not a terminal\n"
          "  --latency-history  like --latency, with a new line every 15 seconds\n"
          "  --latency-dist     like --latency, as a table of shares, a row per second\n"
          "  --intrinsic-latency SECONDS  measure how long the system keeps a program\n"
          "                     waiting; run it on the machine of the server\n"
          "  --lru-test KEYS    simulate a cache with a skewed access pattern and print the\n"
          "                     hit rate; writes to the database\n"
          "\n"
          "Keyspace\n"
          "  --scan             print the names of all keys\n"
          "  --bigkeys          print the key with most elements of each type, and averages\n"
          "  --memkeys          the same by memory\n"
          "  --memkeys-samples N  like --memkeys; sample N elements of each key (0: all)\n"
          "  --keystats         both, with the largest keys and the distribution of sizes\n"
          "  --keystats-samples N  like --keystats; sample N elements of each key (0: all)\n"
          "  --top N            number of largest keys that --keystats prints (10)\n"
          "  --cursor N         continue --keystats at the cursor that it has printed\n"
          "  --hotkeys          print the 16 most used keys. A server with the command\n"
          "                     HOTKEYS counts for -i seconds (10). With other servers,\n"
          "                     --pattern or --count, the LFU counters of keys are read,\n"
          "                     which requires an LFU maxmemory-policy\n"
          "  --hotkeys-count N  like --hotkeys, with N keys\n"
          "  --pattern GLOB     visit only keys that match (*)\n"
          "  --quoted-pattern GLOB  the same, as a quoted string\n"
          "  --count N          COUNT of each SCAN command (10)\n"
          "\n"
          "Replication\n"
          "  --rdb FILE         save the dataset as an RDB file; FILE is replaced once the\n"
          "                     transfer is complete; - is stdout\n"
          "  --functions-rdb FILE  like --rdb, with the libraries of functions only\n"
          "  --replica          print the commands of the replication stream as CSV\n"
          "\n"
          "Backup\n"
          "  --backup DIR       on the server's machine: copy its append-only file to a\n"
          "                     folder in DIR, from which a server starts, and check it\n"
          "\n"
          "Clusters\n"
          "  --cluster COMMAND  create, check, repair or change a cluster;\n"
          "                     'valkey-cli --cluster help' has the commands\n"
          "\n"
          "Bulk loading\n"
          "  --pipe             send raw commands from stdin and count the errors\n"
          "  --pipe-timeout N   seconds to wait for the last reply (30; 0: forever)\n"
          "\n"
          "Other\n"
          "  --verbose          no effect; accepted for compatibility\n"
          "  --help, -h         print this help\n"
          "  --version, -v      print the version\n"
          "\n"
          "Examples\n"
          "  valkey-cli set greeting 'hello world'\n"
          "  valkey-cli -u valkey://app:secret@db.example:6380/2 dbsize\n"
          "  valkey-cli -x set report < report.pdf\n"
          "  valkey-cli -r 60 -i 1 llen jobs\n"
          "  valkey-cli --quoted-input get '\"key\\x00with\\x00zeros\"'\n"
          "  valkey-cli --scan --pattern 'user:*' | head\n"
          "  valkey-cli --eval rename-if.lua old new , 10\n",
          stdout);
}
