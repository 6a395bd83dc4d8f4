/* disk_shim.c -- preloaded into a server: logs its file operations, and makes them fail.
 *
 * A library for LD_PRELOAD that intercepts the calls that change files below DISK_SHIM_ROOT.
 *
 *   DISK_SHIM_LOG      each call that has changed something is appended here with its data: power_loss.py derives from
 *   it the states that may be on disk after a loss of power DISK_SHIM_CONTROL  a mapped file of `struct control`: calls
 *   fail, are late or short, as faults.py requests DISK_SHIM_PLANT    a name of `enum plant`: a simulated fault of the
 *   program itself, which a check must find
 *
 * A record is written after its call has returned and before the program continues, by one write to a file opened for
 * appending: so an operation that depends on one of another thread comes later in the log. A sync has two records, as
 * it covers only bytes written before it began, and only once it has ended.
 *
 * Writes of stdio happen within the C library and are not intercepted: such files are read when they are flushed,
 * synced, renamed or closed, and appended bytes count as written then.
 *
 * Not here    memory-mapped writes, io_uring, descriptors passed around.
 * Threads     any, and forked children.
 *
 * SPDX-License-Identifier: BSD-3-Clause */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define FD_MAX 16384

enum op { OP_OPEN = 1, OP_WRITE, OP_SYNC_BEGIN, OP_SYNC_END, OP_RENAME, OP_UNLINK, OP_TRUNCATE, OP_MKDIR, OP_LINK };

/* Followed by the two paths and the data; disk_log.py reads it. */
struct record {
    uint32_t size; /* of the whole record */
    uint16_t op, path_length, other_length, is_folder;
    int32_t pid;
    uint64_t time_ns, inode;
    int64_t offset; /* of a write; new length of a truncate; flags of an open; number of a sync */
    int64_t existed;
};

/* The contents of the mapped file, which faults.py writes. Zero: no fault. */
struct control {
    int64_t write_error, write_bytes_left; /* bytes that are still written before the error */
    int64_t sync_error, rename_error, open_error, unlink_error;
    int64_t write_delay_us, sync_delay_us;
    int64_t short_write;   /* maximum length of a write */
    int64_t times;         /* remaining number of failures; negative: unlimited */
    _Atomic int64_t count; /* number of failures so far */
    int64_t unused[5];
    char filter[128]; /* only files whose path contains this */
};

enum plant {
    PLANT_NONE,
    DROP_SYNC,        /* files are never synced */
    DROP_SOME_SYNCS,  /* every fifth sync does nothing */
    DROP_TEMP_SYNC,   /* temporary files are not synced before they are renamed */
    DROP_FOLDER_SYNC, /* folders are never synced */
    LATE_WRITE,       /* a write to an increment is delayed until the next write */
    LOSE_WRITE,       /* one write in 50 to an increment does not happen */
    TWICE_WRITE,      /* one write in 50 to an increment happens twice */
    SWAP_WRITES,      /* one write in 20 to an increment comes after the next one */
    BARE_TRANSACTIONS /* MULTI and EXEC are left out, and each write is split in two */
};

static const char *const plant_names[] = {
    "",           "drop-sync",  "drop-some-syncs", "drop-temp-sync", "drop-folder-sync",
    "late-write", "lose-write", "twice-write",     "swap-writes",    "bare-transactions"};

static struct {
    char root[PATH_MAX];
    size_t root_length;
    int log_fd;
    pid_t log_of; /* the process that has opened the log */
    struct control *control;
    enum plant plant;
    _Atomic uint64_t syncs, writes;
    _Atomic(char *) paths[FD_MAX];  /* of descriptors below the root; never freed, as there are few */
    _Atomic(bool) by_stdio[FD_MAX]; /* written by stdio */
    _Atomic int64_t seen[FD_MAX];   /* bytes of such a file that are in the log */
    char *held;                     /* owns; a write that a plant delays */
    size_t held_length;
    _Atomic int lock;
} shim = {.log_fd = -1};

