/* rdb_load.h -- a snapshot into the keyspace.
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
    RDB_LOAD_FAILED,  /* the file cannot be opened or threads not be had: `error` */
    RDB_LOAD_REFUSED, /* no snapshot, or a version that is not read: nothing has been touched */
    RDB_LOAD_BROKEN   /* `fault`; keys before it have been added */
} rdbLoadEnd;

typedef struct rdbLoadOptions {
    bool keep_expired;   /* what follows the file decides about keys that are over: a log, a stream */
    bool merge;          /* a key that is there already is replaced, instead of a fault */
    bool hide_user_data; /* no names of keys in the log */
    bool unchecked;      /* whatever rdbchecksum says */
    bool beside;         /* into the second set of databases (dbShadow()), which the caller begins and ends */
    void (*begin)(void); /* called when the file has turned out to be a snapshot, before the first key; or NULL */
    uint64_t behind;     /* bytes of other files that were loaded before, for the progress */
} rdbLoadOptions;

/* What a file tells of the stream that its dataset is at; all three or nothing. */
typedef struct rdbReplInfo {
    bool there;
    unsigned fields; /* of the three, those that were found: a bit each */
    int stream_db;
    char id[RDB_REPL_ID_BYTES + 1];
    long long offset;
} rdbReplInfo;

typedef struct rdbLoadResult {
    rdbLoadEnd end;
    int error;           /* errno */
    rdbFault fault;      /* REFUSED, BROKEN; owns its key */
    uint64_t end_offset; /* DONE: bytes of the snapshot; something else may follow */
    rdbReplInfo replication;
    sds *libraries; /* owns: of a load `beside`, which keeps them for its caller */
    size_t library_count;
    long long keys_loaded, keys_expired, fields_expired, empty_skipped;
} rdbLoadResult;

/* Load `path`. What is wrong with it is in the log already. Clients are served meanwhile (loading.h), whose state the
 * caller begins and ends. */
rdbLoadResult rdbLoadFile(const char *path, const rdbLoadOptions *options);
/* The same from what is no file; the log calls it `name`. Its end may not have been read when it is DONE. */
rdbLoadResult rdbLoadSource(const rdbSource *source, const char *name, const rdbLoadOptions *options);
void rdbLoadResultFree(rdbLoadResult *r);
/* Whether the file `path` says where its dataset is in a stream, as far as its beginning tells. */
bool rdbFileHasPlace(const char *path);
/* The process ends while rdbLoadFile() is on the stack, or not: end the threads. There is no way back into it. */
void rdbLoadAbort(void);

#endif
