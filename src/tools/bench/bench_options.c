/* bench_options.c -- the options of valkey-benchmark's command line.
 *
 * Each option is a row of a table. An option without a row ends the program with a message.
 *
 * Tests       tests/tools/benchmark.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "bench_options.h"
#include "clock.h"
#include "sds.h"
#include "standard_tests.h"
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum {
    OPT_FLAG,
    OPT_INT,
    OPT_LONG,
    OPT_ULONG,
    OPT_TEXT,
    OPT_URI,
    OPT_KEEP_ALIVE,
    OPT_FUZZ_MODE,
    OPT_FUZZ_LOG,
    OPT_IGNORED
} optionKind;

typedef struct optionRow {
    const char *name;
    optionKind kind;
    size_t offset; /* of the member of benchOptions */
    long long min, max;
} optionRow;

#define FIELD(name) offsetof(benchOptions, name)

static const optionRow option_rows[] = {
    {"-h", OPT_TEXT, FIELD(target.host), 0, 0},
    {"-p", OPT_INT, FIELD(target.port), 0, 65535},
    {"-s", OPT_TEXT, FIELD(target.unix_path), 0, 0},
    {"-a", OPT_TEXT, FIELD(login.password), 0, 0},
    {"--user", OPT_TEXT, FIELD(login.user), 0, 0},
    {"-u", OPT_URI, 0, 0, 0},
    {"-c", OPT_INT, FIELD(clients), 1, 1000000},
    {"-n", OPT_LONG, FIELD(requests), 1, INT64_MAX / 4},
    {"--duration", OPT_LONG, FIELD(duration_s), 0, 1000000000},
    {"--warmup", OPT_LONG, FIELD(warmup_s), 0, 1000000000},
    {"-d", OPT_INT, FIELD(data_size), 1, 1024 * 1024 * 1024},
    {"--dbnum", OPT_INT, FIELD(login.db), 0, INT32_MAX},
    {"-3", OPT_FLAG, FIELD(resp3), 0, 0},
    {"--threads", OPT_INT, FIELD(threads), 0, 500},
    {"--enable-tracking", OPT_FLAG, FIELD(tracking), 0, 0},
    {"-k", OPT_KEEP_ALIVE, 0, 0, 0},
    {"-r", OPT_ULONG, FIELD(key_range), 0, 1000000000000},
    {"--sequential", OPT_FLAG, FIELD(sequential), 0, 0},
    {"-P", OPT_INT, FIELD(pipeline), 1, 1000000},
    {"-q", OPT_FLAG, FIELD(quiet), 0, 0},
    {"--precision", OPT_INT, FIELD(precision), 0, 4},
    {"--csv", OPT_FLAG, FIELD(csv), 0, 0},
    {"-l", OPT_FLAG, FIELD(loop), 0, 0},
    {"-t", OPT_TEXT, FIELD(tests), 0, 0},
    {"-I", OPT_FLAG, FIELD(idle), 0, 0},
    {"-x", OPT_FLAG, FIELD(read_stdin), 0, 0},
    {"--json", OPT_TEXT, FIELD(json_file), 0, 0},
    {"--plot", OPT_TEXT, FIELD(plot_file), 0, 0},
    {"--mptcp", OPT_FLAG, FIELD(target.multipath), 0, 0},
    {"--rps", OPT_LONG, FIELD(rate), 0, INT64_MAX / 4},
    {"--seed", OPT_ULONG, FIELD(seed), 0, INT64_MAX},
    {"--num-functions", OPT_INT, FIELD(functions), 1, 100000},
    {"--num-keys-in-fcall", OPT_INT, FIELD(fcall_keys), 0, 100000},
    {"--tls", OPT_FLAG, FIELD(tls.on), 0, 0},
    {"--insecure", OPT_FLAG, FIELD(tls.insecure), 0, 0},
    {"--sni", OPT_TEXT, FIELD(target.sni), 0, 0},
    {"--cacert", OPT_TEXT, FIELD(tls.ca_file), 0, 0},
    {"--cacertdir", OPT_TEXT, FIELD(tls.ca_dir), 0, 0},
    {"--cert", OPT_TEXT, FIELD(tls.cert_file), 0, 0},
    {"--key", OPT_TEXT, FIELD(tls.key_file), 0, 0},
    {"--tls-ciphers", OPT_TEXT, FIELD(tls.ciphers), 0, 0},
    {"--tls-ciphersuites", OPT_TEXT, FIELD(tls.ciphersuites), 0, 0},
    {"--fuzz", OPT_FLAG, FIELD(fuzz), 0, 0},
    {"--fuzz-mode", OPT_FUZZ_MODE, 0, 0, 0},
    {"--fuzz-loglevel", OPT_FUZZ_LOG, 0, 0, 0},
    {"-e", OPT_IGNORED, 0, 0, 0},
    {"--help", OPT_FLAG, FIELD(help), 0, 0},
    {"--version", OPT_FLAG, FIELD(version), 0, 0},
    {"-v", OPT_FLAG, FIELD(version), 0, 0},
};

