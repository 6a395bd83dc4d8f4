/* nodes_load.c -- reads cluster-config-file at startup.
 *
 * Not here    the format (nodes_file.c in cluster_core), the lock, which is acquired before (nodes_lock.c).
 * Owns        nothing.
 * Threads     main, at startup.
 * Tests       tests/unit/cluster/nodes_load_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "nodes_load.h"

#include "log.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define BYTES_MAX ((off_t)256 << 20) /* a line of 300 bytes for each of a thousand nodes is a thousandth of it */

/* Returns the bytes of an open file; NULL with errno. */
static sds readAll(int fd) {
    struct stat st;
    char buf[16384];
    ssize_t n;
    if (fstat(fd, &st) == -1) return NULL;
    if (!S_ISREG(st.st_mode) || st.st_size > BYTES_MAX) {
        errno = S_ISDIR(st.st_mode) ? EISDIR : S_ISREG(st.st_mode) ? EFBIG : EINVAL;
        return NULL;
    }
    sds text = sdsEmpty();
    while ((n = read(fd, buf, sizeof(buf))) > 0) text = sdsCatLen(text, buf, (size_t)n);
    if (n == 0) return text;
    int error = errno;
    sdsFree(text);
    errno = error;
    return NULL;
}

bool nodesLoad(const char *name, bool has_dataset, nodesFile *file, sds *error) {
    *file = (nodesFile){0};
    int fd = open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* a pipe must not stop the start */
    if (fd < 0 && errno == ENOENT) return true;
    sds text = fd < 0 ? NULL : readAll(fd), damage = NULL;
    int failed = errno;
    if (fd >= 0) close(fd);
    if (!text) {
        *error = sdsCatPrintf(sdsEmpty(), "Can't read the cluster configuration file %s: %s", name, strerror(failed));
        return false;
    }
    if (sdsLen(text) == 0 && has_dataset)
        serverLog(LL_WARNING,
                  "WARNING: THE CLUSTER CONFIGURATION FILE %s IS EMPTY, BUT THERE IS A DATASET: this server "
                  "becomes a new node without slots. If the file was lost, stop the server and restore it.",
                  name);
    bool sound = nodesFileParse(sdsSlice(text), file, &damage);
    if (sound && sdsLen(text) && !file->count) {
        damage = sdsNew("line 1: no node with the flag myself");
        sound = false;
    }
    if (!sound)
        *error = sdsCatPrintf(sdsEmpty(), "Unrecoverable error: corrupted cluster config file %s, %s.", name, damage);
    sdsFree(damage);
    sdsFree(text);
    return sound;
}
