/* rdb_load.h -- loads a snapshot into the keyspace.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_RDB_LOAD_H
#define PERSIST_RDB_LOAD_H

#include "rdb_scan.h"

#define RDB_REPL_ID_BYTES 40

typedef enum {
    RDB_LOAD_DONE,
    RDB_LOAD_NO_FILE,
    RDB_LOAD_FAILED,  /* the file cannot be opened, or threads not be started: `error` */
    RDB_LOAD_REFUSED, /* not a snapshot, or an unreadable version: nothing was changed */
    RDB_LOAD_BROKEN   /* the file has a fault: `fault`; keys before it have been added */
} rdbLoadEnd;

typedef struct rdbLoadOptions {
    bool keep_expired;     /* keep expired keys: a log or a replication stream follows and deletes them */
    bool merge;            /* a key that already exists is replaced; otherwise it is a fault */
    bool hide_user_data;   /* log no names of keys */
    bool unchecked;        /* ignore the checksum, whatever rdbchecksum says */
    bool beside;           /* into the second set of databases (dbShadow()), which the caller creates and ends */
    void (*begin)(void);   /* called once magic and version are accepted, before the first key; or NULL */
    uint64_t bytes_before; /* bytes of other files that were loaded before, for the progress */
} rdbLoadOptions;

/* The position in a replication stream that a file records. Valid only if `found`: the first three fields were. */
typedef struct rdbReplInfo {
    bool found;
    unsigned fields; /* bit mask of those three that were found */
    int stream_db;
    char id[RDB_REPL_ID_BYTES + 1];
    long long offset;
    char node[RDB_REPL_ID_BYTES + 1]; /* of a cluster: the node whose stream it is; empty: not known */
} rdbReplInfo;

typedef struct rdbLoadResult {
    rdbLoadEnd end;
    int error;           /* errno */
    rdbFault fault;      /* if REFUSED or BROKEN; owns its key */
    uint64_t end_offset; /* if DONE: bytes of the snapshot; other data may follow */
    rdbReplInfo replication;
    sds slot_states; /* owns: the AUX field cluster-slot-states; NULL: none */
    sds *libraries;  /* owns; only after a load `beside`, which leaves them to its caller */
    size_t library_count;
    long long keys_loaded, keys_expired, fields_expired, empty_skipped;
    long long left_out; /* values of modules in a file of Redis 7.4 or later, if rdb-version-check is relaxed */
} rdbLoadResult;

/* Loads `path`. Faults have been logged when it returns. Clients are served meanwhile; the caller calls loadingBegin()
 * before and loadingEnd() after it (loading.h). */
rdbLoadResult rdbLoadFile(const char *path, const rdbLoadOptions *options);
/* Like rdbLoadFile(), from a source, which the log calls `name`. The source may have unread bytes left after DONE. */
rdbLoadResult rdbLoadSource(const rdbSource *source, const char *name, const rdbLoadOptions *options);
void rdbLoadResultFree(rdbLoadResult *r);
/* Returns true if the first 4 KiB of the file `path` record a position in a replication stream. */
bool rdbFileHasReplInfo(const char *path);
/* Stops the threads of the load that is running, if any, because the process exits. rdbLoadFile() must not continue
 * after it. */
void rdbLoadAbort(void);

#endif
