/* check_rdb_pass.h -- a snapshot read from its begin to its end, as a load would, and what is found in it.
 *
 * Values are made and freed one by one: no keyspace is needed, and no more memory than the largest value takes.
 *
 * Runs on: one thread, which makes entries of its own (object.h).
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_CHECK_RDB_PASS_H
#define PERSIST_CHECK_RDB_PASS_H

#include "check_rdb_biggest.h"
#include "check_rdb_stats.h"
#include "rdb_scan.h"

#include <stdio.h>

#define CHECK_RDB_AUX_MAX 64

typedef struct checkRdbPassOptions {
    FILE *lines;              /* borrowed: told what is found, as it is found; NULL: nobody is */
    uint64_t behind;          /* for the bar: bytes of other files that have been read (check_progress.h) */
    checkRdbStats *stats;     /* borrowed; NULL: not asked for */
    checkRdbBiggest *biggest; /* borrowed; NULL. Only with `stats`, which counts elements */
} checkRdbPassOptions;

typedef struct checkRdbFound {
    bool is_good;
    unsigned version;  /* 0: it has none */
    bool has_checksum; /* and it is right, when the file is good */
    uint64_t offset;   /* of the end, or how far it could be read */
    uint64_t keys;     /* the one with the fault counts */
    uint64_t expires, expired;
    uint64_t empty; /* keys that a load leaves out, because nothing is in them */
    uint64_t functions, scripts;
    sds fault;                     /* owns: what is wrong; NULL */
    rdbStep step;                  /* FAULT: what was being read */
    int fault_type;                /* FAULT: of the key; -1: of none */
    sds fault_key;                 /* FAULT: owns; NULL: of none */
    sds aux[CHECK_RDB_AUX_MAX][2]; /* owns: names and values of the first */
    size_t aux_count;
} checkRdbFound;

/* Read what `fd` has from its place on; `path` is how it is called. Nothing is written to the file. With `lines` the
 * verdict is told, too, but for the line of checkRdbPrintEnd(). */
void checkRdbPass(int fd, const char *path, const checkRdbPassOptions *options, checkRdbFound *out);
/* The last line, if the file is bad: figures stand before it. */
void checkRdbPrintEnd(FILE *lines, const checkRdbFound *found);
/* The version is one of others, or of the future: a load takes it only when it is told to. */
bool checkRdbNeedsRelaxed(unsigned version);
/* The word for what was being read. */
const char *checkRdbStepName(rdbStep step);
void checkRdbFoundFree(checkRdbFound *f);

#endif
