/* check_aof.c -- valkey-check-aof: checks whether append-only files can be loaded, and truncates an incomplete end.
 *
 *   FILE -- is a manifest? --yes-> base, then increments --> each: snapshot in front? -> items -> verdict -> truncation
 *               `------no--------> that file alone ----------^
 *
 * Output on stdout and exit codes are those of Valkey's tool. A command that this server does not know is not a fault:
 * the file is complete, and another configuration (rename-command) or server may know the command. So it is never a
 * reason to truncate, but a note on stderr says that a start would be refused.
 *
 * No file is opened for writing before it is truncated, and it is truncated only if it has the same length as when it
 * was read, because a server that appends meanwhile would change it.
 *
 * Not here    finding faults of a log (aof_scan.c), of a snapshot (check_rdb_pass.c), of a manifest (aof_manifest.c).
 * Owns        the options, the counters.
 * Threads     main.
 * Invariants  1. A file is truncated only if all files that follow it in the manifest are empty.
 *             2. A truncated file never ends within a transaction.
 *             3. A file that could not be read to its end is not truncated.
 * Tests       tests/tools/check_aof.tcl, tests/differential/check_aof
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#include "aof_manifest.h"
#include "aof_reader.h"
#include "aof_scan.h"
#include "check_aof_stats.h"
#include "check_progress.h"
#include "check_rdb_pass.h"
#include "command_table.h"
#include "zmalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define MANIFEST_MAX (64 << 20)
#define SNAPSHOT_MIN 8 /* bytes; a shorter file is never taken for a snapshot */

static struct {
    bool fix, stats, to_timestamp;
    int64_t timestamp;
    const char *path; /* borrowed */
} options;

static struct {
    aofStats *stats; /* owns; NULL without --stats */
    uint64_t lines, bytes_before;
} counted;

typedef struct checkedFile {
    const char *kind; /* "BASE AOF", "INCR AOF", "AOF" */
    const char *name; /* borrowed: its name in the output */
    const char *path; /* borrowed */
    bool may_be_snapshot;
    bool last; /* all files after it are empty */
    int fd;    /* owns */
    struct stat st;
} checkedFile;

typedef enum { CHECK_STOP, CHECK_EMPTY, CHECK_GOOD, CHECK_TRUNCATED } checkVerdict;

/* --- truncating ------------------------------------------------------------------------------------------ */

/* Truncates the file to `to` bytes. Prints the reason and returns false if that fails. */
static bool truncateFile(const checkedFile *f, uint64_t to) {
    struct stat now;
    bool same = false, done = false;
    int fd = open(f->path, O_RDWR | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &now) == 0) {
        same = now.st_dev == f->st.st_dev && now.st_ino == f->st.st_ino && now.st_size == f->st.st_size;
        done = same && ftruncate(fd, (off_t)to) == 0 && fsync(fd) == 0;
    }
    int error = errno;
    if (fd >= 0) close(fd);
    if (done) return true;
    if (fd >= 0 && !same)
        printf("Failed to truncate AOF %s: it has changed since it was read. Is a server using it?\n", f->name);
    else printf("Failed to truncate AOF %s: %s\n", f->name, strerror(error));
    return false;
}

static bool isConfirmed(void) {
    char answer[2];
    printf("Continue? [y/N]: ");
    fflush(stdout);
    if (fgets(answer, sizeof(answer), stdin) && (answer[0] == 'y' || answer[0] == 'Y')) return true;
    printf("Aborting...\n");
    return false;
}

static checkVerdict fixFile(const checkedFile *f, uint64_t good) {
    uint64_t size = (uint64_t)f->st.st_size;
    if (!options.fix) {
        printf("AOF %s is not valid. Use the --fix option to try fixing it.\n", f->name);
        return CHECK_STOP;
    }
    if (!f->last) {
        printf("Failed to truncate AOF %s because it is not the last file\n", f->name);
        return CHECK_STOP;
    }
    printf("This will shrink the AOF %s from %" PRIu64 " bytes, with %" PRIu64 " bytes, to %" PRIu64 " bytes\n",
           f->name, size, size - good, good);
    return isConfirmed() && truncateFile(f, good) ? CHECK_TRUNCATED : CHECK_STOP;
}

