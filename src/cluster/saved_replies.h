/* saved_replies.h -- replies of CLUSTER commands that wait until the nodes file on disk has what the command changed.
 *
 *     CLUSTER ADDSLOTS --> version 7 --> client blocked ... 7 saved (or failed) --> "+OK"
 *
 * A reply is a promise: a slot that a tool has given to this node must not be forgotten by a crash. Only the client
 * waits for the disk; main goes on.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLUSTER_SAVED_REPLIES_H
#define CLUSTER_SAVED_REPLIES_H

#include "client.h"

/* Returns whether the running command may block: in a transaction, a script or a stream of changes it may not. */
bool savedRepliesMayWait(const client *c);
/* Blocks the client of the running command until savedRepliesSend() is called with this version or a newer one; then
 * `reply` ("+...", ownership passes) is its reply. CLIENT UNBLOCK ends the wait early, by this reply or an error. */
void savedRepliesWait(client *c, uint64_t version, sds reply);
/* Sends the replies that wait for `version` or an older one. Returns their number. */
size_t savedRepliesSend(uint64_t version);

#endif
