/* rdb_save.h -- the whole dataset as a file.
 *
 * Used by SAVE and the like on main, and by a forked child, in which nothing of the dataset is written to: a page that
 * parent and child share is copied when either writes to it.
 *
 * Threads     who has main's role, or the only thread of a child. Waits for the disk.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_RDB_SAVE_H
#define PERSIST_RDB_SAVE_H

#include "object.h"
#include "rdb_writer.h"

#include <sys/types.h>

/* Where this dataset stands in a stream of replication: three fields of the file. */
typedef struct rdbReplication {
    int stream_db;
    const char *id; /* borrowed: 40 hexadecimal digits */
    long long offset;
} rdbReplication;

/* Writes the dataset as commands in place of a snapshot: what an append-only file without an RDB base begins with. */
typedef struct rdbCommandForm {
    void (*head)(rdbWriter *out);               /* before everything else */
    void (*db)(rdbWriter *out, int dbid);       /* before the keys of a database that is not empty */
    void (*key)(rdbWriter *out, const robj *o); /* a key with its value and its TTL */
} rdbCommandForm;

typedef struct rdbSaveOptions {
    bool compression, checksum;        /* rdbcompression, rdbchecksum */
    bool incremental_sync;             /* rdb-save-incremental-fsync, aof-rewrite-incremental-fsync */
    bool is_aof_base;                  /* what the file says of itself */
    const rdbCommandForm *as_commands; /* borrowed, for the whole save; NULL: a snapshot */
    unsigned version;                  /* 0: the newest; RDB_VERSION_OLD for those who do not read that */
    bool without_keys, without_functions, hide_user_data;
    const char
        *temporary; /* borrowed: name of the temporary file; NULL: rdbTemporaryName() of this process, beside `path` */
    const rdbReplication *replication; /* borrowed; NULL: none */
    /* Told after each few keys, or each one with rdb-key-save-delay: how many there are in the file. NULL: nobody. */
    void (*progress)(void *arg, size_t keys);
    void *progress_arg;
} rdbSaveOptions;

/* As the settings say, for a file that is no base; no progress. */
rdbSaveOptions rdbSaveDefaults(void);

/* Write all databases to a temporary file in the folder of `path`, sync it, put it in the place of `path`, and sync the
 * folder. False: errno, a line in the log, no temporary file, and what was at `path` is untouched (but when the last of
 * these steps has failed). A process that is killed meanwhile leaves the temporary file. */
bool rdbSaveFile(const char *path, const rdbSaveOptions *options) must_check;

/* Write the same to a descriptor that blocks (a pipe), and leave it open. False: errno, and a line in the log. */
bool rdbSaveTo(int fd, const rdbSaveOptions *options) must_check;

/* The name of the temporary file that a process makes by itself: who has killed it removes the file. */
#define RDB_TEMPORARY_NAME_SIZE 48
void rdbTemporaryName(char out[RDB_TEMPORARY_NAME_SIZE], pid_t pid);

#endif
