/* bench_options.c -- what the benchmark's command line says.
 *
 * One table row per option; what is not in the table ends the program with the option's name.
 *
 * Tests       tests/tools/benchmark.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "bench_options.h"
#include "clock.h"
#include "numbers.h"
#include "server_uri.h"
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum { OPT_FLAG, OPT_INT, OPT_LONG, OPT_ULONG, OPT_TEXT, OPT_URI, OPT_KEEP_ALIVE, OPT_IGNORED } optionKind;

typedef struct optionRow {
    const char *name;
    optionKind kind;
    size_t offset; /* of the field in benchOptions */
    long long min, max;
} optionRow;

#define FIELD(name) offsetof(benchOptions, name)

static const optionRow option_rows[] = {
    {"-h", OPT_TEXT, FIELD(host), 0, 0},
    {"-p", OPT_INT, FIELD(port), 0, 65535},
    {"-s", OPT_TEXT, FIELD(socket), 0, 0},
    {"-a", OPT_TEXT, FIELD(password), 0, 0},
    {"--user", OPT_TEXT, FIELD(user), 0, 0},
    {"-u", OPT_URI, 0, 0, 0},
    {"-c", OPT_INT, FIELD(clients), 1, 1000000},
    {"-n", OPT_LONG, FIELD(requests), 1, INT64_MAX / 4},
    {"--duration", OPT_LONG, FIELD(duration_s), 1, 1000000000},
    {"--warmup", OPT_LONG, FIELD(warmup_s), 0, 1000000000},
    {"-d", OPT_INT, FIELD(data_size), 1, 1024 * 1024 * 1024},
    {"--dbnum", OPT_INT, FIELD(db), 0, INT32_MAX},
    {"-3", OPT_FLAG, FIELD(resp3), 0, 0},
    {"--threads", OPT_INT, FIELD(threads), 1, 500},
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
    {"--rps", OPT_LONG, FIELD(rate), 0, INT64_MAX / 4},
    {"--seed", OPT_ULONG, FIELD(seed), 0, INT64_MAX},
    {"--num-functions", OPT_INT, FIELD(functions), 1, 100000},
    {"--num-keys-in-fcall", OPT_INT, FIELD(fcall_keys), 0, 100000},
    {"-e", OPT_IGNORED, 0, 0, 0},
    {"--help", OPT_FLAG, FIELD(help), 0, 0},
    {"--version", OPT_FLAG, FIELD(version), 0, 0},
    {"-v", OPT_FLAG, FIELD(version), 0, 0},
};

static const optionRow *findOption(const char *name) {
    for (size_t i = 0; i < array_len(option_rows); i++) {
        if (strcmp(option_rows[i].name, name) == 0) return &option_rows[i];
    }
    return NULL;
}

static bool badValue(const optionRow *row, const char *text) {
    fprintf(stderr, "Invalid value \"%s\" of option \"%s\": ", text, row->name);
    if (row->kind == OPT_KEEP_ALIVE) fprintf(stderr, "0 or 1 expected\n");
    else fprintf(stderr, "a number from %lld to %lld expected\n", row->min, row->max);
    return false;
}

static bool takeUri(benchOptions *o, const char *text) {
    static serverUri uri;
    const char *err = serverUriParse(&uri, text);
    if (err) {
        fprintf(stderr, "%s\n", err);
        return false;
    }
    if (uri.host) o->host = uri.host;
    if (uri.port) o->port = uri.port;
    if (uri.user) o->user = uri.user;
    if (uri.password) o->password = uri.password;
    if (uri.db >= 0) o->db = uri.db;
    return true;
}

/* Store `text` (NULL for options that take none) where the row says. */
static bool takeValue(benchOptions *o, const optionRow *row, const char *text) {
    void *field = (char *)o + row->offset;
    long long number = 0;
    switch (row->kind) {
    case OPT_FLAG: *(bool *)field = true; return true;
    case OPT_TEXT: *(const char **)field = text; return true;
    case OPT_URI: return takeUri(o, text);
    case OPT_IGNORED:
        fprintf(stderr, "WARNING: -e option has no effect. "
                        "We now immediately exit on error to avoid false results.\n");
        return true;
    case OPT_KEEP_ALIVE:
        if (strcmp(text, "0") != 0 && strcmp(text, "1") != 0) return badValue(row, text);
        o->keep_alive = text[0] == '1';
        return true;
    case OPT_INT:
    case OPT_LONG:
    case OPT_ULONG:
        if (!string2ll(text, strlen(text), &number) || number < row->min || number > row->max)
            return badValue(row, text);
        if (row->kind == OPT_INT) *(int *)field = (int)number;
        else if (row->kind == OPT_LONG) *(long long *)field = number;
        else *(uint64_t *)field = (uint64_t)number;
        return true;
    }
    return true;
}