static const optionRow *findOption(const char *name) {
    for (size_t i = 0; i < array_len(option_rows); i++)
        if (strcmp(option_rows[i].name, name) == 0) return &option_rows[i];
    return NULL;
}

/* Options of Valkey's valkey-benchmark that are not supported here, and why. */
static const absentOption absent[] = {
    {"--cluster", "clusters are not supported yet"},
    {"--rfr", "clusters are not supported yet"},
};

/* Pairs of options that exclude each other. */
static const struct {
    const char *one, *other, *why;
} contradictions[] = {
    {"-n", "--duration", "a run ends after a number of requests or after a time"},
    {"-I", "--json", "nothing is measured"},
    {"-I", "--plot", "nothing is measured"},
    {"-I", "-t", "no request is sent"},
    {"-I", "--rps", "no request is sent"},
    {"-I", "-x", "no request is sent"},
    {"-I", "--duration", "it ends with Ctrl-C"},
    {"--fuzz", "-t", "commands are drawn at random"},
    {"--fuzz", "-I", "no request is sent"},
    {"--fuzz", "-x", "commands are drawn at random"},
    {"--fuzz", "-l", "it ends after a number of requests or after a time"},
    {"--fuzz", "--rps", "it sends at no fixed rate"},
    {"--fuzz", "--warmup", "nothing is measured"},
    {"--fuzz", "--csv", "nothing is measured"},
    {"--fuzz", "--json", "nothing is measured"},
    {"--fuzz", "--plot", "nothing is measured"},
    {"--fuzz", "--threads", "it uses one thread"},
    {"-s", "--mptcp", "a Unix socket has no network paths"},
};

/* Options that have no effect without another. They print a warning only, as scripts may always pass them. */
static const struct {
    const char *name, *needs, *result;
} dependents[] = {
    {"--sequential", "-r", "all requests use one key"},
    {"--fuzz-mode", "--fuzz", "commands are not drawn at random"},
    {"--fuzz-loglevel", "--fuzz", "commands are not drawn at random"},
    {"--insecure", "--tls", "nothing is encrypted"},
    {"--sni", "--tls", "nothing is encrypted"},
    {"--cacert", "--tls", "nothing is encrypted"},
    {"--cacertdir", "--tls", "nothing is encrypted"},
    {"--cert", "--tls", "nothing is encrypted"},
    {"--key", "--tls", "nothing is encrypted"},
    {"--tls-ciphers", "--tls", "nothing is encrypted"},
    {"--tls-ciphersuites", "--tls", "nothing is encrypted"},
};

/* The rows of the table that the command line has used. */
typedef struct givenOptions {
    bool row[array_len(option_rows)];
} givenOptions;

static bool isGiven(const givenOptions *given, const char *name) {
    const optionRow *row = findOption(name);
    return row && given->row[row - option_rows];
}

