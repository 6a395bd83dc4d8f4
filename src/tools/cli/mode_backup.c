/* mode_backup.c -- --backup: copies the append-only folder of a server on the same machine, so that the copy starts.
 *
 *   BACKUP START --> BACKUP SEAL --> copy what it lists --> its manifest --> BACKUP END --> valkey-check-aof
 *
 * The listing has names, sizes, and the text of the manifest; the files are read from the folder that it names. That
 * may be the folder of another server, if the connection leads to another machine: so each line of the listing's
 * manifest has to be in the manifest there. The copy's manifest is written last, so that half a copy is not taken for a
 * whole one, and if anything fails what was copied is removed.
 *
 * Names come from the server and are not trusted: none leads out of the folder.
 *
 * Tests       tests/tools/cli_backup.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "clock.h"
#include "modes.h"
#include "numbers.h"
#include "output_file.h"
#include "progress_line.h"
#include "terminal.h"
#include "zmalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHUNK ((size_t)1 << 20)
#define REFRESH_MS 5000
#define CHECKER "valkey-check-aof"

typedef struct backupRun {
    cliConnection *c;
    const char *dir;         /* borrowed: of the command line */
    sds from, to;            /* own: the server's folder, its copy */
    const char *manifest;    /* borrowed from the listing: its name */
    const replyValue *files; /* the same */
    const char *id;          /* borrowed: number of the backup */
    bool made_dir, made_folder;
    size_t begun;                  /* files that may exist in the copy */
    uint64_t copied, all, used_ms; /* bytes; when the server was last asked */
    progressLine progress;
} backupRun;

static sds joined(const char *folder, const char *name) { return sdsCatPrintf(sdsEmpty(), "%s/%s", folder, name); }

static bool failWith(const char *what, const char *name) {
    fprintf(stderr, "Cannot %s '%s': %s\n", what, name, strerror(errno));
    return false;
}

/* ---- The server ---- */

/* Sends BACKUP and returns the reply; NULL after a line on stderr. */
static replyValue *ask(cliConnection *c, const char *sub, const char *id) {
    replyValue *v = linkCall(c->link, "BACKUP", sub, id, NULL);
    if (v && !replyIsError(v)) return v;
    const char *why = v ? v->str : linkError(c->link);
    fprintf(stderr, "BACKUP %s failed: %s\n", sub, why);
    if (v && strstr(why, "unknown command"))
        fputs("This server cannot make backups of its append-only file. Use --rdb FILE.\n", stderr);
    replyValueFree(v);
    return NULL;
}

static bool endBackup(const backupRun *b) {
    replyValue *v = ask(b->c, "END", b->id);
    replyValueFree(v);
    return v != NULL;
}

/* Tells the server now and then that the backup goes on. Returns false if it has been given up, or after Ctrl-C. */
static bool goesOn(backupRun *b) {
    if (interruptCaught()) {
        progressClear(&b->progress);
        fputs("Stopped by Ctrl-C.\n", stderr);
        return false;
    }
    uint64_t now_ms = clockMonotonicMs();
    if (now_ms - b->used_ms < REFRESH_MS) return true;
    b->used_ms = now_ms;
    replyValue *v = ask(b->c, "STATUS", NULL);
    const char *state = v ? replyLookupText(v, "state") : NULL;
    bool on = state && strcmp(state, "sealed") == 0;
    if (v && !on) fputs("The server has given up the backup.\n", stderr);
    replyValueFree(v);
    return on;
}

/* Returns whether a text of the server is a plain file name. */
static bool isName(const char *text) {
    return text && *text && !strchr(text, '/') && strcmp(text, ".") != 0 && strcmp(text, "..") != 0;
}

static bool isFile(const replyValue *v) {
    return replyIsList(v) && v->count == 2 && replyIsText(&v->items[0]) && isName(v->items[0].str) &&
           v->items[1].type == ':' && v->items[1].integer >= 0;
}

/* Takes what the server has listed. Returns false, after a line on stderr, unless it has the expected form. */
static bool takeListing(backupRun *b, const replyValue *listing) {
    const char *folder = replyLookupText(listing, "folder");
    const char *base = folder ? strrchr(folder, '/') : NULL;
    b->manifest = replyLookupText(listing, "manifest");
    b->files = replyLookup(listing, "files");
    bool ok = base && isName(base + 1) && isName(b->manifest) && replyLookupText(listing, "manifest-text") &&
              b->files && replyIsList(b->files) && b->files->count > 0;
    for (size_t i = 0; ok && i < b->files->count; i++) ok = isFile(&b->files->items[i]);
    if (!ok) {
        fputs("The reply of BACKUP SEAL has an unknown form.\n", stderr);
        return false;
    }
    for (size_t i = 0; i < b->files->count; i++) b->all += (uint64_t)b->files->items[i].items[1].integer;
    b->from = sdsNew(folder);
    b->to = joined(b->dir, base + 1);
    return true;
}

