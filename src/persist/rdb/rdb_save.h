/* rdb_save.h -- writes the whole dataset as an RDB file, or as commands.
 *
 * Used by SAVE and similar commands on main, and by a forked child. Saving writes to no memory of the dataset, because
 * a page that parent and child share is copied when either writes to it.
 *
 * Runs on: the thread that has the main role, or the only thread of a child. Waits for the disk.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_RDB_SAVE_H
#define PERSIST_RDB_SAVE_H

#include "cluster_types.h"
#include "object.h"
#include "rdb_writer.h"

#include <sys/types.h>

/* The position of this dataset in a replication stream: AUX fields of the file. */
typedef struct rdbReplication {
    int stream_db;
    const char *id; /* borrowed: 40 hexadecimal digits */
    long long offset;
    slice slot_states; /* borrowed: the AUX field cluster-slot-states; empty: none */
    const char *node;  /* borrowed: in a cluster the id of the node whose stream it is; NULL or empty: not known */
} rdbReplication;

/* Functions that write the dataset as commands instead of a snapshot: the base of an append-only file without RDB
 * preamble. */
typedef struct rdbCommandForm {
    void (*head)(rdbWriter *out);               /* before everything else */
    void (*db)(rdbWriter *out, int dbid);       /* before the keys of a database that is not empty */
    void (*key)(rdbWriter *out, const robj *o); /* a key with its value and its TTL */
} rdbCommandForm;

typedef struct rdbSaveOptions {
    bool compression, checksum;        /* rdbcompression, rdbchecksum */
    bool incremental_sync;             /* rdb-save-incremental-fsync, aof-rewrite-incremental-fsync */
    bool is_aof_base;                  /* written to the file as the AUX field aof-base */
    const rdbCommandForm *as_commands; /* borrowed during the save; NULL: write a snapshot */
    unsigned version;                  /* 0: the newest; of RDB_VERSION_OLDEST or more for others that cannot read it */
    bool without_keys, without_functions, hide_user_data;
    const slotSet *slots; /* borrowed: only keys of these slots, in cluster mode; NULL: all */
    /* Borrowed: path of the temporary file; NULL: rdbTemporaryName() of this process, in the folder of `path`. */
    const char *temporary;
    const rdbReplication *replication; /* borrowed; NULL: none */
    /* Called after every few keys, or after each key with rdb-key-save-delay, with the number written so far. May be
     * NULL. */
    void (*progress)(void *arg, size_t keys);
    void *progress_arg;
} rdbSaveOptions;

/* Returns options from the settings, for a file that is not the base of an AOF; without progress. */
rdbSaveOptions rdbSaveDefaults(void);

/* Returns the version for a file by rdb-save-version, as in rdbSaveOptions. If that is "auto", or the file is the base
 * of an append-only file, whose rewrite must not fail, it is the lowest that holds the dataset, which is read for that
 * up to the first value that needs the newest version. */
unsigned rdbSaveVersion(bool is_aof_base);

/* Writes all databases to a temporary file in the folder of `path`, syncs it, renames it to `path`, and syncs the
 * folder. If it fails, it returns false with errno (EINVAL if a value does not exist in the version), logs a line,
 * removes the temporary file, and leaves the file at `path` untouched (except if the last of these steps failed). A
 * process that is killed meanwhile leaves the temporary file. */
bool rdbSaveFile(const char *path, const rdbSaveOptions *options) must_check;

/* Writes a snapshot to a blocking descriptor (a pipe), which stays open. If it fails, it returns false with errno
 * (EINVAL if a value does not exist in the version) and logs a line. */
bool rdbSaveTo(int fd, const rdbSaveOptions *options) must_check;

/* Formats the default name of a process's temporary file, so that code that kills the process can remove the file. */
#define RDB_TEMPORARY_NAME_SIZE 48
void rdbTemporaryName(char out[RDB_TEMPORARY_NAME_SIZE], pid_t pid);

#endif
