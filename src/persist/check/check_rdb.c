/* check_rdb.c -- the program valkey-check-rdb: checks whether a snapshot is valid, and prints what is in it.
 *
 * Not here    how the file is read (check_rdb_pass.c); how figures are printed (check_rdb_report.c); how the process
 *             knows that it is this program (server/programs.c).
 * Threads     main.
 * Tests       tests/persist/check_rdb.tcl, tests/differential/check_rdb
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#include "check_progress.h"
#include "check_rdb_report.h"
#include "numbers.h"
#include "object.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BIGGEST_USUAL 10 /* default of --biggest with JSON */

typedef struct arguments {
    const char *path, *output;
    checkRdbFormat format;
    bool stats;
    long long biggest; /* -1: not given */
} arguments;

static void printUsage(FILE *out, const char *program) {
    fprintf(out,
            "Usage: %s FILE [--stats] [--biggest N] [--format table|info|csv|json] [--output FILE]\n"
            "\n"
            "  --stats          print statistics of each database and type\n"
            "  --biggest N      print the N keys that take most bytes of the file, at most %d\n"
            "  --format WORD    format of the statistics; json: print one object with all results and nothing else\n"
            "  --output FILE    write the statistics or the object to this file\n"
            "  -v, --version, -h, --help\n"
            "\n"
            "Exit code: 0 if the file is valid, 1 if it is damaged or cannot be read.\n",
            program, CHECK_RDB_BIGGEST_MAX);
}

static bool formatNamed(const char *word, checkRdbFormat *out) {
    static const char *const names[] = {"table", "info", "csv", "json"};
    for (size_t i = 0; i < array_len(names); i++) {
        if (strcmp(word, names[i])) continue;
        *out = (checkRdbFormat)i;
        return true;
    }
    return false;
}

static bool checkRdbParse(int argc, char **argv, arguments *out) {
    *out = (arguments){.biggest = -1};
    if (argc < 2) return false;
    out->path = argv[1];
    for (int i = 2; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (!strcmp(argv[i], "--stats")) {
            out->stats = true;
            continue;
        }
        if (!value) return false;
        if (!strcmp(argv[i], "--format")) {
            if (!formatNamed(value, &out->format)) return false;
        } else if (!strcmp(argv[i], "--output")) {
            out->output = value;
        } else if (!strcmp(argv[i], "--biggest")) {
            if (!string2ll(value, strlen(value), &out->biggest)) return false;
            if (out->biggest < 0 || out->biggest > CHECK_RDB_BIGGEST_MAX) return false;
        } else {
            return false;
        }
        i++;
    }
    return true;
}

/* Checks the open file, and prints figures to `out`. */
static bool checkRdbCheck(int fd, const arguments *a, FILE *out) {
    bool json = a->format == CHECK_RDB_JSON;
    long long wanted = a->biggest >= 0 ? a->biggest : json ? BIGGEST_USUAL : 0;
    checkRdbBiggest biggest = {.capacity = (size_t)wanted};
    checkRdbStats *stats = a->stats || json || wanted ? checkRdbStatsCreate() : NULL;
    const checkRdbPassOptions options = {.lines = json ? NULL : stdout, .stats = stats, .biggest = &biggest};
    struct stat st;
    checkRdbFound found;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) checkProgressBegin((uint64_t)st.st_size);
    checkRdbPass(fd, a->path, &options, &found);
    bool good = found.is_good;
    checkRdbBiggestSort(&biggest);
    if (json) {
        checkRdbPutObject(out, a->path, &found, stats, &biggest);
    } else {
        if (a->stats) checkRdbPutStats(out, a->format, stats);
        checkRdbPutBiggest(out, &biggest);
        checkRdbPrintEnd(stdout, &found);
    }
    checkRdbFoundFree(&found);
    checkRdbBiggestFree(&biggest);
    checkRdbStatsFree(stats);
    return good;
}

static int fileFault(const char *verb, const char *path) {
    fprintf(stderr, "Can't %s %s: %s\n", verb, path, strerror(errno));
    return 1;
}

/* Returns whether all output has been written. */
static bool checkRdbFinish(FILE *out) { return fflush(out) == 0 && !ferror(out); }

int checkRdbMain(int argc, char **argv) {
    arguments a;
    if (argc == 2 && (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help"))) {
        printUsage(stdout, argv[0]);
        return 0;
    }
    if (!checkRdbParse(argc, argv, &a)) {
        printUsage(stderr, argv[0]);
        return 1;
    }
    objectTypesRegister();
    int fd = open(a.path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        if (a.format != CHECK_RDB_JSON)
            printf("[offset 0] Checking RDB file %s\n[offset 0] Check RDB returned error code 1 (0 means success)\n",
                   a.path);
        return fileFault("open", a.path);
    }
    FILE *out = a.output ? fopen(a.output, "we") : stdout;
    if (!out) return fileFault("write", a.output);
    bool good = checkRdbCheck(fd, &a, out);
    bool written = checkRdbFinish(out) && checkRdbFinish(stdout);
    if (!written) fileFault("write", a.output ? a.output : "the output");
    return good && written ? 0 : 1;
}