static int (*real_open)(const char *, int, ...);
static int (*real_openat)(int, const char *, int, ...);
static FILE *(*real_fopen)(const char *, const char *);
static ssize_t (*real_write)(int, const void *, size_t);
static ssize_t (*real_writev)(int, const struct iovec *, int);
static ssize_t (*real_pwrite)(int, const void *, size_t, off_t);
static size_t (*real_fwrite)(const void *, size_t, size_t, FILE *);
static int (*real_fflush)(FILE *);
static int (*real_fclose)(FILE *);
static int (*real_close)(int);
static int (*real_fsync)(int);
static int (*real_fdatasync)(int);
static int (*real_sync_file_range)(int, off64_t, off64_t, unsigned int);
static int (*real_rename)(const char *, const char *);
static int (*real_renameat)(int, const char *, int, const char *);
static int (*real_unlink)(const char *);
static int (*real_unlinkat)(int, const char *, int);
static int (*real_ftruncate)(int, off_t);
static int (*real_truncate)(const char *, off_t);
static int (*real_mkdir)(const char *, mode_t);
static int (*real_link)(const char *, const char *);

static void *next(const char *name) {
    return dlsym(RTLD_NEXT, name);
}

static void resolve(void) {
    real_open = (int (*)(const char *, int, ...))next("open");
    real_openat = (int (*)(int, const char *, int, ...))next("openat");
    real_fopen = (FILE * (*)(const char *, const char *)) next("fopen");
    real_write = (ssize_t(*)(int, const void *, size_t))next("write");
    real_writev = (ssize_t(*)(int, const struct iovec *, int))next("writev");
    real_pwrite = (ssize_t(*)(int, const void *, size_t, off_t))next("pwrite");
    real_fwrite = (size_t(*)(const void *, size_t, size_t, FILE *))next("fwrite");
    real_fflush = (int (*)(FILE *))next("fflush");
    real_fclose = (int (*)(FILE *))next("fclose");
    real_close = (int (*)(int))next("close");
    real_fsync = (int (*)(int))next("fsync");
    real_fdatasync = (int (*)(int))next("fdatasync");
    real_sync_file_range = (int (*)(int, off64_t, off64_t, unsigned int))next("sync_file_range");
    real_rename = (int (*)(const char *, const char *))next("rename");
    real_renameat = (int (*)(int, const char *, int, const char *))next("renameat");
    real_unlink = (int (*)(const char *))next("unlink");
    real_unlinkat = (int (*)(int, const char *, int))next("unlinkat");
    real_ftruncate = (int (*)(int, off_t))next("ftruncate");
    real_truncate = (int (*)(const char *, off_t))next("truncate");
    real_mkdir = (int (*)(const char *, mode_t))next("mkdir");
    real_link = (int (*)(const char *, const char *))next("link");
}

static void open_log(const char *log) {
    int fd = real_open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    shim.log_fd = fcntl(fd, F_DUPFD_CLOEXEC, 400);
    if (shim.log_fd < 0) shim.log_fd = fd;
    else real_close(fd);
    shim.log_of = getpid();
}

