/* role.c -- ROLE and LASTSAVE: what the server is to others, and how old its file is.
 *
 * Two questions of one line about subsystems that are at rest: a primary without replicas; the start of the process
 * counts as the last save.
 *
 * Threads     main.
 * Tests       tests/server/info.tcl, tests/differential/server_compare.py
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "role.h"

#include "info.h"
#include "reply.h"

void roleCommand(client *c) {
    addReplyArrayLen(c, 3);
    addReplyBulkCString(c, "master");
    addReplyLongLong(c, 0);
    addReplyEmptyArray(c);
}

void lastsaveCommand(client *c) {
    addReplyLongLong(c, infoStartedAt());
}
