/* handshake.h -- a replica makes itself known to its primary, and asks for the stream.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPL_HANDSHAKE_H
#define REPL_HANDSHAKE_H

#include "link_job.h"

/* The work of a job: connect, say who this is, PSYNC; up to the header of a snapshot, if there is one. */
void handshakeWork(linkJob *job);

#endif
