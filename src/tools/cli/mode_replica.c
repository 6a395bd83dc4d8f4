/* mode_replica.c -- --replica: prints the commands that a server sends its replicas, as they arrive.
 *
 * An empty dataset is requested and dropped. After a dataset that ends with a mark, the server sends nothing until it
 * gets an acknowledgment, and ignores acknowledgments until its child process has ended: so they are repeated until a
 * command arrives. Then they stop, as this program must not count as a replica that keeps up (WAIT,
 * min-replicas-to-write).
 *
 * Tests       tests/tools/cli_replica.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "dataset_stream.h"
#include "modes.h"
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#define CHUNK 65536
#define ACK_EVERY_MS 1000

static bool dropDataset(cliConnection *c, bool *marked) {
    static char buf[CHUNK];
    datasetStream d;
    ssize_t n;
    datasetOption(c, "capa", "eof", false);
    datasetOption(c, "rdb-filter-only", "", false); /* an older server sends the whole dataset */
    if (!datasetBegin(&d, c)) return false;
    while ((n = datasetRead(&d, buf, sizeof(buf))) > 0) continue;
    *marked = !d.scan.frame.has_length;
    return n == 0;
}

/* Prints a command as CSV. Returns false if stdout cannot be written, with a line on stderr unless its reader has
 * closed it. */
static bool printCommand(const replyValue *v) {
    sds line = sdsCat(replyTextCsv(sdsEmpty(), v), "\n");
    bool ok = fwrite(line, sdsLen(line), 1, stdout) == 1 && fflush(stdout) == 0;
    if (!ok && errno != EPIPE) fprintf(stderr, "Cannot write to stdout: %s\n", strerror(errno));
    sdsFree(line);
    return ok;
}

int modeReplica(cliConnection *c) {
    const slice acknowledgment[] = {sliceStr("REPLCONF"), sliceStr("ACK"), sliceStr("0")};
    bool acknowledges, ok = dropDataset(c, &acknowledges);
    if (!ok) return 1;
    if (isatty(STDERR_FILENO)) {
        sds address = cliAddress(c);
        fprintf(stderr, "Entering replica output mode for %s... (press Ctrl-C to quit)\n", address);
        sdsFree(address);
    }
    for (replyValue *v = NULL; ok; replyValueFree(v)) {
        bool timed_out = false;
        if (acknowledges && !linkSend(c->link, array_len(acknowledgment), acknowledgment)) break;
        v = linkReadWithin(c->link, acknowledges ? ACK_EVERY_MS : -1, &timed_out);
        if (!v && timed_out) continue;
        if (!v) break;
        acknowledges = false;
        ok = printCommand(v);
    }
    if (ok) fprintf(stderr, "The replication stream has ended: %s\n", linkError(c->link));
    return 1;
}