/* ---- The folders ---- */

static sds readText(const char *path) {
    char part[4096];
    sds text = sdsEmpty();
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : 0;
    while (fd >= 0 && (n = read(fd, part, sizeof(part))) > 0) text = sdsCatLen(text, part, (size_t)n);
    int error = errno;
    if (fd >= 0) close(fd);
    errno = error;
    if (n == 0) return text;
    sdsFree(text);
    return NULL;
}

/* Returns whether each line of `text` is also one of `whole`. */
static bool hasLines(const char *whole, const char *text) {
    for (const char *end; (end = strchr(text, '\n')) != NULL; text = end + 1) {
        size_t len = (size_t)(end - text) + 1;
        const char *at = whole;
        while (at && strncmp(at, text, len) != 0) at = (at = strchr(at, '\n')) ? at + 1 : NULL;
        if (!at) return false;
    }
    return true;
}

/* Checks that the server's folder can be read here, and is that of this server. */
static bool folderIsHere(const backupRun *b, const char *manifest_text) {
    sds path = joined(b->from, b->manifest), text = readText(path);
    bool same = text && hasLines(text, manifest_text);
    if (!text)
        fprintf(stderr,
                "Cannot read '%s', where the server has its append-only file: %s\n"
                "Run this on the server's machine, as a user that may read that folder. From another machine, --rdb "
                "FILE saves the dataset.\n",
                path, strerror(errno));
    else if (!same)
        fprintf(stderr,
                "'%s' belongs to another server. Run this on the machine of the server that was asked; from another "
                "machine, --rdb FILE saves the dataset.\n",
                path);
    sdsFree(text);
    sdsFree(path);
    return same;
}

static bool makeFolders(backupRun *b) {
    b->made_dir = mkdir(b->dir, 0777) == 0;
    if (!b->made_dir && errno != EEXIST) return failWith("create the folder", b->dir);
    b->made_folder = mkdir(b->to, 0777) == 0;
    return b->made_folder || failWith("create the folder", b->to);
}

/* Syncs the entries of a folder. */
static bool syncFolder(const char *path) {
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool ok = fd >= 0 && fsync(fd) == 0;
    int error = errno;
    if (fd >= 0) close(fd);
    errno = error;
    return ok || failWith("sync the folder", path);
}

static bool syncFolders(const backupRun *b) {
    sds parent = joined(b->dir, "..");
    bool ok = syncFolder(b->to) && syncFolder(b->dir) && (!b->made_dir || syncFolder(parent));
    sdsFree(parent);
    return ok;
}

/* Removes what was copied. */
static void removeCopy(const backupRun *b) {
    for (size_t i = 0; i < b->begun && i < b->files->count; i++) {
        sds path = joined(b->to, b->files->items[i].items[0].str);
        unlink(path);
        sdsFree(path);
    }
    if (b->made_folder) rmdir(b->to);
    if (b->made_dir) rmdir(b->dir);
}

/* ---- Copying ---- */

/* Copies the first `size` bytes of a file. */
static bool copyBytes(backupRun *b, int fd, const char *from, outputFile *out, uint64_t size) {
    char *buf = zmalloc(CHUNK);
    bool ok = true;
    while (ok && size > 0) {
        ssize_t n = read(fd, buf, size < CHUNK ? (size_t)size : CHUNK);
        if (n < 0 && errno == EINTR) continue;
        if (n == 0) errno = ENODATA;
        ok = n > 0 || failWith("read", from);
        if (ok) ok = outputFileWrite(out, buf, (size_t)n) || failWith("write to", b->to);
        if (!ok) break;
        size -= (uint64_t)n;
        b->copied += (uint64_t)n;
        progressStep(&b->progress, b->copied, b->all);
        ok = goesOn(b);
    }
    zfree(buf);
    return ok;
}

