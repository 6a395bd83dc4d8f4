/* aof_files.c -- the folder of the append-only file: reads its manifest, adopts files of older servers, creates the
 * first files.
 *
 * Owns        nothing.
 * Threads     as the header says.
 * Tests       tests/persist/aof.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "aof_files.h"

#include "aof_system.h"
#include "log.h"
#include "panic.h"
#include "persist_settings.h"
#include "rdb_save.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define MANIFEST_MAX ((size_t)64 << 20)

sds aofFolderPath(const char *dirname) {
    char here[PATH_MAX];
    if (getcwd(here, sizeof(here))) return aofPath(here, dirname);
    serverLog(LL_WARNING, "Can't determine the working directory: %s", strerror(errno));
    return NULL;
}

static bool exists(const char *path) { return aofSystemNow()->access(path, F_OK) == 0; }

/* --- the manifest ---------------------------------------------------------------------------------------- */

/* Returns the bytes of a small file, or NULL with errno. */
static sds readFile(const char *path) {
    char part[4096];
    sds text = sdsEmpty();
    ssize_t n;
    int fd = aofSystemNow()->open(path, O_RDONLY, 0);
    if (fd < 0) goto failed;
    while ((n = aofSystemNow()->read(fd, part, sizeof(part))) != 0) {
        if (n < 0 && errno == EINTR) continue;
        if (n > 0 && sdsLen(text) + (size_t)n > MANIFEST_MAX) errno = EFBIG, n = -1;
        if (n < 0) goto failed;
        text = sdsCatLen(text, part, (size_t)n);
    }
    aofSystemNow()->close(fd);
    return text;
failed:;
    int error = errno;
    if (fd >= 0) aofSystemNow()->close(fd);
    sdsFree(text);
    errno = error;
    return NULL;
}

aofManifest *aofFilesRead(const char *folder, const char *stem) {
    sds name = aofManifestName(stem), path = aofPath(folder, name);
    aofManifest *m = NULL;
    if (!exists(path)) {
        m = aofManifestCreate();
    } else {
        sds text = readFile(path);
        aofManifestFault fault;
        if (text && !(m = aofManifestParse(sdsSlice(text), &fault))) aofManifestLogFault(&fault);
        if (!text)
            serverLog(LL_WARNING, "Fatal error: can't open the AOF manifest file %s for reading: %s", name,
                      strerror(errno));
        sdsFree(text);
    }
    sdsFree(name);
    sdsFree(path);
    return m;
}

bool aofFilesReplaceManifest(const char *folder, const char *stem, const aofManifest *m, bool *replaced) {
    sds text = aofManifestText(m), name = aofManifestName(stem), temporary = sdsCat(sdsNew("temp-"), name);
    *replaced = false;
    errno = ENAMETOOLONG;
    bool ok = text && aofReplaceFile(folder, temporary, name, sdsSlice(text), replaced) == 0;
    int error = errno;
    sdsFree(text);
    sdsFree(name);
    sdsFree(temporary);
    errno = error;
    return ok;
}

static bool writeManifest(const char *folder, const char *stem, const aofManifest *m) {
    bool replaced;
    if (aofFilesReplaceManifest(folder, stem, m, &replaced)) return true;
    serverLog(LL_WARNING, "Can't write the AOF manifest %s/%s.manifest: %s", folder, stem, strerror(errno));
    return false;
}

/* --- files of older servers ------------------------------------------------------------------------------ */

/* Returns whether the old single file becomes the base: there are no files in the manifest, or it names the old one as
 * its base, but the file was not moved yet. */
static bool wantsOldFile(const aofManifest *m, const char *folder, const char *stem) {
    if (m->count == 0) return true;
    const aofFile *base = aofManifestBase(m);
    if (m->count != 1 || !base || strcmp(base->name, stem) != 0) return false;
    sds path = aofPath(folder, stem);
    bool moved = exists(path);
    sdsFree(path);
    return !moved;
}