bool benchOptionsParse(benchOptions *o, int argc, char **argv) {
    *o = (benchOptions){.host = "127.0.0.1",
                        .port = 6379,
                        .clients = 50,
                        .threads = 0,
                        .data_size = 3,
                        .pipeline = 1,
                        .precision = 3,
                        .functions = 10,
                        .fcall_keys = 1,
                        .keep_alive = true,
                        .seed = (uint64_t)clockWallUs()};
    int i = 1;
    for (; i < argc && argv[i][0] == '-'; i++) {
        if (strcmp(argv[i], "--") == 0) {
            i++;
            break;
        }
        const optionRow *row = findOption(argv[i]);
        bool bare = row && (row->kind == OPT_FLAG || row->kind == OPT_IGNORED);
        if (!row || (!bare && i + 1 == argc)) {
            printf("Invalid option \"%s\" or option argument missing\n\n", argv[i]);
            benchUsage();
            return false;
        }
        if (!takeValue(o, row, bare ? NULL : argv[++i])) return false;
    }
    o->command = argv + i;
    o->command_count = argc - i;
    if (o->requests && o->duration_s) {
        fprintf(stderr, "Options -n and --duration are mutually exclusive.\n");
        return false;
    }
    if (!o->requests && !o->duration_s) o->requests = 100000;
    if (o->precision < 3) o->precision = 3; /* latencies are microseconds shown as milliseconds */
    return true;
}

void benchUsage(void) {
    fputs("Usage: valkey-benchmark [OPTIONS] [--] [COMMAND ARGS...]\n"
          "\n"
          "Sends commands over many connections at once and reports rate and latency.\n"
          "Without a command, a series of standard tests runs; -t picks some of them.\n"
          "\n"
          "Several commands are separated by ';', and a number before a command repeats\n"
          "it: `SET foo bar ';' 3 GET foo`. These words inside arguments are replaced:\n"
          "\n"
          " __rand_int__       A 12 digit number below the value of -r, another each time.\n"
          " __rand_1st__       The same, but one number for the whole sequence of commands.\n"
          "                    Also __rand_2nd__ to __rand_9th__.\n"
          " __data__           Data of the size that -d gives.\n"
          "\n"
          "Options:\n"
          "\n"
          " -h <hostname>      Server hostname (default 127.0.0.1)\n"
          " -p <port>          Server port (default 6379)\n"
          " -s <socket>        Server socket (overrides host and port)\n"
          " -a <password>      Password\n"
          " --user <username>  Send 'AUTH username password'. Needs -a.\n"
          " -u <uri>           Server URI: valkey://user:password@host:port/dbnum\n"
          " -c <clients>       Number of parallel connections (default 50)\n"
          " -n <requests>      Total number of requests (default 100000)\n"
          " --duration <secs>  Run for this time instead of a number of requests\n"
          " --warmup <secs>    Run for this time before the measurement starts\n"
          " -d <size>          Data size of SET/GET value in bytes (default 3)\n"
          " --dbnum <db>       Select this database number (default 0)\n"
          " -3                 Start sessions in RESP3 protocol mode\n"
          " --threads <num>    Number of threads that send (default: one)\n"
          " --enable-tracking  Send CLIENT TRACKING on before the test\n"
          " -k <boolean>       1=keep alive 0=reconnect (default 1)\n"
          " -r <keyspacelen>   Replace __rand_int__ and its kin with numbers below this;\n"
          "                    without -r, all commands use the same key\n"
          " --sequential       Count upwards instead of choosing at random\n"
          " -P <numreq>        Pipeline <numreq> requests (default 1: no pipeline); of a\n"
          "                    sequence of commands, this many sequences\n"
          " -q                 Quiet. Just show query/sec values\n"
          " --precision <num>  Decimal places of latencies (at least 3)\n"
          " --csv              Output in CSV format\n"
          " -l                 Loop. Run the tests forever\n"
          " -t <tests>         Only run the comma separated list of tests: ping,\n"
          "                    ping_inline, ping_mbulk, set, get, incr, lpush, rpush, lpop,\n"
          "                    rpop, sadd, hset, spop, zadd, zpopmin, lrange, lrange_100,\n"
          "                    lrange_300, lrange_500, lrange_600, mset, mget, xadd,\n"
          "                    function_load, fcall\n"
          " -I                 Idle mode. Just open the connections and wait\n"
          " -x                 Read last argument from STDIN\n"
          " --rps <requests>   Limit the number of requests per second (default 0: none)\n"
          " --seed <num>       Seed of the random numbers (default: from the clock)\n"
          " --num-functions <num>      Functions that function_load loads (default 10)\n"
          " --num-keys-in-fcall <num>  Keys that fcall passes (default 1)\n"
          " --help             Output this help and exit\n"
          " --version          Output version and exit\n"
          "\n"
          "Examples:\n"
          "\n"
          " All standard tests on 127.0.0.1:6379:\n"
          "   $ valkey-benchmark\n"
          "\n"
          " 100k requests over 20 connections to 192.168.1.1:\n"
          "   $ valkey-benchmark -h 192.168.1.1 -p 6379 -n 100000 -c 20\n"
          "\n"
          " Fill 127.0.0.1:6379 with about 1 million keys:\n"
          "   $ valkey-benchmark -t set -n 1000000 -r 100000000\n"
          "\n"
          " A few tests as CSV:\n"
          "   $ valkey-benchmark -t ping,set,get -n 100000 --csv\n"
          "\n"
          " A transaction:\n"
          "   $ valkey-benchmark -r 1000 -- multi ';' set key:__rand_int__ __data__ ';' exec\n"
          "\n",
          stdout);
}
