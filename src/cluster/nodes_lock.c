/* nodes_lock.c -- locks cluster-config-file, by a file beside it.
 *
 * The file itself is replaced at each save, and with it a lock on it is lost: two servers of Valkey 9.1 start with one
 * file. So the lock is on NAME.lock, which is created once and then neither renamed nor removed. Valkey holds a lock
 * by flock() on the file itself from its start to its first save; it is respected as well.
 *
 * The lock belongs to the process (fcntl), not to an open file (flock, F_OFD_SETLK): no child has it, neither one that
 * writes a snapshot nor a program that is executed, so none can keep it after the server has ended. The kernel releases
 * it when the process ends, in whatever way. It would also release it if this process opened NAME.lock once more and
 * closed it: nothing but this file may open it.
 *
 * Owns        the descriptor of the lock.
 * Threads     main, at startup.
 * Tests       tests/unit/cluster/nodes_lock_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "nodes_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#define IN_USE                                                                                           \
    "Sorry, the cluster configuration file %s is already used by a different Cluster node. Please make " \
    "sure that different nodes use different cluster configuration files."

/* Returns whether another process holds a lock on the file itself. */
static bool isLockedByValkey(const char *name) {
    int fd = open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return false;
    bool locked = flock(fd, LOCK_SH | LOCK_NB) == -1 && errno == EWOULDBLOCK;
    close(fd);
    return locked;
}

/* Returns 0, or errno: EAGAIN if another process has the lock. */
static int lockWholeFile(int fd) {
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(fd, F_SETLK, &whole) == 0) return 0;
    return errno == EACCES ? EAGAIN : errno; /* POSIX allows either */
}

bool nodesLockTake(const char *name, sds *error) {
    sds path = sdsCat(sdsNew(name), ".lock");
    int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
    int failed = fd < 0 ? errno : lockWholeFile(fd);
    if (!failed && isLockedByValkey(name)) failed = EAGAIN;
    if (failed == EAGAIN) *error = sdsCatPrintf(sdsEmpty(), IN_USE, name);
    else if (failed)
        *error = sdsCatPrintf(sdsEmpty(), "Can't open %s in order to acquire a lock: %s", path, strerror(failed));
    if (failed && fd >= 0) close(fd);
    sdsFree(path);
    return !failed; /* the descriptor stays open until the process ends */
}