/* Writes the manifest that names the file, then moves it. wantsOldFile() detects a crash between the two. */
static bool takeOldFile(const char *folder, const char *stem, const char *old, aofManifest *m) {
    sds path = aofPath(folder, stem);
    bool ok = true;
    if (m->count == 0) {
        aofManifestAdoptBase(m, stem);
        ok = writeManifest(folder, stem, m);
    }
    if (ok && (aofSystemNow()->rename(old, path) != 0 || aofSyncFolder(folder) != 0)) {
        serverLog(LL_WARNING, "Can't move the AOF file %s into the directory %s: %s", stem, folder, strerror(errno));
        ok = false;
    }
    sdsFree(path);
    if (ok)
        serverLog(LL_NOTICE, "Successfully migrated an old-style AOF file (%s) into the AOF directory (%s).", stem,
                  persist_settings.appenddirname);
    return ok;
}

static bool makeFolder(const char *folder) {
    if (aofSystemNow()->make_folder(folder, 0755) != 0) return errno == EEXIST;
    sds parent = aofPath(folder, "..");
    bool ok = aofSyncFolder(parent) == 0;
    int error = errno;
    sdsFree(parent);
    errno = error;
    return ok;
}

aofManifest *aofFilesInspect(const char *folder, const char *stem) {
    if (!aofNameFits(stem)) {
        serverLog(LL_WARNING,
                  "appendfilename %s is too long for the file names that are derived from it. Set a shorter one.",
                  stem);
        return NULL;
    }
    if (!makeFolder(folder)) {
        serverLog(LL_WARNING, "Can't open or create append-only dir %s: %s", folder, strerror(errno));
        return NULL;
    }
    return aofFilesRead(folder, stem);
}

bool aofFilesTry(const char *folder, const char *stem) {
    aofManifest *m = aofFilesInspect(folder, stem);
    if (!m) return false;
    aofManifestFree(m);
    sds name = sdsCatPrintf(sdsEmpty(), "temp-%s.try", stem), path = aofPath(folder, name);
    int fd = aofSystemNow()->open(path, O_WRONLY | O_CREAT, 0644);
    if (fd < 0) serverLog(LL_WARNING, "Can't open or create append-only dir %s: %s", folder, strerror(errno));
    else aofSystemNow()->close(fd), aofSystemNow()->unlink(path);
    sdsFree(name);
    sdsFree(path);
    return fd >= 0;
}

aofManifest *aofFilesFind(const char *folder, const char *stem) {
    aofManifest *m = aofFilesInspect(folder, stem);
    if (!m || !exists(stem) || !wantsOldFile(m, folder, stem)) return m;
    if (takeOldFile(folder, stem, stem, m)) return m;
    aofManifestFree(m);
    return NULL;
}

/* --- the first files ------------------------------------------------------------------------------------- */

/* Returns whether a file with this number exists although no manifest names it: it is a remainder of a log that its
 * owner may want back, and is not overwritten. */
static bool isTaken(const char *folder, const char *stem, long long seq, const char *ending) {
    sds name = sdsCatPrintf(sdsEmpty(), "%s.%lld.%s", stem, seq, ending), path = aofPath(folder, name);
    bool taken = exists(path);
    if (taken)
        serverLog(LL_WARNING, "The AOF manifest does not list the file %s, which is neither loaded nor overwritten",
                  path);
    sdsFree(name);
    sdsFree(path);
    return taken;
}

static bool writeEmptyBase(const char *folder, const char *name) {
    sds temporary = sdsCatPrintf(sdsEmpty(), "temp-rewriteaof-%d.aof", (int)getpid());
    bool replaced, ok = aofReplaceFile(folder, temporary, name, sliceOf("", 0), &replaced) == 0;
    sdsFree(temporary);
    return ok;
}

/* Writes an empty snapshot. The dataset must be empty. */
static bool writeEmptySnapshot(const char *folder, const char *name) {
    rdbSaveOptions options = rdbSaveDefaults();
    options.is_aof_base = true;
    options.version = rdbSaveVersion(true);
    sds path = aofPath(folder, name);
    bool ok = rdbSaveFile(path, &options);
    sdsFree(path);
    return ok;
}

static void skipTakenBases(const char *folder, const char *stem, aofManifest *m) {
    while (isTaken(folder, stem, m->base_seq + 1, "base.aof") || isTaken(folder, stem, m->base_seq + 1, "base.rdb"))
        m->base_seq++;
}