static checkVerdict truncateAtTime(const checkedFile *f, uint64_t to) {
    if (to == 0) {
        printf("AOF %s has nothing before timestamp %" PRId64 ", aborting...\n", f->path, options.timestamp);
        return CHECK_STOP;
    }
    if (!f->last) {
        printf("Failed to truncate AOF %s to timestamp %" PRId64 " to offset %" PRIu64
               " because it is not the last file.\n",
               f->path, options.timestamp, to);
        printf(
            "To truncate that far nevertheless, remove the files that follow it and their lines in the manifest, then "
            "run valkey-check-aof again.\n");
        return CHECK_STOP;
    }
    return truncateFile(f, to) ? CHECK_TRUNCATED : CHECK_STOP;
}

/* --- commands -------------------------------------------------------------------------------------------- */

/* State of the scan of one file. */
typedef struct fileScan {
    aofScanner *scanner; /* owns */
    bool past_time;      /* a timestamp later than --truncate-to-timestamp was found */
    bool bad_timestamp;
    uint64_t truncate_at;
    sds note; /* owns: about the first unknown command, or NULL */
} fileScan;

/* Returns why the loader would refuse the command, or NULL if it would not. */
static const char *whyRefused(const aofScanItem *item) {
    bool bad_sub = false;
    const serverCommand *cmd = commandLookup(item->words, item->argc < 2 ? 1 : 2, &bad_sub);
    if (!cmd) return "unknown command";
    if (bad_sub) return "unknown subcommand of";
    return commandArityOk(cmd, (uint32_t)item->argc) ? NULL : "wrong number of arguments for";
}

static void noteCommand(fileScan *scan, const checkedFile *f, const aofScanItem *item) {
    if (scan->note || commandCount() == 0) return;
    const char *why = whyRefused(item);
    if (!why) return;
    sds name = sdsCatRepr(sdsEmpty(), item->words[0].ptr, item->words[0].len);
    scan->note = sdsCatPrintf(sdsEmpty(),
                              "Note: AOF %s, offset %" PRIu64
                              ": %s %s. The file is complete, but this server does not load such a command.\n",
                              f->name, item->at, why, name);
    sdsFree(name);
}

/* Checks an annotation for a timestamp. Returns false if the scan ends here. */
static bool checkTimestamp(fileScan *scan, const aofScanItem *item) {
    int64_t seconds;
    bool good;
    if (!options.to_timestamp || !aofTimestamp(item->text, &seconds, &good)) return true;
    scan->bad_timestamp = !good;
    scan->past_time = good && seconds > options.timestamp;
    scan->truncate_at = item->unit;
    return good && !scan->past_time;
}

static aofScanKind scanItems(fileScan *scan, const checkedFile *f) {
    aofScanItem item;
    for (;;) {
        aofScanKind kind = aofScanNext(scan->scanner, &item);
        if (kind != AOF_SCAN_COMMAND && kind != AOF_SCAN_ANNOTATION) return kind;
        if (kind == AOF_SCAN_ANNOTATION && !checkTimestamp(scan, &item)) return kind;
        if (kind == AOF_SCAN_COMMAND) noteCommand(scan, f, &item);
        if (counted.stats && kind == AOF_SCAN_COMMAND) aofStatsCommand(counted.stats, &item);
        if (counted.stats && kind == AOF_SCAN_ANNOTATION) aofStatsAnnotation(counted.stats, &item);
        checkProgressAt(counted.bytes_before + item.at + item.bytes);
    }
}