noreturn_fn static void quitUnknown(const char *name) {
    suggestion s = {.word = name};
    for (size_t i = 0; i < array_len(option_rows); i++) suggestConsider(&s, option_rows[i].name);
    toolCheckAbsent(name, absent, array_len(absent));
    toolQuitUnknown("valkey-benchmark", "option", &s);
}

noreturn_fn static void quit(const char *message) {
    fprintf(stderr, "%s\n", message);
    exit(1);
}

noreturn_fn static void quitContradiction(const char *one, const char *other, const char *why) {
    fprintf(stderr, "Options '%s' and '%s' cannot be used together: %s.\n", one, other, why);
    exit(1);
}

static bool isStdout(const char *file) { return file && strcmp(file, "-") == 0; }

bool benchOptionsUseStdout(const benchOptions *o) { return isStdout(o->json_file) || isStdout(o->plot_file); }

/* Ends the program if a document goes to stdout and other output would as well. */
static void checkStdout(const benchOptions *o) {
    const char *document = isStdout(o->json_file) ? "--json -" : "--plot -";
    if (!benchOptionsUseStdout(o)) return;
    if (isStdout(o->json_file) && isStdout(o->plot_file))
        quitContradiction(document, "--plot -", "both write to stdout");
    if (o->csv) quitContradiction(document, "--csv", "both write to stdout");
    if (o->quiet) quitContradiction(document, "-q", "both write to stdout");
    if (o->loop) quitContradiction(document, "-l", "the document is written at the end of the run");
}

/* Checks the names of -t before any test runs, as a missing test would be noticed only after a long run. */
static void checkTests(const char *tests) {
    int count = 0;
    sds *names = tests ? sdsSplitLen(tests, strlen(tests), ",", 1, &count) : NULL;
    for (int i = 0; i < count; i++) {
        suggestion s = {.word = names[i]};
        if (!standardTestIsKnown(names[i], &s)) toolQuitUnknown("valkey-benchmark", "test", &s);
    }
    sdsFreeSplitRes(names, count);
}

/* Ends the program if the options contradict each other. */
static void checkOptions(const benchOptions *o, const givenOptions *given) {
    for (size_t i = 0; i < array_len(contradictions); i++) {
        if (isGiven(given, contradictions[i].one) && isGiven(given, contradictions[i].other))
            quitContradiction(contradictions[i].one, contradictions[i].other, contradictions[i].why);
    }
    if (o->login.user && !o->login.password) quit("Option '--user' requires a password: use -a, or -u with both.");
    if (o->read_stdin && o->command_count == 0)
        quit("Option '-x' requires a command, whose last argument is read from stdin.");
    if (o->idle && o->command_count) quit("Option '-I' cannot be used with a command: no request is sent.");
    if (o->fuzz && o->command_count)
        quit("Option '--fuzz' cannot be used with a command: commands are drawn at random.");
    checkStdout(o);
    checkTests(o->tests);
    for (size_t i = 0; i < array_len(dependents); i++) {
        if (!isGiven(given, dependents[i].name) || isGiven(given, dependents[i].needs)) continue;
        if (o->tls.on && strcmp(dependents[i].needs, "--tls") == 0) continue; /* TLS is on by the URI */
        fprintf(stderr, "WARNING: option '%s' has no effect without '%s': %s\n", dependents[i].name,
                dependents[i].needs, dependents[i].result);
    }
}

noreturn_fn static void quitBadValue(const char *option, const char *text, const char *expected) {
    fprintf(stderr, "Invalid value '%s' for option '%s': expected %s\n", text, option, expected);
    exit(1);
}

/* Parses mode names separated by commas. */
static void takeFuzzModes(benchOptions *o, const char *text) {
    int count;
    sds *modes = sdsSplitLen(text, strlen(text), ",", 1, &count);
    bool known = count > 0;
    for (int i = 0; i < count; i++) {
        if (strcmp(modes[i], "malformed-commands") == 0) o->fuzz_malformed = true;
        else if (strcmp(modes[i], "config-commands") == 0) o->fuzz_config = true;
        else known = false;
    }
    sdsFreeSplitRes(modes, count);
    if (!known) quitBadValue("--fuzz-mode", text, "malformed-commands, config-commands or both");
}