static void skipTakenIncrs(const char *folder, const char *stem, aofManifest *m) {
    while (isTaken(folder, stem, m->incr_seq + 1, "incr.aof")) m->incr_seq++;
}

void aofFilesSkipTaken(const char *folder, const char *stem, aofManifest *m) {
    skipTakenBases(folder, stem, m);
    skipTakenIncrs(folder, stem, m);
}

bool aofFilesBegin(const char *folder, const char *stem, aofManifest *m) {
    debugAssert(m->count == 0);
    skipTakenBases(folder, stem, m);
    bool snapshot = persist_settings.aof_use_rdb_preamble;
    aofManifestSwitchBase(m, stem, snapshot ? "rdb" : "aof", 0);
    const char *name = aofManifestBase(m)->name;
    bool ok = snapshot ? writeEmptySnapshot(folder, name) : writeEmptyBase(folder, name);
    if (ok) serverLog(LL_NOTICE, "Creating AOF base file %s on server start", name);
    else serverLog(LL_WARNING, "Can't create the AOF base file %s: %s", name, strerror(errno));
    return ok;
}

void aofFilesDeleteHistory(const char *folder, const aofManifest *m) {
    for (size_t i = m->history; i < m->incrs; i++) {
        sds path = aofPath(folder, m->files[i].name);
        if (aofRemoveFile(path) != 0 && errno != ENOENT)
            serverLog(LL_WARNING, "Can't remove the AOF history file %s: %s", path, strerror(errno));
        sdsFree(path);
    }
}

bool aofFilesTakeBase(const char *folder, const char *stem, const char *path, const char *ending) {
    aofManifest *m = makeFolder(folder) ? aofFilesRead(folder, stem) : NULL;
    if (!m) return false;
    skipTakenBases(folder, stem, m);
    aofManifestSwitchBase(m, stem, ending, 0);
    sds base = aofPath(folder, aofManifestBase(m)->name);
    bool ok = aofSystemNow()->rename(path, base) == 0 && aofSyncFolder(folder) == 0;
    if (!ok) serverLog(LL_WARNING, "Can't rename %s to the AOF base file %s: %s", path, base, strerror(errno));
    if (ok) ok = writeManifest(folder, stem, m);
    if (ok && !persist_settings.aof_disable_auto_gc) {
        aofFilesDeleteHistory(folder, m);
        aofManifestDropHistory(m);
        debugAssert(m->count == 1); /* the base alone: there is no log that could go on */
        (void)writeManifest(folder, stem, m);
    }
    sdsFree(base);
    aofManifestFree(m);
    return ok;
}

static int openAppending(const char *folder, const char *name, int flags, off_t *size) {
    struct stat st;
    sds path = aofPath(folder, name);
    int fd = aofSystemNow()->open(path, O_WRONLY | O_APPEND | O_CREAT | flags, 0644);
    if (fd >= 0 && fstat(fd, &st) == 0) *size = st.st_size;
    else serverLog(LL_WARNING, "Can't open the append-only file %s: %s", name, strerror(errno));
    sdsFree(path);
    return fd;
}

int aofFilesOpenIncr(const char *folder, const char *stem, aofManifest *m, off_t *size) {
    const aofFile *last = aofManifestLastIncr(m);
    *size = 0;
    if (last) {
        serverLog(LL_NOTICE, "Opening AOF incr file %s on server start", last->name);
        return openAppending(folder, last->name, 0, size);
    }
    skipTakenIncrs(folder, stem, m);
    aofManifestAddIncr(m, stem);
    last = aofManifestLastIncr(m);
    int fd = openAppending(folder, last->name, O_EXCL, size);
    if (fd < 0) return fd;
    serverLog(LL_NOTICE, "Creating AOF incr file %s on server start", last->name);
    int rc = aofSyncFolder(folder);
    if (rc != 0) serverLog(LL_WARNING, "Can't sync the append-only directory %s: %s", folder, strerror(errno));
    if (rc == 0 && writeManifest(folder, stem, m)) return fd;
    aofSystemNow()->close(fd);
    return -1;
}