static checkVerdict judgeScan(const checkedFile *f, const fileScan *scan, aofScanKind kind) {
    uint64_t good = aofScanGood(scan->scanner), size = (uint64_t)f->st.st_size;
    const char *fault = aofScanFault(scan->scanner);
    if (scan->bad_timestamp) {
        printf("Invalid timestamp annotation\n");
        return CHECK_STOP;
    }
    if (scan->past_time) return truncateAtTime(f, scan->truncate_at);
    if (fault) printf("%s\n", fault);
    if (kind == AOF_SCAN_END && good != size) {
        printf("AOF %s became shorter while it was read, aborting...\n", f->name);
        return CHECK_STOP;
    }
    if (options.to_timestamp && kind == AOF_SCAN_END) {
        printf("Truncate nothing in AOF %s to timestamp %" PRId64 "\n", f->name, options.timestamp);
        return CHECK_GOOD;
    }
    uint64_t end = (uint64_t)aofSizeWithoutZeros(f->fd, (off_t)good, (off_t)size);
    if (end < size)
        fprintf(stderr,
                "Note: AOF %s ends with %" PRIu64
                " zero bytes, which a loss of power or a preallocation has left: they count as missing.\n",
                f->name, size - end);
    printf("AOF analyzed: filename=%s, size=%" PRIu64 ", ok_up_to=%" PRIu64 ", ok_up_to_line=%" PRIu64 ", diff=%" PRIu64
           "\n",
           f->name, size, good, 1 + counted.lines, size - good);
    return kind == AOF_SCAN_END ? CHECK_GOOD : fixFile(f, good);
}

static checkVerdict checkCommands(const checkedFile *f, uint64_t from) {
    fileScan scan = {.scanner = aofScanCreate(f->fd, from, (uint64_t)f->st.st_size, f->name, f->path)};
    checkVerdict verdict = CHECK_STOP;
    aofScanKind kind = scanItems(&scan, f);
    int error = errno;
    counted.lines += aofScanLines(scan.scanner);
    checkProgressHide();
    if (scan.note) fputs(scan.note, stderr);
    if (kind == AOF_SCAN_FAILED) printf("Cannot read file %s: %s, aborting...\n", f->path, strerror(error));
    else verdict = judgeScan(f, &scan, kind);
    aofScanFree(scan.scanner);
    sdsFree(scan.note);
    return verdict;
}

/* --- a snapshot in front --------------------------------------------------------------------------------- */

static bool isSnapshot(int fd, off_t size) {
    char head[6];
    if (size < SNAPSHOT_MIN || pread(fd, head, sizeof(head), 0) != (ssize_t)sizeof(head)) return false;
    return !memcmp(head, "REDIS", 5) || !memcmp(head, "VALKEY", 6);
}

/* Checks the snapshot at the start of the file. Returns the offset of its end, or 0 after printing what is wrong. */
static uint64_t checkSnapshot(const checkedFile *f) {
    const checkRdbPassOptions pass = {.lines = stdout, .bytes_before = counted.bytes_before};
    checkRdbFound found = {.is_good = false};
    if (lseek(f->fd, 0, SEEK_SET) == 0) checkRdbPass(f->fd, f->path, &pass, &found);
    uint64_t end = found.is_good ? found.offset : 0;
    checkRdbPrintEnd(stdout, &found);
    checkRdbFoundFree(&found);
    return end;
}

/* --- files ----------------------------------------------------------------------------------------------- */

static bool openFile(checkedFile *f) {
    f->fd = open(f->path, O_RDONLY | O_CLOEXEC);
    if (f->fd >= 0 && fstat(f->fd, &f->st) == 0) {
        if (!S_ISDIR(f->st.st_mode)) return true;
        errno = EISDIR;
    }
    int error = errno;
    if (f->fd >= 0) close(f->fd);
    printf("Cannot open file %s: %s, aborting...\n", f->path, strerror(error));
    return false;
}

static checkVerdict checkContent(const checkedFile *f) {
    uint64_t from = 0;
    if (f->st.st_size == 0) return CHECK_EMPTY;
    if (f->may_be_snapshot && isSnapshot(f->fd, f->st.st_size)) {
        from = checkSnapshot(f);
        printf(from ? "RDB preamble is OK, proceeding with AOF tail...\n"
                    : "RDB preamble of AOF file is not sane, aborting.\n");
        if (!from) return CHECK_STOP;
    }
    return checkCommands(f, from);
}

