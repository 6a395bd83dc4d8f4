/* stream_buffer.h -- fills the stream buffer while the RDB arrives on another connection and is loaded.
 *
 * Runs on: the thread of the job.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPL_STREAM_BUFFER_H
#define REPL_STREAM_BUFFER_H

#include "link_job.h"

/* The work() of a job: reads from its connection into job->kept until main sets job->enough. When job->kept takes
 * job->keep_max bytes of memory it reads no more, and further bytes stay at the primary. */
void streamBufferWork(linkJob *job);

#endif
