/* model_disk.c -- a simulated disk that knows what a crash would leave.
 *
 * A file has its bytes and those covered by a sync; a name has the file that it refers to, and the one that it referred
 * to when its folder was synced last. There is one folder. A failed sync covers nothing, and its bytes are never
 * covered by a later one, as in real systems.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "model_disk.h"

#include "unit.h"
#include "zmalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#define FILES_MAX 4096
#define NAMES_MAX 4096
#define FOLDER_FD 100000

typedef struct modelFile {
    sds bytes, synced; /* own; synced: a prefix, as far as it is known to be on disk */
    bool lost;         /* a sync has failed: bytes that it did not cover never will be */
    int opens;
    size_t read_to; /* read position of the last open */
} modelFile;

typedef struct modelName {
    char path[64];
    int now, durable; /* index of the file; -1: none */
} modelName;

static struct {
    pthread_mutex_t lock;
    modelFile files[FILES_MAX];
    int file_count;
    modelName names[NAMES_MAX];
    int name_count;
    int per_mille[CALL_KINDS], error[CALL_KINDS];
    long calls[CALL_KINDS], open_files, freed_by_aof;
    int slow_us;
    uint64_t seed;
    void (*check)(void);
} disk = {.lock = PTHREAD_MUTEX_INITIALIZER};

static modelName *findName(const char *path) {
    for (int i = 0; i < disk.name_count; i++)
        if (!strcmp(disk.names[i].path, path)) return &disk.names[i];
    return NULL;
}

static modelName *makeName(const char *path) {
    modelName *n = findName(path);
    if (n) return n;
    n = &disk.names[disk.name_count++];
    snprintf(n->path, sizeof(n->path), "%s", path);
    n->now = n->durable = -1;
    return n;
}

static int makeFile(void) {
    disk.files[disk.file_count] = (modelFile){.bytes = sdsEmpty(), .synced = sdsEmpty()};
    return disk.file_count++;
}

/* Begins each call: checks what a crash would leave, and returns whether the call fails. */
static bool enter(diskCall kind) {
    pthread_mutex_lock(&disk.lock);
    disk.calls[kind]++;
    if (disk.check) disk.check();
    bool fails = (int)(unitRandom(&disk.seed) % 1000) < disk.per_mille[kind];
    if (fails) errno = disk.error[kind];
    return !fails;
}

static int leave(int rc) {
    int error = errno;
    pthread_mutex_unlock(&disk.lock);
    errno = error;
    return rc;
}

/* Truncates a file; its unsynced bytes do not matter any more. */
static void emptyFile(modelFile *f) {
    sdsClear(f->bytes);
    sdsClear(f->synced);
    f->lost = false;
}

static int modelOpen(const char *path, int flags, mode_t mode) {
    unused(mode);
    if (!enter(CALL_OPEN)) return leave(-1);
    if (flags & O_DIRECTORY) return leave(FOLDER_FD);
    modelName *n = flags & O_CREAT ? makeName(path) : findName(path);
    if (!n || (n->now < 0 && !(flags & O_CREAT))) {
        errno = ENOENT;
        return leave(-1);
    }
    if (n->now < 0) n->now = makeFile();
    if (flags & O_TRUNC) emptyFile(&disk.files[n->now]);
    disk.files[n->now].opens++;
    disk.files[n->now].read_to = 0;
    disk.open_files++;
    return leave(n->now);
}

/* Counts a file whose last name or descriptor is removed: its blocks are freed then. */
static void freeIfGone(int file) {
    char name[32] = "";
    for (int i = 0; i < disk.name_count; i++)
        if (disk.names[i].now == file) return;
    if (disk.files[file].opens > 0) return;
    pthread_getname_np(pthread_self(), name, sizeof(name));
    disk.freed_by_aof += !strcmp(name, "aof");
}

static int modelClose(int fd) {
    pthread_mutex_lock(&disk.lock);
    if (fd != FOLDER_FD) {
        CHECK(disk.files[fd].opens > 0);
        disk.files[fd].opens--;
        disk.open_files--;
        freeIfGone(fd);
    }
    return leave(0);
}

static int modelAccess(const char *path, int mode) {
    unused(mode);
    pthread_mutex_lock(&disk.lock);
    const modelName *n = findName(path);
    bool there = n && n->now >= 0;
    errno = ENOENT;
    return leave(there ? 0 : -1);
}

static ssize_t modelRead(int fd, void *bytes, size_t len) {
    pthread_mutex_lock(&disk.lock);
    modelFile *f = &disk.files[fd];
    size_t n = sdsLen(f->bytes) - f->read_to;
    if (n > len) n = len;
    memcpy(bytes, f->bytes + f->read_to, n);
    f->read_to += n;
    leave(0);
    return (ssize_t)n;
}

static ssize_t modelWritev(int fd, const struct iovec *parts, int count) {
    bool good = enter(CALL_WRITE);
    size_t total = 0, done = 0;
    for (int i = 0; i < count; i++) total += parts[i].iov_len;
    size_t most = good ? total : unitRandom(&disk.seed) % 2 ? unitRandom(&disk.seed) % total : 0;
    CHECK(disk.files[fd].opens > 0);
    for (int i = 0; i < count && done < most; i++) {
        size_t n = parts[i].iov_len < most - done ? parts[i].iov_len : most - done;
        disk.files[fd].bytes = sdsCatLen(disk.files[fd].bytes, parts[i].iov_base, n);
        done += n;
    }
    leave(0);
    return done || good ? (ssize_t)done : -1;
}