/* Checks a file, from opening it to the last line about it. Returns false if the whole check must stop. */
static bool checkFile(checkedFile *f) {
    if (!openFile(f)) return false;
    checkVerdict verdict = checkContent(f);
    close(f->fd);
    counted.bytes_before += (uint64_t)f->st.st_size;
    if (verdict == CHECK_EMPTY) printf("%s %s is empty\n", f->kind, f->name);
    if (verdict == CHECK_GOOD) printf("%s %s is valid\n", f->kind, f->name);
    if (verdict == CHECK_TRUNCATED && options.to_timestamp)
        printf("Successfully truncated AOF %s to timestamp %" PRId64 "\n", f->name, options.timestamp);
    else if (verdict == CHECK_TRUNCATED) printf("Successfully truncated AOF %s\n", f->name);
    return verdict != CHECK_STOP;
}

static bool checkSingle(const char *path, off_t size) {
    checkedFile f = {.kind = "AOF", .name = path, .path = path, .may_be_snapshot = true, .last = true};
    printf("Start checking Old-Style AOF\n");
    checkProgressBegin((uint64_t)size);
    return checkFile(&f);
}

/* --- a manifest ------------------------------------------------------------------------------------------ */

/* Returns whether the first line that is not a comment begins with the word "file", as lines of a manifest do. */
static bool isManifest(FILE *in) {
    char line[AOF_MANIFEST_LINE_MAX];
    while (fgets(line, sizeof(line), in))
        if (line[0] != '#') return !strncmp(line, "file", 4);
    return false;
}

/* Reads the manifest. Returns NULL after logging why, to stdout. */
static aofManifest *readManifest(FILE *in, off_t size) {
    aofManifestFault fault = {.error = "The file is too large for a manifest"};
    aofManifest *m = NULL;
    if (size <= MANIFEST_MAX) {
        sds text = sdsNewLen(NULL, (size_t)size);
        rewind(in);
        if (fread(text, 1, (size_t)size, in) == (size_t)size) m = aofManifestParse(sdsSlice(text), &fault);
        else fault.error = "The file cannot be read";
        sdsFree(text);
    }
    if (m) return m;
    fflush(stdout);
    aofManifestLogFault(&fault);
    return NULL;
}

static bool checkBase(checkedFile *f) {
    struct stat st;
    int fd = open(f->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        printf("Cannot open file %s: %s\n", f->path, strerror(errno));
        return false;
    }
    if (fstat(fd, &st) != 0) st.st_size = 0;
    printf("Start to check BASE AOF (%s format).\n", isSnapshot(fd, st.st_size) ? "RDB" : "RESP");
    close(fd);
    return checkFile(f);
}

/* Returns whether all files after entry `index` are empty; one that cannot be examined counts as not empty. */
static bool isLast(const aofManifest *m, size_t index, const char *folder) {
    bool last = true;
    for (size_t i = index + 1; i < m->count && last; i++) {
        struct stat st;
        sds path = aofPath(folder, m->files[i].name);
        if (m->files[i].type != AOF_FILE_HISTORY) last = stat(path, &st) == 0 && st.st_size == 0;
        sdsFree(path);
    }
    return last;
}

static uint64_t bytesOf(const aofManifest *m, const char *folder) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < m->count; i++) {
        struct stat st;
        sds path = aofPath(folder, m->files[i].name);
        if (m->files[i].type != AOF_FILE_HISTORY && stat(path, &st) == 0) bytes += (uint64_t)st.st_size;
        sdsFree(path);
    }
    return bytes;
}

static bool checkEntry(const aofManifest *m, size_t index, const char *folder) {
    const aofFile *entry = &m->files[index];
    bool base = entry->type == AOF_FILE_BASE;
    sds path = aofPath(folder, entry->name);
    checkedFile f = {.kind = base ? "BASE AOF" : "INCR AOF",
                     .name = entry->name,
                     .path = path,
                     .may_be_snapshot = base,
                     .last = isLast(m, index, folder)};
    bool good = base ? checkBase(&f) : checkFile(&f);
    sdsFree(path);
    return good;
}