static void takeFuzzLog(benchOptions *o, const char *text) {
    static const char *const levels[] = {"none", "error", "info", "debug"};
    size_t level = 0;
    while (level < array_len(levels) && strcmp(text, levels[level]) != 0) level++;
    if (level == array_len(levels)) quitBadValue("--fuzz-loglevel", text, "none, error, info or debug");
    o->fuzz_log = (fuzzLog)level;
}

/* Stores `text` in the member of the row; it is NULL for options that take no value. */
static void takeOption(benchOptions *o, const optionRow *row, const char *text) {
    void *field = (char *)o + row->offset;
    switch (row->kind) {
    case OPT_FLAG: *(bool *)field = true; break;
    case OPT_TEXT: *(const char **)field = text; break;
    case OPT_URI: toolTakeUri(text, &o->target, &o->login, &o->tls); break;
    case OPT_IGNORED:
        fprintf(stderr, "WARNING: option '-e' has no effect: an error reply always ends the run\n");
        break;
    case OPT_FUZZ_MODE: takeFuzzModes(o, text); break;
    case OPT_FUZZ_LOG: takeFuzzLog(o, text); break;
    case OPT_KEEP_ALIVE:
        if (strcmp(text, "0") != 0 && strcmp(text, "1") != 0) quitBadValue(row->name, text, "0 or 1");
        o->keep_alive = text[0] == '1';
        break;
    case OPT_INT: *(int *)field = (int)toolNumber(row->name, text, row->min, row->max); break;
    case OPT_LONG: *(long long *)field = toolNumber(row->name, text, row->min, row->max); break;
    case OPT_ULONG: *(uint64_t *)field = (uint64_t)toolNumber(row->name, text, row->min, row->max); break;
    }
}

void benchOptionsParse(benchOptions *o, int argc, char **argv) {
    *o = (benchOptions){.target = {.host = "127.0.0.1", .port = 6379},
                        .clients = 50,
                        .threads = 0,
                        .data_size = 3,
                        .pipeline = 1,
                        .precision = 3,
                        .functions = 10,
                        .fcall_keys = 1,
                        .keep_alive = true,
                        .fuzz_log = FUZZ_LOG_INFO,
                        .seed = (uint64_t)clockWallUs()};
    givenOptions given = {{false}};
    int i = 1;
    for (; i < argc && argv[i][0] == '-'; i++) {
        if (strcmp(argv[i], "--") == 0) {
            i++;
            break;
        }
        const optionRow *row = findOption(argv[i]);
        if (!row) quitUnknown(argv[i]);
        given.row[row - option_rows] = true;
        bool bare = row->kind == OPT_FLAG || row->kind == OPT_IGNORED;
        if (!bare && i + 1 == argc) {
            fprintf(stderr, "Option '%s' requires a value.\n'valkey-benchmark --help' shows all options.\n", argv[i]);
            exit(1);
        }
        takeOption(o, row, bare ? NULL : argv[++i]);
    }
    o->command = argv + i;
    o->command_count = argc - i;
    if (o->help || o->version) return;
    checkOptions(o, &given);
    if (!o->requests && !o->duration_s) o->requests = 100000;
    if (o->precision < 3) o->precision = 3; /* latencies are in microseconds, printed as milliseconds */
}

