/* check_rdb_pass.h -- checks a snapshot from start to end as a load would, and collects what is in it.
 *
 * Values are decoded and freed one by one, so it needs no keyspace and no more memory than the largest value.
 *
 * Runs on: one thread, which must be able to make entries of its own (object.h).
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_CHECK_RDB_PASS_H
#define PERSIST_CHECK_RDB_PASS_H

#include "check_rdb_stats.h"
#include "rdb_scan.h"

#include <stdio.h>

#define CHECK_RDB_AUX_MAX 64

typedef struct checkRdbPassOptions {
    FILE *lines;              /* borrowed: output about what is found while reading; NULL: none */
    uint64_t bytes_before;    /* bytes of other files that were read before, for the bar (check_progress.h) */
    checkRdbStats *stats;     /* borrowed, or NULL */
    checkRdbBiggest *biggest; /* borrowed, or NULL; only with `stats`, which counts elements */
} checkRdbPassOptions;

typedef struct checkRdbFound {
    bool is_good;
    unsigned version;  /* 0: the file has none */
    bool has_checksum; /* it has one; if the file is good, it is correct */
    uint64_t offset;   /* of the end, or of the first byte that could not be read */
    uint64_t keys;     /* includes one with a fault */
    uint64_t expires, expired;
    uint64_t empty;    /* keys with an empty value, which a load leaves out */
    uint64_t left_out; /* values and other data of modules in a file of Redis 7.4 or later: a load leaves them out */
    uint64_t functions, scripts;
    sds fault;                     /* owns: description of the fault, or NULL */
    rdbStep step;                  /* if there is a fault: the part that was being read */
    int fault_type;                /* if there is a fault: RDB type of its key; -1 if it is not in a key */
    sds fault_key;                 /* owns: name of the key with the fault, or NULL */
    sds aux[CHECK_RDB_AUX_MAX][2]; /* owns: names and values of the first AUX fields */
    size_t aux_count;
} checkRdbFound;

/* Checks the snapshot that begins at the offset of `fd`; output calls it `path`. Does not write to the file. Prints the
 * verdict too if `lines` is set, except for the line of checkRdbPrintEnd(). */
void checkRdbPass(int fd, const char *path, const checkRdbPassOptions *options, checkRdbFound *out);
/* Prints the last line about a bad file. Figures are printed before it. */
void checkRdbPrintEnd(FILE *lines, const checkRdbFound *found);
/* Returns whether a load accepts the file only with rdb-version-check relaxed: its version is one of the future, or of
 * Redis and not known, or data of modules has to be left out. */
bool checkRdbNeedsRelaxed(const checkRdbFound *found);
/* Returns the name of a step in the output. */
const char *checkRdbStepName(rdbStep step);
void checkRdbFoundFree(checkRdbFound *f);

#endif