static bool checkManifest(const char *path, FILE *in, off_t size) {
    printf("Start checking Multi Part AOF\n");
    aofManifest *m = readManifest(in, size);
    if (!m) return false;
    char *copy = zstrdup(path);
    const char *folder = dirname(copy);
    bool good = true;
    checkProgressBegin(bytesOf(m, folder));
    for (size_t i = 0; i < m->count && good; i++) {
        if (m->files[i].type == AOF_FILE_HISTORY) continue;
        if (i == m->incrs) printf("Start to check INCR files.\n");
        good = checkEntry(m, i, folder);
    }
    if (good) printf("All AOF files and manifest are valid\n");
    zfree(copy);
    aofManifestFree(m);
    return good;
}

/* --- the program ----------------------------------------------------------------------------------------- */

static void printUsage(const char *program) {
    printf(
        "Usage: %s [--fix | --truncate-to-timestamp SECONDS] [--stats] FILE\n"
        "\n"
        "  FILE      appendonlydir/appendonly.aof.manifest, or a single append-only file\n"
        "  --fix     truncate the last file after its last complete command or transaction; asks first\n"
        "  --truncate-to-timestamp SECONDS\n"
        "            truncate the last file before its first timestamp (aof-timestamp-enabled) after this Unix time\n"
        "  --stats   also print the number and the bytes of commands by name, and the time range of the files\n"
        "  -v, --version, -h, --help\n"
        "\n"
        "Exit code: 0 if the files are valid or have been truncated as asked, 1 otherwise. Stop the server and copy\n"
        "the files before you truncate them.\n",
        program);
}

static bool readTimestamp(const char *text) {
    char *end;
    errno = 0;
    options.timestamp = strtoll(text, &end, 10);
    options.to_timestamp = options.timestamp != 0;
    if (errno == 0 && *end == '\0') return true;
    printf("Invalid timestamp, aborting...\n");
    return false;
}

/* Parses the command line. Returns false if the program must end; it has printed why. */
static bool readOptions(int argc, char **argv) {
    bool usable = argc >= 2, timed = false;
    for (int i = 1; i < argc - 1 && usable; i++) {
        if (!strcmp(argv[i], "--fix") && !options.fix && !timed) {
            options.fix = true;
        } else if (!strcmp(argv[i], "--stats") && !options.stats) {
            options.stats = true;
        } else if (!strcmp(argv[i], "--truncate-to-timestamp") && i + 2 < argc && !options.fix && !timed) {
            if (!readTimestamp(argv[++i])) return false;
            timed = true;
        } else {
            usable = false;
        }
    }
    if (usable) options.path = argv[argc - 1];
    else printUsage(argv[0]);
    return usable;
}

static bool checkPath(void) {
    struct stat st;
    bool good = false;
    FILE *in = fopen(options.path, "re");
    if (!in || fstat(fileno(in), &st) != 0) {
        printf("Cannot open file %s: %s\n", options.path, strerror(errno));
    } else if (S_ISDIR(st.st_mode)) {
        printf("Cannot read file: %s\n", options.path);
    } else if (isManifest(in)) {
        good = checkManifest(options.path, in, st.st_size);
    } else {
        good = checkSingle(options.path, st.st_size);
    }
    if (in) fclose(in);
    return good;
}

int checkAofMain(int argc, char **argv) {
    if (argc == 2 && (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help"))) {
        printUsage(argv[0]);
        return 0;
    }
    if (!readOptions(argc, argv)) return 1;
    objectTypesRegister();
    if (options.stats) counted.stats = aofStatsCreate();
    bool good = checkPath();
    if (counted.stats) aofStatsPrint(counted.stats, stdout);
    aofStatsFree(counted.stats);
    return good && fflush(stdout) == 0 ? 0 : 1;
}
