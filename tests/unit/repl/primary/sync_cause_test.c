/* sync_cause_test.c -- causes of full synchronizations: the backlog's part, and replicas lost at their output limit.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "sync_cause.h"

#include "clock.h"
#include "log.h"
#include "panic.h"
#include "repl_settings.h"
#include "repl_stream.h"
#include "unit.h"

#include <string.h>

static void setUp(void) {
    panicSetMainThread();
    clockInit();
    logSetLevel(LL_NOTHING);
    memset(sync_causes, 0, sizeof(sync_causes));
    repl_settings.backlog_size = 16384;
    replStreamTakeWrites(false);
    replStreamDrop();
    replStreamFollow("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 1000);
    replStreamTakeWrites(true);
}

static replicaState replica(long long port, size_t kept_at_limit) {
    return (replicaState){.ip = sdsNew("10.0.0.1"), .port = port, .kept_at_limit = kept_at_limit};
}

TEST(the_backlog_is_too_small_or_too_new) {
    static char text[10000];
    setUp();
    syncCause cause = syncCauseOfBacklog(900);
    CHECK(cause.kind == SYNC_BACKLOG_NEW && cause.bytes == 100);
    replStreamAppend(sliceOf(text, sizeof(text)));
    cause = syncCauseOfBacklog(0);
    CHECK(cause.kind == SYNC_BACKLOG_NEW && cause.bytes == 1000);
    for (int i = 0; i < 10; i++) replStreamAppend(sliceOf(text, sizeof(text)));
    replicasFeed(); /* trims the backlog */
    uint64_t begin = backlogBegin(replStreamBacklog());
    CHECK(begin > 1000);
    cause = syncCauseOfBacklog(1000);
    CHECK(cause.kind == SYNC_BACKLOG_SMALL && cause.bytes == begin - 1000 && cause.needed == 110000);
    replStreamTakeWrites(false);
    replStreamDrop();
    CHECK(syncCauseOfBacklog(1000).kind == SYNC_BACKLOG_NEW);
}

TEST(a_loss_at_the_output_limit_is_the_cause_once) {
    setUp();
    replicaState lost = replica(1, 5000000), other = replica(2, 0);
    syncCauseNoteLoss(&lost);
    syncCauseNoteLoss(&other); /* it was below its limit */
    syncCauseReport(&other, (syncCause){.kind = SYNC_NEW});
    CHECK(sync_causes[SYNC_NEW] == 1 && sync_causes[SYNC_OUTPUT_LIMIT] == 0);
    syncCauseNoteLoss(&lost); /* as of its second connection */
    syncCauseReport(&lost, (syncCause){.kind = SYNC_NEW});
    CHECK(sync_causes[SYNC_NEW] == 1 && sync_causes[SYNC_OUTPUT_LIMIT] == 1);
    syncCauseReport(&lost, (syncCause){.kind = SYNC_BACKLOG_SMALL});
    CHECK(sync_causes[SYNC_BACKLOG_SMALL] == 1 && sync_causes[SYNC_OUTPUT_LIMIT] == 1);
    syncCauseNoteLoss(&lost);
    for (int port = 100; port < 116; port++) { /* as many as are kept */
        replicaState more = replica(port, 1);
        syncCauseNoteLoss(&more);
        sdsFree(more.ip);
    }
    syncCauseReport(&lost, (syncCause){.kind = SYNC_AHEAD});
    CHECK(sync_causes[SYNC_AHEAD] == 1 && sync_causes[SYNC_OUTPUT_LIMIT] == 1);
    sdsFree(lost.ip);
    sdsFree(other.ip);
    replStreamTakeWrites(false);
    replStreamDrop();
}