__attribute__((constructor)) static void begin(void) {
    const char *root = getenv("DISK_SHIM_ROOT"), *log = getenv("DISK_SHIM_LOG"), *control = getenv("DISK_SHIM_CONTROL");
    const char *plant = getenv("DISK_SHIM_PLANT");

    if (real_open == NULL) resolve();
    if (root == NULL || strlen(root) >= sizeof(shim.root)) return;
    strcpy(shim.root, root);
    if (log) open_log(log);
    if (control) {
        int fd = real_open(control, O_RDWR | O_CLOEXEC);
        void *at = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(struct control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        shim.control = at == MAP_FAILED ? NULL : at;
        if (fd >= 0) real_close(fd);
    }
    for (size_t i = 1; plant && i < sizeof(plant_names) / sizeof(*plant_names); i++) {
        if (strcmp(plant, plant_names[i]) == 0) shim.plant = (enum plant)i;
    }
    shim.root_length = strlen(shim.root);
}

/* ---- Paths ---- */

/* Stores PATH in OUT, absolute and without "." and ".."; returns whether it is below the root. */
static bool below_root(const char *path, char out[PATH_MAX]) {
    char whole[PATH_MAX * 2], *part, *rest = NULL;
    size_t length = 0;

    if (shim.root_length == 0 || path == NULL || strlen(path) >= PATH_MAX) return false;
    whole[0] = '\0';
    if (path[0] != '/' && getcwd(whole, PATH_MAX) == NULL) return false;
    strcat(whole, "/");
    strcat(whole, path);
    for (part = strtok_r(whole, "/", &rest); part; part = strtok_r(NULL, "/", &rest)) {
        if (strcmp(part, ".") == 0) continue;
        if (strcmp(part, "..") == 0) {
            while (length > 0 && out[--length] != '/') continue;
            continue;
        }
        if (length + strlen(part) + 2 > PATH_MAX) return false;
        out[length++] = '/';
        strcpy(out + length, part);
        length += strlen(part);
    }
    out[length] = '\0';
    return strncmp(out, shim.root, shim.root_length) == 0 && (out[shim.root_length] == '/' || !out[shim.root_length]);
}

static bool below_root_at(int folder, const char *path, char out[PATH_MAX]) {
    char link[64], whole[PATH_MAX * 2];

    if (folder == AT_FDCWD || path[0] == '/') return below_root(path, out);
    snprintf(link, sizeof(link), "/proc/self/fd/%d", folder);
    ssize_t n = readlink(link, whole, PATH_MAX - 1);
    if (n < 0 || strlen(path) >= PATH_MAX - 1) return false;
    whole[n] = '/';
    strcpy(whole + n + 1, path);
    return below_root(whole, out);
}

static const char *path_of(int fd) {
    return fd >= 0 && fd < FD_MAX ? atomic_load(&shim.paths[fd]) : NULL;
}

/* ---- The log ---- */

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void note(struct record r, const char *path, const char *other, const struct iovec *data, int count) {
    struct iovec parts[64];
    int error = errno, n = 0;
    size_t size = sizeof(r);

    if (shim.log_fd < 0) return;
    r.pid = getpid();
    if (shim.log_of != r.pid) open_log(getenv("DISK_SHIM_LOG")); /* a child closes unknown descriptors */
    r.time_ns = now_ns();
    r.path_length = path ? (uint16_t)strlen(path) : 0;
    r.other_length = other ? (uint16_t)strlen(other) : 0;
    parts[n++] = (struct iovec){&r, sizeof(r)};
    if (path) parts[n++] = (struct iovec){(void *)(uintptr_t)path, r.path_length};
    if (other) parts[n++] = (struct iovec){(void *)(uintptr_t)other, r.other_length};
    for (int i = 0; i < count && n < 64; i++) parts[n++] = data[i];
    for (int i = 1; i < n; i++) size += parts[i].iov_len;
    r.size = (uint32_t)size;
    if (real_writev(shim.log_fd, parts, n) != (ssize_t)size) abort(); /* the log would be useless */
    errno = error;
}

static uint64_t inode_of(int fd, bool *is_folder) {
    struct stat s;
    if (fstat(fd, &s)) return 0;
    if (is_folder) *is_folder = S_ISDIR(s.st_mode);
    return s.st_ino;
}

/* Logs the bytes appended by stdio to a file since it was last read. */
static void note_added(int fd) {
    char link[64], data[65536];
    struct stat s;

    if (shim.log_fd < 0 || path_of(fd) == NULL || !atomic_load(&shim.by_stdio[fd]) || fstat(fd, &s)) return;
    int64_t at = atomic_load(&shim.seen[fd]);
    if (s.st_size <= at) return;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    int reader = real_open(link, O_RDONLY | O_CLOEXEC);
    while (reader >= 0 && at < s.st_size) {
        ssize_t n = pread(reader, data, sizeof(data), at);
        if (n <= 0) break;
        struct iovec part = {data, (size_t)n};
        note((struct record){.op = OP_WRITE, .inode = s.st_ino, .offset = at}, NULL, NULL, &part, 1);
        at += n;
    }
    if (reader >= 0) real_close(reader);
    atomic_store(&shim.seen[fd], at);
}

/* Logs all files of stdio, as a rename may depend on writes to any of them. */
static void note_all_added(void) {
    for (int fd = 0; shim.log_fd >= 0 && fd < FD_MAX; fd++) {
        if (atomic_load_explicit(&shim.by_stdio[fd], memory_order_relaxed)) note_added(fd);
    }
}

static void note_opened(int fd, const char *path, int flags, bool existed, bool stdio) {
    bool is_folder = false;

    if (fd < 0 || fd >= FD_MAX) return;
    uint64_t inode = inode_of(fd, &is_folder);
    atomic_store(&shim.by_stdio[fd], stdio && (flags & O_ACCMODE) != O_RDONLY);
    atomic_store(&shim.seen[fd], 0);
    if (stdio && !(flags & O_TRUNC)) {
        struct stat s;
        if (fstat(fd, &s) == 0) atomic_store(&shim.seen[fd], s.st_size);
    }
    atomic_store(&shim.paths[fd], strdup(path));
    if (!is_folder && (flags & O_ACCMODE) == O_RDONLY) return;
    note((struct record){.op = OP_OPEN,
                         .inode = inode,
                         .offset = flags & (O_CREAT | O_TRUNC),
                         .existed = existed,
                         .is_folder = is_folder},
         path, NULL, NULL, 0);
}

/* ---- Faults on demand ---- */

static bool concerns(const char *path) {
    return shim.control && path && shim.control->times != 0 && strstr(path, shim.control->filter) != NULL;
}

/* Returns whether a call fails with ERROR. */
static bool fails(const char *path, int64_t error) {
    if (error == 0 || !concerns(path)) return false;
    if (shim.control->times > 0) shim.control->times--;
    atomic_fetch_add(&shim.control->count, 1);
    errno = (int)error;
    return true;
}

static void delay(const char *path, int64_t us) {
    if (us <= 0 || !concerns(path)) return;
    atomic_fetch_add(&shim.control->count, 1);
    struct timespec t = {us / 1000000, us % 1000000 * 1000};
    while (nanosleep(&t, &t) && errno == EINTR) continue;
}

/* Returns how many of LENGTH bytes are written; -1 with errno if none. */
static ssize_t allowed(const char *path, size_t length) {
    struct control *c = shim.control;

    if (!concerns(path)) return (ssize_t)length;
    delay(path, c->write_delay_us);
    if (c->short_write > 0 && (int64_t)length > c->short_write) {
        atomic_fetch_add(&c->count, 1);
        length = (size_t)c->short_write;
    }
    if (c->write_error == 0) return (ssize_t)length;
    if (c->write_bytes_left <= 0) return fails(path, c->write_error) ? -1 : (ssize_t)length;
    if ((int64_t)length > c->write_bytes_left) {
        atomic_fetch_add(&c->count, 1);
        length = (size_t)c->write_bytes_left;
    }
    c->write_bytes_left -= (int64_t)length;
    return (ssize_t)length;
}

/* ---- Planted faults of writing; calls return success --------------------- */

static ssize_t write_whole(int fd, const char *data, size_t length) {
    size_t done = 0;
    while (done < length) {
        ssize_t n = real_write(fd, data + done, length - done);
        if (n < 0) return -1;
        struct iovec part = {(void *)(uintptr_t)(data + done), (size_t)n};
        int64_t end = lseek(fd, 0, SEEK_CUR);
        note((struct record){.op = OP_WRITE, .inode = inode_of(fd, NULL), .offset = end - n}, NULL, NULL, &part, 1);
        done += (size_t)n;
    }
    return (ssize_t)length;
}

static void hold(const char *data, size_t length) {
    free(shim.held);
    shim.held = malloc(length);
    memcpy(shim.held, data, length);
    shim.held_length = length;
}

static void let_go(int fd) {
    if (shim.held == NULL) return;
    write_whole(fd, shim.held, shim.held_length);
    free(shim.held);
    shim.held = NULL;
}

static void write_bare(int fd, const char *data, size_t length) {
    static const char *const words[] = {"*1\r\n$5\r\nMULTI\r\n", "*1\r\n$4\r\nEXEC\r\n", "*1\r\n$5\r\nmulti\r\n",
                                        "*1\r\n$4\r\nexec\r\n"};
    char *out = malloc(length);
    size_t n = 0;
    for (size_t at = 0; at < length;) {
        size_t skip = 0;
        for (int i = 0; i < 4 && skip == 0; i++) {
            size_t word = strlen(words[i]);
            if (at + word <= length && memcmp(data + at, words[i], word) == 0) skip = word;
        }
        if (skip == 0) out[n++] = data[at];
        at += skip ? skip : 1;
    }
    write_whole(fd, out, n / 2);
    struct timespec t = {0, 3000000};
    nanosleep(&t, NULL);
    write_whole(fd, out + n / 2, n - n / 2);
    free(out);
}

/* Returns whether a plant has handled a write. */
static bool planted_write(int fd, const char *path, const char *data, size_t length) {
    if (shim.plant < LATE_WRITE || strstr(path, "incr") == NULL) return false;
    uint64_t number = atomic_fetch_add(&shim.writes, 1);
    switch (shim.plant) {
    case LATE_WRITE:
        let_go(fd);
        hold(data, length);
        return true;
    case LOSE_WRITE: return number % 50 == 49;
    case TWICE_WRITE:
        if (number % 50 == 49) write_whole(fd, data, length);
        return false;
    case SWAP_WRITES:
        if (number % 20 == 19) {
            hold(data, length);
            return true;
        }
        write_whole(fd, data, length);
        let_go(fd);
        return true;
    case BARE_TRANSACTIONS: write_bare(fd, data, length); return true;
    default: return false;
    }
}

static bool planted_sync(const char *path, bool is_folder) {
    switch (shim.plant) {
    case DROP_SYNC: return !is_folder;
    case DROP_SOME_SYNCS: return atomic_fetch_add(&shim.syncs, 1) % 5 == 4;
    case DROP_TEMP_SYNC: return !is_folder && strstr(path, "temp") != NULL;
    case DROP_FOLDER_SYNC: return is_folder;
    default: return false;
    }
}

/* ---- The calls ---- */

static int open_below(const char *path, int flags, mode_t mode, int folder, const char *given) {
    struct stat s;
    bool existed = stat(path, &s) == 0;

    if (!existed && (flags & O_CREAT) && shim.control && fails(path, shim.control->open_error)) return -1;
    int fd = folder == AT_FDCWD ? real_open(given, flags, mode) : real_openat(folder, given, flags, mode);
    if (fd >= 0) note_opened(fd, path, flags, existed, false);
    return fd;
}

#define TAKE_MODE(flags)                   \
    mode_t mode = 0;                       \
    if ((flags) & (O_CREAT | O_TMPFILE)) { \
        va_list list;                      \
        va_start(list, flags);             \
        mode = (mode_t)va_arg(list, int);  \
        va_end(list);                      \
    }

EXPORT int open(const char *path, int flags, ...) {
    char whole[PATH_MAX];
    TAKE_MODE(flags)
    if (real_open == NULL) resolve();
    if (!below_root(path, whole)) return real_open(path, flags, mode);
    return open_below(whole, flags, mode, AT_FDCWD, path);
}

EXPORT int openat(int folder, const char *path, int flags, ...) {
    char whole[PATH_MAX];
    TAKE_MODE(flags)
    if (real_openat == NULL) resolve();
    if (!below_root_at(folder, path, whole)) return real_openat(folder, path, flags, mode);
    return open_below(whole, flags, mode, folder, path);
}

EXPORT int creat(const char *path, mode_t mode) {
    return open(path, O_WRONLY | O_CREAT | O_TRUNC, mode);
}

/* The name is known only afterwards; the file is always new. */
EXPORT int mkostemp(char *template, int flags) {
    static int (*real)(char *, int);
    char whole[PATH_MAX];
    if (real == NULL) real = (int (*)(char *, int))next("mkostemp");
    if (shim.control && below_root(template, whole) && fails(whole, shim.control->open_error)) return -1;
    int fd = real(template, flags);
    if (fd >= 0 && below_root(template, whole)) note_opened(fd, whole, O_RDWR | O_CREAT, false, false);
    return fd;
}

EXPORT int mkstemp(char *template) {
    return mkostemp(template, 0);
}

EXPORT FILE *fopen(const char *path, const char *mode) {
    char whole[PATH_MAX];
    struct stat s;
    int flags = mode[0] == 'r' ? O_RDONLY : mode[0] == 'w' ? O_WRONLY | O_CREAT | O_TRUNC : O_WRONLY | O_CREAT;

    if (real_fopen == NULL) resolve();
    if (!below_root(path, whole)) return real_fopen(path, mode);
    if (strchr(mode, '+')) flags = (flags & ~O_ACCMODE) | O_RDWR;
    bool existed = stat(whole, &s) == 0;
    if (!existed && (flags & O_CREAT) && shim.control && fails(whole, shim.control->open_error)) return NULL;
    FILE *file = real_fopen(path, mode);
    if (file) note_opened(fileno(file), whole, flags, existed, true);
    return file;
}

EXPORT int close(int fd) {
    if (real_close == NULL) resolve();
    if (path_of(fd)) {
        atomic_store(&shim.paths[fd], NULL);
        atomic_store(&shim.by_stdio[fd], false);
    }
    return real_close(fd);
}

EXPORT int fclose(FILE *file) {
    if (real_fclose == NULL) resolve();
    int fd = file ? fileno(file) : -1;
    if (path_of(fd)) {
        real_fflush(file);
        note_added(fd);
        atomic_store(&shim.paths[fd], NULL);
        atomic_store(&shim.by_stdio[fd], false);
    }
    return real_fclose(file);
}

EXPORT int fflush(FILE *file) {
    if (real_fflush == NULL) resolve();
    int rc = real_fflush(file);
    if (file) note_added(fileno(file));
    return rc;
}

EXPORT size_t fwrite(const void *data, size_t size, size_t count, FILE *file) {
    if (real_fwrite == NULL) resolve();
    const char *path = path_of(fileno(file));
    if (path && shim.control) {
        ssize_t n = allowed(path, size * count);
        if (n < 0) return 0;
        if (size && (size_t)n < size * count) count = (size_t)n / size;
    }
    return real_fwrite(data, size, count, file);
}

EXPORT ssize_t write(int fd, const void *data, size_t length) {
    if (real_write == NULL) resolve();
    const char *path = path_of(fd);
    if (path == NULL) return real_write(fd, data, length);
    ssize_t n = allowed(path, length);
    if (n < 0) return -1;
    if (planted_write(fd, path, data, (size_t)n)) return n;
    n = real_write(fd, data, (size_t)n);
    if (n > 0 && shim.log_fd >= 0) {
        struct iovec part = {(void *)(uintptr_t)data, (size_t)n};
        int64_t end = lseek(fd, 0, SEEK_CUR);
        note((struct record){.op = OP_WRITE, .inode = inode_of(fd, NULL), .offset = end - n}, NULL, NULL, &part, 1);
    }
    return n;
}

/* Done as one write, so that plants and faults work in the same way. */
EXPORT ssize_t writev(int fd, const struct iovec *parts, int count) {
    size_t length = 0, at = 0;

    if (real_writev == NULL) resolve();
    if (path_of(fd) == NULL) return real_writev(fd, parts, count);
    for (int i = 0; i < count; i++) length += parts[i].iov_len;
    char *data = malloc(length + 1);
    for (int i = 0; i < count; i++) {
        if (parts[i].iov_len) memcpy(data + at, parts[i].iov_base, parts[i].iov_len);
        at += parts[i].iov_len;
    }
    ssize_t n = write(fd, data, length);
    int error = errno;
    free(data);
    errno = error;
    return n;
}

EXPORT ssize_t pwrite(int fd, const void *data, size_t length, off_t offset) {
    if (real_pwrite == NULL) resolve();
    const char *path = path_of(fd);
    if (path == NULL) return real_pwrite(fd, data, length, offset);
    ssize_t n = allowed(path, length);
    if (n < 0) return -1;
    n = real_pwrite(fd, data, (size_t)n, offset);
    if (n > 0 && shim.log_fd >= 0) {
        struct iovec part = {(void *)(uintptr_t)data, (size_t)n};
        note((struct record){.op = OP_WRITE, .inode = inode_of(fd, NULL), .offset = offset}, NULL, NULL, &part, 1);
    }
    return n;
}

static int sync_by(int fd, int (*call)(int)) {
    bool is_folder = false;
    const char *path = path_of(fd);

    if (path == NULL) return call(fd);
    note_added(fd);
    uint64_t inode = inode_of(fd, &is_folder);
    if (planted_sync(path, is_folder)) return 0;
    if (shim.control) {
        delay(path, shim.control->sync_delay_us);
        if (fails(path, shim.control->sync_error)) return -1;
    }
    struct record r = {.op = OP_SYNC_BEGIN,
                       .inode = inode,
                       .offset = (int64_t)atomic_fetch_add(&shim.syncs, 1),
                       .is_folder = is_folder};
    note(r, path, NULL, NULL, 0);
    int rc = call(fd);
    r.op = OP_SYNC_END;
    if (rc == 0) note(r, path, NULL, NULL, 0);
    return rc;
}

EXPORT int fsync(int fd) {
    if (real_fsync == NULL) resolve();
    return sync_by(fd, real_fsync);
}

EXPORT int fdatasync(int fd) {
    if (real_fdatasync == NULL) resolve();
    return sync_by(fd, real_fdatasync);
}

/* Guarantees nothing (no metadata, no flush of the disk), so it can only be slow or fail. */
EXPORT int sync_file_range(int fd, off64_t offset, off64_t length, unsigned int flags) {
    if (real_sync_file_range == NULL) resolve();
    const char *path = path_of(fd);
    if (path && shim.control) {
        delay(path, shim.control->sync_delay_us);
        if (fails(path, shim.control->sync_error)) return -1;
    }
    return real_sync_file_range(fd, offset, length, flags);
}

static int rename_by(int from, const char *old, int to, const char *new) {
    char a[PATH_MAX], b[PATH_MAX];
    bool ours = below_root_at(from, old, a) && below_root_at(to, new, b);

    if (ours && shim.control) {
        int64_t error = shim.control->rename_error;
        if (fails(a, error) || fails(b, error)) return -1;
    }
    if (ours) note_all_added();
    int rc = from == AT_FDCWD && to == AT_FDCWD ? real_rename(old, new) : real_renameat(from, old, to, new);
    if (rc == 0 && ours) note((struct record){.op = OP_RENAME}, a, b, NULL, 0);
    return rc;
}

EXPORT int rename(const char *old, const char *new) {
    if (real_rename == NULL) resolve();
    return rename_by(AT_FDCWD, old, AT_FDCWD, new);
}

EXPORT int renameat(int from, const char *old, int to, const char *new) {
    if (real_renameat == NULL) resolve();
    return rename_by(from, old, to, new);
}

static int unlink_by(int folder, const char *path, int flags) {
    char whole[PATH_MAX];
    bool ours = below_root_at(folder, path, whole);

    if (ours && shim.control && fails(whole, shim.control->unlink_error)) return -1;
    int rc = folder == AT_FDCWD && !flags ? real_unlink(path) : real_unlinkat(folder, path, flags);
    if (rc == 0 && ours) note((struct record){.op = OP_UNLINK}, whole, NULL, NULL, 0);
    return rc;
}

EXPORT int unlink(const char *path) {
    if (real_unlink == NULL) resolve();
    return unlink_by(AT_FDCWD, path, 0);
}

EXPORT int unlinkat(int folder, const char *path, int flags) {
    if (real_unlinkat == NULL) resolve();
    return unlink_by(folder, path, flags);
}

EXPORT int ftruncate(int fd, off_t length) {
    if (real_ftruncate == NULL) resolve();
    int rc = real_ftruncate(fd, length);
    if (rc == 0 && path_of(fd)) {
        note((struct record){.op = OP_TRUNCATE, .inode = inode_of(fd, NULL), .offset = length}, NULL, NULL, NULL, 0);
    }
    return rc;
}

EXPORT int truncate(const char *path, off_t length) {
    char whole[PATH_MAX];
    struct stat s;
    if (real_truncate == NULL) resolve();
    int rc = real_truncate(path, length);
    if (rc == 0 && below_root(path, whole) && stat(whole, &s) == 0) {
        note((struct record){.op = OP_TRUNCATE, .inode = s.st_ino, .offset = length}, NULL, NULL, NULL, 0);
    }
    return rc;
}

EXPORT int mkdir(const char *path, mode_t mode) {
    char whole[PATH_MAX];
    if (real_mkdir == NULL) resolve();
    int rc = real_mkdir(path, mode);
    if (rc == 0 && below_root(path, whole)) note((struct record){.op = OP_MKDIR}, whole, NULL, NULL, 0);
    return rc;
}

EXPORT int link(const char *old, const char *new) {
    char a[PATH_MAX], b[PATH_MAX];
    if (real_link == NULL) resolve();
    int rc = real_link(old, new);
    if (rc == 0 && below_root(old, a) && below_root(new, b)) note((struct record){.op = OP_LINK}, a, b, NULL, 0);
    return rc;
}

/* The form of open() used where the compiler checks its arguments. */
EXPORT int __open_2(const char *path, int flags) {
    return open(path, flags);
}

EXPORT int __open64_2(const char *path, int flags) {
    return open(path, flags);
}

/* Programs compiled for large files use these names for the same calls. */
#define SAME(name, of) extern __typeof__(of) name __attribute__((alias(#of), visibility("default")))
#undef open64
SAME(open64, open);
SAME(openat64, openat);
SAME(creat64, creat);
SAME(fopen64, fopen);
SAME(pwrite64, pwrite);
SAME(ftruncate64, ftruncate);
SAME(truncate64, truncate);
SAME(mkstemp64, mkstemp);
SAME(mkostemp64, mkostemp);