void benchUsage(void) {
    fputs("Usage: valkey-benchmark [options]                   run the standard tests\n"
          "       valkey-benchmark [options] [--] COMMAND...   run this command instead\n"
          "\n"
          "Sends requests over many connections and measures throughput and latency.\n"
          "\n"
          "Connection\n"
          "  -h HOST            server host name or address (127.0.0.1)\n"
          "  -p PORT            server port (6379)\n"
          "  -s PATH            Unix socket of the server; overrides host and port\n"
          "  -u URI             server URI: valkey://USER:PASSWORD@HOST:PORT/DB\n"
          "  -a PASSWORD        log in with this password\n"
          "  --user NAME        user name (default)\n"
          "  --dbnum DB         database number (0)\n" TOOL_TLS_USAGE "\n"
          "Load\n"
          "  -c N               number of connections (50)\n"
          "  -n N               total number of requests (100000)\n"
          "  --duration SECONDS  run for this time instead of a number of requests\n"
          "  --warmup SECONDS   run before each test without measuring\n"
          "  -P N               pipeline N requests (1); with several commands, N times all\n"
          "                     of them\n"
          "  --threads N        number of threads\n"
          "  --rps N            requests per second (0: no limit). Requests follow a fixed\n"
          "                     schedule, and latencies count from the scheduled time, so\n"
          "                     they include the delay that a slow server causes\n"
          "  --mptcp            use Multipath TCP\n"
          "  -k 0|1             0: a new connection for each request (1)\n"
          "  -l                 loop: repeat the tests forever\n"
          "  -I                 idle mode: open the connections and wait\n"
          "\n"
          "Requests\n"
          "  -t TESTS           run only these standard tests, separated by commas: ping,\n"
          "                     ping_inline, ping_mbulk, set, get, incr, lpush, rpush,\n"
          "                     lpop, rpop, sadd, hset, spop, zadd, zpopmin, lrange,\n"
          "                     lrange_100, lrange_300, lrange_500, lrange_600, mset, mget,\n"
          "                     xadd, function_load, fcall\n"
          "  -d BYTES           size of values (3)\n"
          "  -r N               use N different keys instead of one\n"
          "  --sequential       with -r: use the keys in order instead of at random\n"
          "  --seed N           seed of the random numbers, to repeat a run\n"
          "  -x                 read the last argument of the command from stdin\n"
          "  -3                 use RESP3\n"
          "  --enable-tracking  enable CLIENT TRACKING\n"
          "  --num-functions N  number of functions that function_load loads (10)\n"
          "  --num-keys-in-fcall N  number of keys that fcall passes (1)\n"
          "\n"
          "Fuzzing\n"
          "  --fuzz             send random commands and check that the server responds. It\n"
          "                     writes to the dataset and flushes it: do not use it with\n"
          "                     data that you need\n"
          "  --fuzz-mode MODES  malformed-commands: add, remove or change arguments;\n"
          "                     config-commands: also send CONFIG SET; or both, with a\n"
          "                     comma between them\n"
          "  --fuzz-loglevel LEVEL  none, error (last commands of a lost connection), info\n"
          "                     (also a summary) or debug (all commands) (info)\n"
          "\n",
          stdout);
    fputs("Output\n"
          "  -q                 print one line per test\n"
          "  --csv              print CSV with a header\n"
          "  --json FILE        write results, settings, percentiles and rates over time as\n"
          "                     JSON; - is stdout, and nothing else is printed there\n"
          "  --plot FILE        write a picture (SVG) of latencies and rates over time\n"
          "  --precision N      decimal places of latencies (at least 3)\n"
          "  -e                 no effect: an error reply always ends the run\n"
          "  --help             print this help\n"
          "  --version, -v      print the version\n"
          "\n"
          "Placeholders in a command\n"
          "  __rand_int__       a different number of 12 digits each time, less than -r\n"
          "  __rand_1st__       the same number in all commands of a sequence; __rand_2nd__\n"
          "                     to __rand_9th__ are further numbers\n"
          "  __data__           a value of -d bytes\n"
          "  ';'                separates commands; a number before a command repeats it\n"
          "\n"
          "Examples\n"
          "  valkey-benchmark -t set,get -d 512 -r 3000000 -P 16 -q\n"
          "  valkey-benchmark --duration 10 --rps 5000 -- get session:__rand_int__\n"
          "  valkey-benchmark -r 1000 -- multi ';' 3 incr n:__rand_int__ ';' exec\n",
          stdout);
}
