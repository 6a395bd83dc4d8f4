/* handshake.h -- the handshake of a replica with its primary: authentication, REPLCONF and PSYNC.
 *
 * Runs on: the thread of the job.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPL_HANDSHAKE_H
#define REPL_HANDSHAKE_H

#include "link_job.h"

/* The work() of a job: connects, authenticates, announces this replica and sends PSYNC. Reads the answers, up to the
 * header of an RDB if there is one, and sets the job's outcome and results. */
void handshakeWork(linkJob *job);

#endif
