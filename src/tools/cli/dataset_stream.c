/* dataset_stream.c -- a server's dataset, asked for as a replica does.
 *
 *   REPLCONF ... | SYNC --> newlines while the server makes it, $ header, the dataset
 *
 * The old SYNC and not PSYNC: who asks by it has no place in the stream, so that no server waits for what this program
 * acknowledges, and none gives it up because it does not.
 *
 * Tests       tests/tools/cli_replica.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "dataset_stream.h"
#include "anet.h"
#include <stdio.h>

#define HEADER_MAX 1024
#define KEEPALIVE_S 15

/* ---- Asking ----------------------------------------------------------------------------------------------------- */

bool datasetOption(cliSession *s, const char *name, const char *value, bool needed) {
    replyValue *v = linkCall(s->link, "REPLCONF", name, value, NULL);
    bool taken = v && !replyIsError(v);
    if (needed && !taken) {
        fprintf(stderr, "REPLCONF %s %s failed: %s\n", name, value, v ? v->str : linkError(s->link));
    }
    replyValueFree(v);
    return taken;
}

bool datasetBegin(datasetStream *d, cliSession *s) {
    const slice sync = sliceStr("SYNC");
    char line[HEADER_MAX];
    snapshotFrame frame;
    *d = (datasetStream){.link = s->link};
    anetKeepAlive(NULL, linkFd(s->link), KEEPALIVE_S); /* only the server will speak: does it still live? */
    bool heard = linkSend(s->link, 1, &sync);
    progressBegin(&d->progress, NULL);
    progressPrint(&d->progress, "The server makes a snapshot.");
    do heard = heard && linkReadLine(s->link, line, sizeof(line));
    while (heard && *line == '\0');
    progressWipe(&d->progress);
    if (!heard) fprintf(stderr, "SYNC failed: %s\n", linkError(s->link));
    else if (*line == '-') fprintf(stderr, "SYNC failed: %s\n", line + 1);
    else if (snapshotFrameParse(&frame, sliceStr(line))) {
        snapshotFrameBegin(&d->scan, &frame);
        progressBegin(&d->progress, NULL); /* the time left is that of the transfer alone */
        return true;
    } else fprintf(stderr, "SYNC failed: the answer '%.64s' begins no dataset\n", line);
    return false;
}

/* ---- Receiving -------------------------------------------------------------------------------------------------- */

ssize_t datasetRead(datasetStream *d, char *buf, size_t room) {
    while (!d->scan.ended) {
        ssize_t n = linkReadBytes(d->link, buf, snapshotFrameMost(&d->scan, room));
        if (n < 0) {
            progressWipe(&d->progress);
            fprintf(stderr, "The transfer broke off after %llu bytes: %s\n", (unsigned long long)d->received,
                    linkError(d->link));
            return -1;
        }
        size_t certain = snapshotFrameTake(&d->scan, buf, (size_t)n);
        d->received += certain;
        if (certain == 0) continue;
        progressStep(&d->progress, d->received, d->scan.frame.has_length ? d->scan.frame.length : 0);
        return (ssize_t)certain;
    }
    progressWipe(&d->progress);
    return 0;
}