/* Sleeps as long as a sync takes, while other threads continue. */
static void dwell(void) {
    int us = disk.slow_us;
    if (us == 0) return;
    leave(0);
    usleep((useconds_t)us);
    pthread_mutex_lock(&disk.lock);
}

/* Syncs the least that a system may: the bytes written when it began. */
static int modelSync(int fd) {
    bool good = enter(CALL_SYNC);
    int error = errno;
    size_t bytes = fd == FOLDER_FD ? 0 : sdsLen(disk.files[fd].bytes);
    dwell();
    errno = error;
    if (fd == FOLDER_FD) {
        for (int i = 0; good && i < disk.name_count; i++) disk.names[i].durable = disk.names[i].now;
        return leave(good ? 0 : -1);
    }
    modelFile *f = &disk.files[fd];
    CHECK(f->opens > 0);
    f->lost |= !good && sdsLen(f->synced) < bytes;
    if (good && !f->lost) f->synced = sdsCpyLen(f->synced, f->bytes, bytes);
    return leave(good ? 0 : -1);
}

static int modelTruncate(int fd, off_t size) {
    if (!enter(CALL_TRUNCATE)) return leave(-1);
    modelFile *f = &disk.files[fd];
    CHECK((size_t)size >= sdsLen(f->synced));
    sdsIncrLen(f->bytes, (ptrdiff_t)size - (ptrdiff_t)sdsLen(f->bytes));
    return leave(0);
}

static int modelRename(const char *from, const char *to) {
    if (!enter(CALL_RENAME)) return leave(-1);
    modelName *a = findName(from);
    if (!a || a->now < 0) {
        errno = ENOENT;
        return leave(-1);
    }
    makeName(to)->now = a->now;
    a->now = -1;
    return leave(0);
}

static int modelUnlink(const char *path) {
    if (!enter(CALL_UNLINK)) return leave(-1);
    modelName *n = findName(path);
    errno = ENOENT;
    if (!n || n->now < 0) return leave(-1);
    int file = n->now;
    n->now = -1;
    freeIfGone(file);
    return leave(0);
}

static int modelFolder(const char *path, mode_t mode) {
    unused(path), unused(mode);
    return 0;
}

static off_t modelSize(const char *path) {
    pthread_mutex_lock(&disk.lock);
    const modelName *n = findName(path);
    bool there = n && n->now >= 0;
    off_t size = there ? (off_t)sdsLen(disk.files[n->now].bytes) : -1;
    errno = ENOENT;
    leave(0);
    return size;
}

static const aofSystem model = {.open = modelOpen,
                                .close = modelClose,
                                .access = modelAccess,
                                .read = modelRead,
                                .writev = modelWritev,
                                .sync = modelSync,
                                .truncate = modelTruncate,
                                .rename = modelRename,
                                .unlink = modelUnlink,
                                .make_folder = modelFolder,
                                .size = modelSize};

void diskBegin(void (*check)(void)) {
    disk.file_count = disk.name_count = disk.slow_us = 0;
    memset(disk.per_mille, 0, sizeof(disk.per_mille));
    memset(disk.calls, 0, sizeof(disk.calls));
    disk.open_files = disk.freed_by_aof = 0;
    if (!disk.seed) disk.seed = unitRandomSeed();
    disk.check = check;
    aofSystemSet(&model);
}

void diskEnd(void) {
    for (int i = 0; i < disk.file_count; i++) sdsFree(disk.files[i].bytes), sdsFree(disk.files[i].synced);
    disk.file_count = 0;
    aofSystemSet(NULL);
}

void diskFail(diskCall kind, int per_mille, int error) {
    pthread_mutex_lock(&disk.lock);
    disk.per_mille[kind] = per_mille;
    disk.error[kind] = error;
    pthread_mutex_unlock(&disk.lock);
}

void diskSlow(int us) {
    pthread_mutex_lock(&disk.lock);
    disk.slow_us = us;
    pthread_mutex_unlock(&disk.lock);
}

sds diskContent(diskView view, const char *path) {
    modelName *n = findName(path);
    bool durable = view == DISK_LEAST || (view == DISK_MANIFEST && !strstr(path, ".manifest"));
    int file = !n ? -1 : durable ? n->durable : n->now;
    if (file < 0) return NULL;
    return sdsDup(view == DISK_ALL ? disk.files[file].bytes : disk.files[file].synced);
}

void diskPut(const char *path, slice bytes) {
    pthread_mutex_lock(&disk.lock);
    int file = makeFile();
    disk.files[file].bytes = sdsCatSlice(disk.files[file].bytes, bytes);
    disk.files[file].synced = sdsCatSlice(disk.files[file].synced, bytes);
    modelName *n = makeName(path);
    n->now = n->durable = file;
    pthread_mutex_unlock(&disk.lock);
}

long diskCalls(diskCall kind) {
    pthread_mutex_lock(&disk.lock);
    long n = disk.calls[kind];
    pthread_mutex_unlock(&disk.lock);
    return n;
}

long diskFreedByAof(void) {
    pthread_mutex_lock(&disk.lock);
    long n = disk.freed_by_aof;
    pthread_mutex_unlock(&disk.lock);
    return n;
}

long diskOpenFiles(void) {
    pthread_mutex_lock(&disk.lock);
    long n = disk.open_files;
    pthread_mutex_unlock(&disk.lock);
    return n;
}
