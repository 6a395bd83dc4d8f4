/* dataset_stream.c -- receives a server's dataset as a replica does.
 *
 *   REPLCONF ... | SYNC --> newlines while the server makes the snapshot, $ header, dataset
 *
 * The old SYNC is used and not PSYNC: a server keeps no replication offset of a replica that asks by SYNC, so it
 * neither waits for acknowledgments of this program nor disconnects it because they are missing.
 *
 * Tests       tests/tools/cli_replica.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "dataset_stream.h"
#include "anet.h"
#include <stdio.h>

#define HEADER_MAX 1024
#define KEEPALIVE_S 15

/* ---- Requesting ------------------------------------------------------------------------------------------------- */

bool datasetOption(cliConnection *c, const char *name, const char *value, bool needed) {
    replyValue *v = linkCall(c->link, "REPLCONF", name, value, NULL);
    bool taken = v && !replyIsError(v);
    if (needed && !taken) fprintf(stderr, "REPLCONF %s %s failed: %s\n", name, value, v ? v->str : linkError(c->link));
    replyValueFree(v);
    return taken;
}

bool datasetBegin(datasetStream *d, cliConnection *c) {
    const slice sync = sliceStr("SYNC");
    char line[HEADER_MAX];
    snapshotFrame frame;
    *d = (datasetStream){.link = c->link};
    anetKeepAlive(NULL, linkFd(c->link), KEEPALIVE_S); /* detects a lost server, as only that sends from now on */
    bool received = linkSend(c->link, 1, &sync);
    progressBegin(&d->progress, NULL);
    progressPrint(&d->progress, "Waiting for the server to create a snapshot...");
    do received = received && linkReadLine(c->link, line, sizeof(line));
    while (received && *line == '\0');
    progressClear(&d->progress);
    if (!received) fprintf(stderr, "SYNC failed: %s\n", linkError(c->link));
    else if (*line == '-') fprintf(stderr, "SYNC failed: %s\n", line + 1);
    else if (snapshotFrameParse(&frame, sliceStr(line))) {
        snapshotFrameBegin(&d->scan, &frame);
        progressBegin(&d->progress, NULL); /* the estimate counts the time of the transfer alone */
        return true;
    } else fprintf(stderr, "SYNC failed: unexpected reply '%.64s'\n", line);
    return false;
}

/* ---- Receiving -------------------------------------------------------------------------------------------------- */

ssize_t datasetRead(datasetStream *d, char *buf, size_t size) {
    while (!d->scan.ended) {
        ssize_t n = linkReadBytes(d->link, buf, snapshotFrameMost(&d->scan, size));
        if (n < 0) {
            progressClear(&d->progress);
            fprintf(stderr, "Transfer interrupted after %llu bytes: %s\n", (unsigned long long)d->received,
                    linkError(d->link));
            return -1;
        }
        size_t certain = snapshotFrameTake(&d->scan, buf, (size_t)n);
        d->received += certain;
        if (certain == 0) continue;
        progressStep(&d->progress, d->received, d->scan.frame.has_length ? d->scan.frame.length : 0);
        return (ssize_t)certain;
    }
    progressClear(&d->progress);
    return 0;
}
