/* mode_rdb.c -- --rdb and --functions-rdb: save the server's dataset as a file.
 *
 * Unless the replica announces its version, a server of 9.0 or newer sends a format that older ones can read as well,
 * and fails if a hash has fields with a TTL, which that format lacks. The version is announced only for such a dataset,
 * so that the format depends on the contents, and not on whether an earlier transfer has failed.
 *
 * Tests       tests/tools/cli_replica.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "dataset_stream.h"
#include "modes.h"
#include "output_file.h"
#include "snapshot_check.h"
#include "version.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define CHUNK 65536

/* Returns true if a hash has fields with a TTL. False as well if INFO is not permitted: then the old format is
 * requested. */
static bool hasFieldsThatExpire(cliConnection *c) {
    static const char name[] = "keys_with_volatile_items=";
    replyValue *v = linkCall(c->link, "INFO", "keyspace", NULL);
    bool found = false;
    const char *at = v && replyIsText(v) ? v->str : NULL;
    while (at && !found && (at = strstr(at, name))) found = atoll(at += sizeof(name) - 1) > 0;
    replyValueFree(v);
    return found;
}

static bool modeRdbBegin(datasetStream *d, cliConnection *c, bool functions_only) {
    if (!functions_only && hasFieldsThatExpire(c)) datasetOption(c, "version", VALKEY_VERSION, false);
    datasetOption(c, "capa", "eof", false);
    datasetOption(c, "rdb-only", "1", false); /* the replication stream after it is not wanted */
    if (functions_only && !datasetOption(c, "rdb-filter-only", "functions", true)) return false;
    return datasetBegin(d, c);
}

static bool failWriting(const char *name) {
    fprintf(stderr, "Cannot write '%s': %s\n", name, strerror(errno));
    return false;
}

/* Receives the dataset and gives the file its name. Returns false after a line on stderr. */
static bool modeRdbReceive(datasetStream *d, outputFile *file, const char *name) {
    static char buf[CHUNK];
    snapshotCheck check = {0};
    for (ssize_t n; (n = datasetRead(d, buf, sizeof(buf))) != 0;) {
        if (n < 0) return false;
        snapshotCheckAdd(&check, buf, (size_t)n);
        if (!outputFileWrite(file, buf, (size_t)n)) return failWriting(name);
    }
    const char *wrong = snapshotCheckEnd(&check);
    if (wrong) {
        fprintf(stderr, "The received snapshot is not valid: %s\n", wrong);
        return false;
    }
    return outputFileKeep(file) || failWriting(name);
}

int modeRdb(cliConnection *c, bool functions_only) {
    const char *name = c->options->rdb_file;
    datasetStream d;
    outputFile file;
    if (!outputFileOpen(&file, name)) return failWriting(name) + 1;
    if (!modeRdbBegin(&d, c, functions_only) || !modeRdbReceive(&d, &file, name)) {
        outputFileAbandon(&file);
        return 1;
    }
    fprintf(stderr, "Transfer finished with success after %llu bytes\n", (unsigned long long)d.received);
    return 0;
}