static bool copyFile(backupRun *b, const replyValue *file) {
    sds from = joined(b->from, file->items[0].str), to = joined(b->to, file->items[0].str);
    outputFile out;
    int fd = open(from, O_RDONLY | O_CLOEXEC);
    bool ok = fd >= 0 || failWith("read", from);
    if (ok && (ok = outputFileOpen(&out, to) || failWith("create", to))) {
        b->begun++;
        ok = copyBytes(b, fd, from, &out, (uint64_t)file->items[1].integer);
        if (ok) ok = outputFileKeep(&out) || failWith("write", to);
        if (!ok) outputFileAbandon(&out);
    }
    if (fd >= 0) close(fd);
    sdsFree(from);
    sdsFree(to);
    return ok;
}

static bool writeManifest(const backupRun *b, const char *text) {
    sds path = joined(b->to, b->manifest);
    outputFile out;
    bool ok = outputFileOpen(&out, path) || failWith("create", path);
    if (ok) {
        ok = (outputFileWrite(&out, text, strlen(text)) && outputFileKeep(&out)) || failWith("write", path);
        if (!ok) outputFileAbandon(&out);
    }
    sdsFree(path);
    return ok;
}

static bool copyAll(backupRun *b) {
    bool ok = makeFolders(b);
    progressBegin(&b->progress, NULL);
    b->used_ms = clockMonotonicMs();
    for (size_t i = 0; ok && i < b->files->count; i++) ok = copyFile(b, &b->files->items[i]);
    progressClear(&b->progress);
    return ok && syncFolders(b);
}

/* ---- Checking ---- */

/* Runs the checker beside this program, or that of PATH, with its output in the file. Returns its exit code; 127: there
 * is none. */
static int runChecker(const char *manifest, int output) {
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - sizeof(CHECKER) - 1);
    self[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(self, '/');
    if (slash) memcpy(slash + 1, CHECKER, sizeof(CHECKER));
    pid_t pid = fork();
    if (pid == 0) {
        dup2(output, STDOUT_FILENO);
        dup2(output, STDERR_FILENO);
        if (slash) execl(self, CHECKER, manifest, (char *)NULL);
        execlp(CHECKER, CHECKER, manifest, (char *)NULL);
        _exit(127);
    }
    int status = 0;
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
    return pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 126;
}

/* Prints what the checker has written. */
static void showOutput(FILE *output) {
    char part[4096];
    rewind(output);
    for (size_t n; (n = fread(part, 1, sizeof(part), output)) > 0;) fwrite(part, 1, n, stderr);
}

/* Returns false, after lines on stderr, if the copy is not valid. *checked: whether there was a checker. */
static bool checkCopy(const backupRun *b, bool *checked) {
    sds path = joined(b->to, b->manifest);
    FILE *output = tmpfile();
    int code = output ? runChecker(path, fileno(output)) : 127;
    *checked = code != 127;
    if (code == 127)
        fputs("The copy was not checked: there is no " CHECKER " beside this program or in PATH.\n", stderr);
    if (code != 0 && code != 127) {
        showOutput(output);
        fprintf(stderr, "The copy in '%s' is not valid.\n", b->to);
    }
    if (output) fclose(output);
    sdsFree(path);
    return code == 0 || code == 127;
}

/* Copies what the server has listed, and ends the backup in any case. */
static bool modeBackupCopy(backupRun *b, const char *manifest_text) {
    interruptCatch();
    bool copied = folderIsHere(b, manifest_text) && copyAll(b);
    bool ended = endBackup(b);
    if (copied && ended && writeManifest(b, manifest_text) && syncFolder(b->to)) return true;
    removeCopy(b);
    return false;
}

int modeBackup(cliConnection *c) {
    char id[LONG_STR_SIZE];
    backupRun b = {.c = c, .dir = c->options->backup_dir, .id = id};
    bool ok = false, checked = false;
    replyValue *started = ask(c, "START", NULL);
    const replyValue *number = started ? replyLookup(started, "id") : NULL;
    if (!number) {
        replyValueFree(started);
        return 1;
    }
    ll2string(id, number->integer);
    replyValue *sealed = ask(c, "SEAL", id);
    if (sealed && takeListing(&b, sealed)) {
        ok = modeBackupCopy(&b, replyLookupText(sealed, "manifest-text")) && checkCopy(&b, &checked);
        if (ok)
            fprintf(stderr,
                    "Saved %zu files, %llu bytes, in '%s'%s. To use it: valkey-server --appendonly yes --dir '%s'\n",
                    b.files->count, (unsigned long long)b.all, b.to, checked ? ", and checked them" : "", b.dir);
    } else {
        endBackup(&b);
    }
    replyValueFree(sealed);
    replyValueFree(started);
    sdsFree(b.from);
    sdsFree(b.to);
    return ok ? 0 : 1;
}
