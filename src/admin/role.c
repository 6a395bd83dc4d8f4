/* role.c -- ROLE: what the server is to others. A primary without replicas.
 *
 * Threads     main.
 * Tests       tests/server/info.tcl, tests/differential/server_compare.py
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "role.h"

#include "reply.h"

void roleCommand(client *c) {
    addReplyArrayLen(c, 3);
    addReplyBulkCString(c, "master");
    addReplyLongLong(c, 0);
    addReplyEmptyArray(c);
}
